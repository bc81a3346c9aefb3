"""Exudyn in the build that its authors recommend for speed: without range checks and with vector instructions.

It is optional: importing this module where Exudyn is missing raises ImportError, as importing Exudyn itself does.
"""

import io
import sys
from contextlib import redirect_stdout

# The way its documentation gives to choose the build; it must come before the first import.
sys.exudynFast = True  # type: ignore[attr-defined]
with redirect_stdout(io.StringIO()):
    import exudyn
    from exudyn import itemInterface as items

__all__ = ["exudyn", "items"]
