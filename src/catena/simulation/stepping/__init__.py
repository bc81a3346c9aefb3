"""Who takes steps in time: many in one compiled call, one with Python in between, or an implicit method of SciPy."""
