"""Whether accelerations are asked for at configurations whose loops are open.

Forward dynamics keeps accelerations of gaps at zero, whatever the gaps are: an answer to a question that hardly anybody
has. Whoever forgets to assemble does so from the first call on, so the first calls are looked at, and no later one pays
for it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from catena.dynamics.loops.closing.loop_closure import closure
from catena.errors import warn
from catena.kernels.evaluation import Evaluator
from catena.kinematics.loops.scales import scales_of

# So many calls are looked at, and of each so many states at most.
CALLS, STATES = 4, 64
# Loops that are further apart [rad or sizes of the mechanism] are open; dimensions may be wrong by this much.
OPEN = 1e-3


class OpenLoops:
    """Looks at the first configurations of one system that accelerations are asked for."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.calls = CALLS if evaluator.plan.total_constraints else 0

    def look(self, q: Any) -> None:
        """Warn if some of the configurations q (..., nq) are open, unless enough have been looked at."""
        plan = self.evaluator.plan
        rows = np.reshape(np.asarray(q, dtype=np.float64), (-1, plan.nq))
        if not self.calls or not len(rows):
            return
        self.calls -= 1
        some = np.linspace(0, len(rows) - 1, min(len(rows), STATES)).astype(int)
        error = np.abs(scales_of(plan).errors(closure(self.evaluator, rows[some])[0]))
        worst = np.unravel_index(int(np.argmax(error)), error.shape)
        if not error[worst] > OPEN:
            return
        self.calls = 0
        owners = [each.name for each in plan.constraints for _ in range(each.constraints)]
        where = f" in state {some[worst[0]]}" if len(rows) > 1 else ""
        warn(
            f"{plan.name!r}: accelerations are asked for at a configuration whose loops are open{where}: that of "
            f"{owners[worst[1]]!r} by {error[worst]:.3g} (in radians or sizes of the mechanism). They keep the gap as "
            f"it is. s.assemble(...) and s.project(q, v) close loops, s.closure(q) tells how far they are apart; only "
            f"the first calls are looked at."
        )
