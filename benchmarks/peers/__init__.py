"""Catena's mechanisms in other engines: for tests that compare results and benchmarks that compare times.

The converters share no code with Catena beyond reading the description of a mechanism, so that agreement
means something: they walk the bodies and joints themselves, add up welded inertias themselves and know the
joint kinds only through their documented meaning.
"""
