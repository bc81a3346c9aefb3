"""Trees with flexible bodies: modes, and the points that carry their mass."""
