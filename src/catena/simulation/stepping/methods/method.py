"""The methods that move a mechanism, by name: when they ask for accelerations, and what they keep from step to step."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from catena.kernels import POSITION, VELOCITY
from catena.simulation.stepping.methods.tableaus import Tableau, tableau

# Weights of the Adams-Moulton method, from the prediction back to the past, and how many steps of the past it needs.
CORRECT = (9 / 24, 19 / 24, -5 / 24, 1 / 24)
PAST = 3


@dataclass(frozen=True)
class Method:
    """A method that asks for accelerations at `times`, parts of the step, which count by `weights` where works are
    summed up. `past` is what it keeps from step to step, `rewritten` what it writes more than once, and `first` the
    field with the accelerations with which a step began, or those of its middle."""

    name: str
    times: tuple[float, ...]
    weights: tuple[float, ...] = (1.0,)
    tableau: Tableau | None = None
    past: Mapping[str, Any] = field(default_factory=dict)
    rewritten: frozenset[str] = frozenset()
    first: str = "first"

    @property
    def is_adaptive(self) -> bool:
        """Return whether it chooses its steps."""
        return self.tableau is not None and self.tableau.is_adaptive

    @property
    def lands(self) -> bool:
        """Return whether it finds impulses of contacts by itself."""
        return self.name == "time_stepping"

    @property
    def is_implicit(self) -> bool:
        """Return whether it is implicit in modes, whose inertia it makes larger."""
        return self.name == "implicit_leapfrog"


@cache
def method_of(name: str, touches: bool = False) -> Method:
    """Return the method of this name. Where something touches, it looks at the state with which a step begins."""
    if name == "abm4":
        kinds = (("q_past", POSITION), ("v_past", VELOCITY), ("a_past", VELOCITY))
        history = {f"{field}_{j}": extent for j in range(1, PAST + 1) for field, extent in kinds}
        rates = frozenset({"first", "xi_ahead", *(f"rate_{j}" for j in range(PAST + 1))})
        return Method(name, (0.0, 1.0), (CORRECT[1], CORRECT[0]), past=history, rewritten=rates)
    if name == "semi_implicit":
        return Method(name, (0.0,))
    if name == "leapfrog":
        return Method(name, (0.0, 0.5), (0.0, 1.0)) if touches else Method(name, (0.5,))
    if name == "time_stepping":
        past = {"a_past": VELOCITY}
        return Method(name, (0.5,), past=past, rewritten=frozenset({*past, "first", "resists", "gained"}))
    if name == "implicit_leapfrog":
        past = {"a_past": VELOCITY}
        return Method(name, (0.5,), past=past, rewritten=frozenset(past))
    table = tableau(name)
    rates = frozenset(
        f"{rate}_{k}" for k in range(table.stages) for rate in ("rate_xi", "rate_v", "seen_rate")
    )
    return Method(name, table.c, table.b, table, rewritten=rates, first="rate_v_0")
