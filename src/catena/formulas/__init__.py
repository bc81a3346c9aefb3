"""Formulas that are written as text: "0.3 * sin(2 * pi * t)", "crank / 2", "120 rpm".

The grammar is a small one of our own. A formula computes a number from the names in it and reaches nothing else:
no text is evaluated by Python, and a name stands for what the caller gives under it, or is refused.
"""

from catena.formulas.formula import ParsedFormula, parse
from catena.formulas.functions import FUNCTIONS
from catena.formulas.grammar import RESERVED, Name
from catena.formulas.places import Place
from catena.formulas.units import UNITS

__all__ = ["FUNCTIONS", "RESERVED", "UNITS", "ParsedFormula", "Name", "Place", "parse"]
