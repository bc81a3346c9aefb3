"""USD: the rigid bodies and joints of UsdPhysics in text files (.usda)."""
