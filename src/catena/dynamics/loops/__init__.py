"""Mechanisms with loops: the equations of motion with constraints, and what solves them."""
