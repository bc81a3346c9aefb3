"""What belongs to a mechanism and acts on it: springs, stops, wrenches and other forces, placed on a plan."""
