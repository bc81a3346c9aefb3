"""The conformance check of the force contract, for built-in kinds and for anyone's own."""

from __future__ import annotations

from typing import Any

import numpy as np

from catena.errors import CatenaError
from catena.forces.contract import AtJoint, FrameForce, JointForce, Relative
from catena.joints import (
    Cylindrical,
    Free,
    Helical,
    JointKind,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)
from catena.spatial import Force, Motion, array, exp, is_symbolic
from catena.spatial.on_symbols import on_symbols

STEP = 1e-5
"""Half width of central differences."""
JOINTS: tuple[JointKind, ...] = (
    Revolute("z"), Prismatic("x"), Helical("y", 0.3), Cylindrical("z"), Universal("x", "y"), Spherical(), Planar("z"),
    Free(), Spherical().flip(),
)  # fmt: skip


def check_force_kind(kind: FrameForce | JointForce, joint: JointKind | None = None, seed: int = 0) -> None:
    """Raise an AssertionError that says what is wrong unless `kind` keeps the force contract.

    At random states: loads have the right size and are finite; the load at rest is what the energy loses, by finite
    differences; a damper takes and never gives; parameters make a round trip; symbols agree with numbers. A force at a
    joint is tried at `joint`, or at all kinds of joints that it fits.
    """
    assert isinstance(kind, (FrameForce, JointForce)), f"{kind!r} is no FrameForce and no JointForce."
    rng = np.random.default_rng(seed)
    hash(kind.signature)
    for at in _states(kind, joint, rng):
        _check_load(kind, at)
        _check_energy(kind, at)
        _check_damping(kind, at)
        _check_outputs(kind, at)
        _check_params(kind, at, rng)
        _check_symbols(kind, at)


def _states(kind: FrameForce | JointForce, joint: JointKind | None, rng: np.random.Generator) -> list[Any]:
    """Random states of whatever the force acts between."""
    if isinstance(kind, FrameForce):
        twists = [Motion(rng.normal(size=6)) for _ in range(8)]
        return [
            Relative(exp(Motion(0.6 * rng.normal(size=6))), v, rng.normal(size=kind.inputs)) for v in twists
        ]
    assert isinstance(kind, JointForce)
    fitting = [joint] if joint is not None else _fitting(kind)
    return [
        AtJoint(
            j,
            j.integrate(j.neutral(), 0.6 * rng.normal(size=j.nv)),
            rng.normal(size=j.nv),
            rng.normal(size=kind.inputs),
        )
        for j in fitting
        for _ in range(4)
    ]


def _fitting(kind: JointForce) -> list[JointKind]:
    """Return the usual joints that a force may act at. One that gives equally many numbers at all of them is for joints
    that have as many freedoms."""
    sizes = {j: _size(kind, j) for j in JOINTS if _fits(kind, j)}
    assert sizes, f"{kind!r}: it fits none of the usual joints; say which with joint=..."
    numbers = {n for n in sizes.values() if n is not None}
    if len(numbers) > 1:
        return list(sizes)
    fitting = [j for j, n in sizes.items() if n == j.nv]
    found = f"its load has {numbers.pop()} entries" if numbers else "its load fails"
    assert fitting, (
        f"{kind!r}: {found} at every usual joint, and no usual joint has as many freedoms; say with joint=... which "
        f"joint it is for."
    )
    return fitting


def _size(kind: JointForce, joint: JointKind) -> int | None:
    """Return how many numbers the load has at a joint; None where it fails there, as one does that wants another
    freedom."""
    try:
        return int(
            np.size(kind.load(AtJoint(joint, joint.neutral(), np.ones(joint.nv), np.zeros(kind.inputs))))
        )
    except (IndexError, ValueError, TypeError):
        return None


def _fits(kind: JointForce, joint: JointKind) -> bool:
    try:
        kind.check(joint, "a joint")
    except CatenaError:
        return False
    return True


def _say(kind: FrameForce | JointForce, sentence: str, error: float, tolerance: float) -> None:
    # Written so that NaN fails too.
    assert error <= tolerance, f"{kind!r}: {sentence} (error {error:.3g}, allowed {tolerance:.3g})."


def _entries(load: Any) -> np.ndarray:
    return np.asarray(load.array if isinstance(load, Force) else load)


def _velocity(at: Any) -> np.ndarray:
    return np.asarray(at.v.array if isinstance(at, Relative) else at.v)


def _moved(at: Any, h: float) -> Any:
    """Return where the motion leads in the time h."""
    if isinstance(at, Relative):
        return Relative(exp(at.v * h) * at.X, at.v, at.inputs)
    return AtJoint(at.joint, at.joint.integrate(at.q, h * at.v), at.v, at.inputs)


def _check_load(kind: FrameForce | JointForce, at: Any) -> None:
    load: Any = kind.load(at)
    if isinstance(at, Relative):
        assert isinstance(load, Force), f"{kind!r}: load gives a {type(load).__name__}, not a Force."
    else:
        shape = np.shape(load)
        assert shape == (at.joint.nv,), f"{kind!r}: load has shape {shape}, not ({at.joint.nv},)."
    assert np.isfinite(_entries(load).astype(float)).all(), f"{kind!r}: load is not finite: {load!r}."


def _check_energy(kind: FrameForce | JointForce, at: Any) -> None:
    ahead, here, behind = (float(kind.energy(_moved(at, h))) for h in (STEP, 0.0, -STEP))
    if not kind.stores:
        assert ahead == here == behind == 0.0, f"{kind!r}: it has energy, so say `stores = True`."
        return
    lost = -(ahead - behind) / (2.0 * STEP)
    load = _entries(kind.load(at.at_rest()))
    size = float(np.abs(load) @ np.abs(_velocity(at)))
    error = abs(float(load @ _velocity(at)) - lost)
    # Differences lose the digits of the energy itself, and a kink within the step some of the rest.
    allowed = 1e-6 * (size + abs(lost)) + 1e-15 * abs(here) / STEP + 1e-9
    _say(kind, "the power of the load at rest is not what the energy loses", error, allowed)


def _check_damping(kind: FrameForce | JointForce, at: Any) -> None:
    if kind.source != "friction":
        return
    moving, resting = _entries(kind.load(at)), _entries(kind.load(at.at_rest()))
    taken = float((moving - (resting if kind.stores else 0.0)) @ _velocity(at))
    size = float((np.abs(moving) + np.abs(resting)) @ np.abs(_velocity(at)))
    _say(kind, "its dampers give energy; give it another `source`", taken, 1e-12 * size)
    if not kind.spends:
        _say(kind, "it says that it spends nothing, but has a damper", abs(taken), 1e-12 * size)


def _check_outputs(kind: FrameForce | JointForce, at: Any) -> None:
    found = kind.outputs(at)
    for name, value in found.items():
        assert isinstance(name, str), f"{kind!r}: the output {name!r} has no name."
        assert np.shape(value) == (), (
            f"{kind!r}: the output {name!r} has shape {np.shape(value)}, not a number."
        )
        assert np.isfinite(float(value)), f"{kind!r}: the output {name!r} is {value}."


def _check_params(kind: FrameForce | JointForce, at: Any, rng: np.random.Generator) -> None:
    params = kind.params()
    again = kind.with_params(params)
    assert again.params() == params, f"{kind!r}: with_params(params()) has other parameters."
    assert again.signature == kind.signature, f"{kind!r}: with_params changes the signature."
    gap = float(np.abs(_entries(again.load(at)) - _entries(kind.load(at))).max(initial=0.0))
    _say(kind, "with_params(params()) has another load", gap, 0.0)
    other = kind.with_params(
        [float(p) * s for p, s in zip(params, rng.uniform(0.9, 1.1, len(params)), strict=True)]
    )
    assert other.signature == kind.signature, (
        f"{kind!r}: other parameters change the signature, which names the code."
    )


def _check_symbols(kind: FrameForce | JointForce, at: Any) -> None:
    """Compare loads, energies and outputs of symbols, parameters among them, with those of numbers."""
    import casadi

    columns: list[Any] = []
    values: list[np.ndarray] = []

    def symbols(x: Any) -> np.ndarray:
        numbers = np.atleast_1d(np.asarray(x, dtype=float)).ravel()
        column = casadi.SX.sym(f"x{len(columns)}", len(numbers))
        columns.append(column)
        values.append(numbers)
        return array([column[i] for i in range(len(numbers))])

    if isinstance(at, Relative):
        X = type(at.X).from_entries(list(symbols(at.X.entries())))
        state: Any = Relative(X, Motion(symbols(at.v.array)), symbols(at.inputs))
    else:
        state = AtJoint(at.joint, symbols(at.q), symbols(at.v), symbols(at.inputs))
    free = kind.with_params(list(symbols(kind.params()))) if kind.params() else kind
    with on_symbols(repr(kind)):
        parts: dict[str, tuple[Any, Any]] = {
            "load": (_entries(free.load(state)), _entries(kind.load(at))),
            "energy": ([free.energy(state)], [kind.energy(at)]),
            "outputs": (list(free.outputs(state).values()), list(kind.outputs(at).values())),
        }
    for name, (symbolic, numeric) in parts.items():
        entries = [casadi.SX(x) if is_symbolic(x) else casadi.SX(float(x)) for x in symbolic]
        if not entries:
            continue
        function = casadi.Function("f", columns, [casadi.densify(casadi.vertcat(*entries))])
        found = np.asarray(function(*values), dtype=float).ravel()
        expected = np.asarray(numeric, dtype=float)
        gap = float(np.abs(found - expected).max(initial=0.0))
        _say(
            kind,
            f"{name} of symbols differs from {name} of numbers",
            gap,
            1e-11 * (1.0 + float(np.abs(expected).max())),
        )
