"""SDF: models as graphs of links and joints, with loops."""
