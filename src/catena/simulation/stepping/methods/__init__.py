"""One step in time as an algorithm of sweeps: the methods, and what is around their stages."""
