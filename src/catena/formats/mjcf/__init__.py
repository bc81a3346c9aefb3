"""MJCF, read with MuJoCo's own reader."""
