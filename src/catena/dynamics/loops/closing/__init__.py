"""Closed states: positions and velocities of mechanisms whose loops are closed, found from states that are not."""
