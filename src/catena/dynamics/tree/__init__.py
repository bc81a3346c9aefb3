"""Algorithms on trees of rigid bodies: one file for each."""
