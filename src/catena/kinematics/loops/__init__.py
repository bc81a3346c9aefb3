"""Loops as geometry: how far they are open, what constrains them, and configurations that close them."""
