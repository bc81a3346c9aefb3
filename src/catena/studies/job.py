"""What is done for each variant of a study: a scenario with other numbers, run in lanes with its neighbours where it
can be, and what is told of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from catena.equations.parameters import find_parameters, with_values
from catena.errors import CatenaError, StateError
from catena.simulation import Scenario, Trajectory
from catena.simulation.contacts.landing import goes_in_lanes
from catena.simulation.keeping import Keep
from catena.validation import real_array, shown

INITIAL, VELOCITY, CONTACT, SCENARIO = "initial.", "velocity.", "contact.", "scenario"
"""How names of joints begin whose starts are varied, and those of contacts, and what a list of scenarios is called."""
# Samples that functions look at where the scenario says nothing about them.
SAMPLES = 101


class Batched:
    """A function of the runs of many variants at once, a `Trajectory` with a batch of shape (n,), that gives numbers
    (n,) or (n, ...). Variants that failed are not among them."""

    def __init__(self, function: Callable[[Trajectory], Any]) -> None:
        self.function = function

    def __call__(self, run: Trajectory) -> Any:
        return self.function(run)


def batched(function: Callable[[Trajectory], Any]) -> Batched:
    """Mark an outcome as a function of many runs at once."""
    if not callable(function):
        raise StateError(f"ct.batched: {shown(function)} cannot be called; give a function of a run.")
    return Batched(function)


@dataclass(frozen=True, eq=False)
class VariantOutcomes:
    """What was found for some variants: arrays (n, ...) by name, NaN where a variant failed, and words for these, by
    their number among them."""

    arrays: Mapping[str, np.ndarray]
    failed: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Job:
    """Runs variants of a `scenario`, with values of what is in `names`, and tells `outcomes`: formulas as "max(A)",
    functions of one run, or `batched` ones. `keep` are further signals; with `final` states at the end are told."""

    scenario: Scenario
    names: tuple[str, ...]
    outcomes: Mapping[str, Any]
    keep: Keep
    final: bool

    def run(self, values: Mapping[str, np.ndarray]) -> VariantOutcomes:
        """Return what there is to tell of variants with these values (n, ...)."""
        count = len(next(iter(values.values())))
        apart = [name for name in self.names if not self._is_in_lanes(name)]
        groups: dict[tuple[Any, ...], list[int]] = {} if apart else {(): list(range(count))}
        for k in range(count if apart else 0):
            key = tuple(_key(values[name][k]) for name in apart)
            groups.setdefault(key, []).append(k)
        found: dict[str, np.ndarray] = {}
        failed: dict[int, str] = {}
        for k, words in self._not_finite(values).items():
            failed[k] = words
        for rows in groups.values():
            good = [k for k in rows if k not in failed]
            for some in ([good] if good else []) if self._has_lanes else [[k] for k in good]:
                outcomes = self._apart({name: values[name][some] for name in self.names}, len(some))
                for name, x in outcomes.arrays.items():
                    if name not in found:
                        found[name] = np.full((count, *x.shape[1:]), np.nan)
                    found[name][some] = x
                failed |= {some[k]: words for k, words in outcomes.failed.items()}
        return VariantOutcomes(found, failed)

    def variant(self, values: Mapping[str, Any], lanes: bool = False, **settings: Any) -> Scenario:
        """Return the scenario of one variant, or of many (n, ...) in lanes, with other settings of the run."""
        base = self.scenario
        if SCENARIO in values:
            base = values[SCENARIO][0] if lanes else values[SCENARIO]
        initial, velocity = base.initial, base.velocity
        parameters, changed = dict(base.parameters), dict[str, Any]()
        for name, x in values.items():
            if name == SCENARIO:
                continue
            if name.startswith(INITIAL):
                initial = _with_joint(base, initial, name.removeprefix(INITIAL), x, lanes, "initial")
            elif name.startswith(VELOCITY):
                velocity = _with_joint(base, velocity, name.removeprefix(VELOCITY), x, lanes, "velocity")
            elif self._is_in_lanes(name):
                changed[name] = x
            elif name.startswith(CONTACT):
                base = _with_contact(base, name, float(x[0] if lanes else x))
            else:
                parameters[name] = x[0] if lanes else x
        if changed and not (lanes and self._has_lanes):
            own = {name: np.atleast_1d(x[0] if lanes else x) for name, x in changed.items()}
            shaped = {p.name: p.rows(own[p.name][None])[0] if len(p.value) > 1 else own[p.name]
                      for p in find_parameters(base.mechanism, own)}  # fmt: skip
            # It is checked as any other mechanism when it is planned.
            base = base.with_(mechanism=with_values(base.mechanism, shaped))
            changed = {}
        parameters |= changed
        others = settings | ({"parameters": parameters} if len(values) else {})
        if initial is not self.scenario.initial:
            others["initial"] = initial
        if velocity is not self.scenario.velocity:
            others["velocity"] = velocity
        return base.with_(**others) if others else base

    @staticmethod
    def _not_finite(values: Mapping[str, np.ndarray]) -> dict[int, str]:
        """Return which variants have values that are not finite numbers, and the words for it."""
        found: dict[int, str] = {}
        for name, x in values.items():
            if x.dtype != object:
                rows = x.reshape(len(x), -1)
                for k in np.flatnonzero(~np.isfinite(rows).all(axis=1)):
                    found.setdefault(int(k), f"{name} is {shown(x[k].tolist())}, not finite.")
        return found

    def _apart(self, values: Mapping[str, np.ndarray], count: int) -> VariantOutcomes:
        """Return what there is to tell of variants (n, ...) that run together, in two halves where something is wrong
        with one of them that nobody can name: only that one fails then."""
        whole = self._together(values, count)
        if len(whole.failed) < count or count < 2 or len({whole.failed[0], whole.failed[count - 1]}) > 1:
            return whole
        ends = [self._together({name: x[k : k + 1] for name, x in values.items()}, 1) for k in (0, count - 1)]
        if all(one.failed for one in ends):
            # It is the same with all of them.
            return whole
        arrays: dict[str, np.ndarray] = {}
        failed: dict[int, str] = {}
        middle = count // 2
        for half in (slice(0, middle), slice(middle, count)):
            part = self._apart({name: x[half] for name, x in values.items()}, half.stop - half.start)
            for name, x in part.arrays.items():
                arrays.setdefault(name, np.full((count, *x.shape[1:]), np.nan))[half] = x
            failed |= {half.start + k: words for k, words in part.failed.items()}
        return VariantOutcomes(arrays, failed)

    def _together(self, values: Mapping[str, np.ndarray], count: int) -> VariantOutcomes:
        """Return what there is to tell of variants (n, ...) that only differ in what may differ between lanes."""
        signals = {one.name: one for one in self.keep.signals}
        formulas = {name: x for name, x in self.outcomes.items() if isinstance(x, str)}
        asked = {**signals, **{name: Keep.of({name: x}).signals[0] for name, x in formulas.items()}}  # type: ignore[union-attr]
        functions = {name: x for name, x in self.outcomes.items() if not isinstance(x, str)}
        in_lanes, settings = self._has_lanes, dict[str, Any](keep=asked or "final")
        if functions and asked and self._is_in_segments:
            # Of such runs either what is gathered is there or all the rest, so there are two of them.
            first = replace(self, outcomes=formulas)._together(values, count)
            then = replace(self, outcomes=functions, keep=Keep())._together(values, count)
            return VariantOutcomes({**first.arrays, **then.arrays}, {**first.failed, **then.failed})
        try:
            if functions:
                # They look at samples; what follows from all steps goes beside these.
                settings = {"keep": asked or None}
                if self.scenario.samples is None and not self._is_in_segments:
                    settings["samples"] = SAMPLES
            scenario = self.variant(values, lanes=True, **settings)
            if count == 1 and not in_lanes:
                run, lost = scenario.run(progress=False, check=False), {}
            else:
                run = _spread(scenario, count).run(progress=False, check=False, on_error="record")
                lost = {int(k[0]): words for k, words in run.failed.items()}
        except CatenaError as error:
            reasons = {int(k[0]): words for k, words in error.failed.items()} if error.failed else {}
            return VariantOutcomes({}, {k: reasons.get(k, str(error)) for k in range(count)})
        if run.ended.startswith("interrupted"):
            # Half a run is no variant.
            raise KeyboardInterrupt
        good = [k for k in range(count) if k not in lost]
        arrays: dict[str, np.ndarray] = {}

        def put(name: str, rows: np.ndarray) -> None:
            arrays[name] = np.full((count, *rows.shape[1:]), np.nan)
            arrays[name][good] = rows

        single = not run.batch
        for name, rows in run.kept.items():
            put(name, rows[None] if single else rows)
        if self.final:
            for name, x in _ends(run).items():
                put(name, x)
        for name, function in functions.items():
            self._ask(name, function, run, good, lost, put)
        return VariantOutcomes(arrays, lost)

    def _ask(
        self, name: str, function: Any, run: Trajectory, good: list[int], lost: dict[int, str],
        put: Callable[[str, np.ndarray], None],
    ) -> None:  # fmt: skip
        """Ask a function for an outcome of the runs that are there; one that raises fails its variant."""
        if isinstance(function, Batched) and run.batch:
            if self._is_in_segments:
                # States have times of their own.
                samples = self.scenario.samples
                run = run.resample(SAMPLES if samples is None else samples)
            rows = _numbers(name, function(run))
            if rows.shape[:1] != (len(good),):
                raise StateError(
                    f"Outcome {name!r}: the function gives an array of shape {rows.shape} for {len(good)} runs; give a "
                    f"row for each of them."
                )
            put(name, rows)
            return
        found: list[np.ndarray | None] = []
        for place, k in enumerate(good):
            try:
                found.append(_numbers(name, function(run.state(place) if run.batch else run)))
            except Exception as error:
                # Whatever a function of the user's stumbles over belongs to this variant.
                lost[k] = f"Outcome {name!r}: {type(error).__name__}: {error}"
                found.append(None)
        shape = next((x.shape for x in found if x is not None), ())
        put(
            name,
            np.array([np.full(shape, np.nan) if x is None else x for x in found]).reshape(len(good), *shape),
        )

    @cached_property
    def _has_lanes(self) -> bool:
        """Return whether variants run together: changes of structure go state by state."""
        return not self.scenario.changes and SCENARIO not in self.names

    @cached_property
    def _is_in_segments(self) -> bool:
        """Return whether runs have segments and steps of their own: between contacts that open and close, unless steps
        of fixed size find these."""
        steps = self.scenario.integrator == "time_stepping" and goes_in_lanes(self.scenario.system)
        return not self._has_lanes or (bool(self.scenario.contacts) and not steps)

    def _is_in_lanes(self, name: str) -> bool:
        """Return whether something may differ between variants that run together."""
        return ("." in name and not name.startswith(CONTACT)) or name == "gravity"


def contact_numbers(scenario: Scenario) -> list[str]:
    """Return the names of numbers of the contacts of a scenario that may be varied: "contact.foot.friction"."""
    found = []
    for one in scenario.contacts:  # type: ignore[union-attr]
        names = [x.name for x in fields(one) if isinstance(getattr(one, x.name), float)]
        found += [f"{CONTACT}{_label(one)}.{what}" for what in names]
    return found


def _label(contact: Any) -> str:
    return str(contact.name or getattr(contact, "frame", ""))


def _with_contact(scenario: Scenario, name: str, value: float) -> Scenario:
    """Return a scenario with another number of a contact."""
    label, _, what = name.removeprefix(CONTACT).rpartition(".")
    contacts: Any = scenario.contacts
    return scenario.with_(
        contacts=[replace(one, **{what: value}) if _label(one) == label else one for one in contacts]
    )


def _spread(scenario: Scenario, count: int) -> Scenario:
    """Return a scenario whose start is that of so many states, where nothing else says how many there are."""
    batch = any(
        np.ndim(x) > 1 for x in (scenario.initial.values() if isinstance(scenario.initial, Mapping) else ())
    )
    if batch or any("." in name or name == "gravity" for name in scenario.parameters):
        return scenario
    q, v = scenario.state
    if q.ndim > 1 or v.ndim > 1:
        return scenario
    return scenario.with_(initial=np.tile(q, (count, 1)), velocity=np.tile(v, (count, 1)))


def _ends(run: Trajectory) -> dict[str, np.ndarray]:
    """Return the states (n, ...) at the ends of runs."""
    if hasattr(run, "states"):
        ends = [(state.segments[-1].q[-1], state.segments[-1].v[-1]) for state in run.states]
        q, v = (np.stack(x) for x in zip(*ends, strict=True))
        return {"q": q, "v": v}
    last = run.segments[-1]
    q, v = last.q[..., -1, :], last.v[..., -1, :]
    return {"q": q.reshape(-1, q.shape[-1]), "v": v.reshape(-1, v.shape[-1])}


def _with_joint(scenario: Scenario, start: Any, joint: str, x: Any, lanes: bool, what: str) -> Any:
    """Return a start with another position or velocity of a joint, of one state or (n, ...)."""
    value = np.asarray(x, dtype=np.float64)
    if lanes and value.ndim == 1:
        value = value[:, None]
    if isinstance(start, Mapping):
        return {**start, joint: value}
    system = scenario.system
    if joint not in system.joints:
        raise StateError(
            f"vary {what}.{joint}: {joint!r} carries no coordinate in this plan; say the start by joints, "
            f"{what}={{...}}."
        )
    where = system.slice_q(joint) if what == "initial" else system.slice_v(joint)
    rows = (
        np.broadcast_to(start, (*value.shape[:-1], np.shape(start)[-1])).copy() if lanes else np.array(start)
    )
    rows[..., where] = value
    return rows


def _numbers(name: str, found: Any) -> np.ndarray:
    try:
        return np.asarray(real_array(found), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise StateError(
            f"Outcome {name!r}: the function gives {shown(found)} ({error}); numbers are needed."
        ) from error


def _key(value: Any) -> Any:
    return value.tobytes() if isinstance(value, np.ndarray) else value
