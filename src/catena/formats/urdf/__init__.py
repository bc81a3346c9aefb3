"""URDF: trees of links and joints, with the extensions in use that close loops."""
