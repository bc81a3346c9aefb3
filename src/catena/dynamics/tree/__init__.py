"""Algorithms on trees of rigid bodies: one file for each."""

from catena.dynamics.tree.inertia_projection import inertia_projection
from catena.dynamics.tree.modified_composite_body import modified_composite_body

INERTIA_METHODS = {
    "inertia_projection": inertia_projection,
    "modified_composite_body": modified_composite_body,
}
"""Methods for the joint-space inertia that go from body to body by themselves, state by state."""
