"""Views that stay connected to Python: a local server, and mechanisms moved by joints and by the pointer."""
