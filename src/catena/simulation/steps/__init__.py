"""One step in time: methods as tables of coefficients, and the algorithm that takes them in compiled lanes."""
