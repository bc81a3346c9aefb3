"""Motion over time: from a state, or a batch of states, to a trajectory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypedDict, Unpack, overload

from numpy.typing import ArrayLike

from catena.dynamics.contacts.tip_contact import TipContact
from catena.errors import StateError
from catena.kernels.teams.blas import by_one_blas_thread
from catena.simulation.arguments import time_span
from catena.simulation.contacts import Contact, Stop, tips_apart
from catena.simulation.contacts.landing import goes_in_lanes, varied_of
from catena.simulation.following import EVERY, Cancellation, Following, check_followers, raise_in_loop
from catena.simulation.guards.events import Event
from catena.simulation.keeping import Choice, Keep
from catena.simulation.problem import Applied, Control, ForcesByFormula
from catena.simulation.references.protocol import Prescribed
from catena.simulation.request import SimulationRequest, require_as_many
from catena.simulation.results.trajectory import Trajectory
from catena.simulation.scenario import Change, Described, Scenario
from catena.simulation.scenario.resolving import controller, events_of, motions, named_numbers, wrenches
from catena.simulation.stepping.drift import Remedy
from catena.system import System
from catena.validation import is_one_of, shown

# What `simulate` takes for arguments that are not given.
NOTHING = (None, None, 1.0, None, None, None, "dopri5", None, 1e-11, 1e-13, "projection", (), None, (), (), None, None,
           "raise", 0.0, None, "joint", None)  # fmt: skip


class Options(TypedDict, total=False):
    """The keyword arguments of `simulate` that do not change what it returns."""

    motion: Mapping[str, Prescribed | ArrayLike | str] | None
    forces: Mapping[str, Applied | Sequence[str | float]] | None
    integrator: str
    step: float | None
    rtol: float
    atol: float
    drift: str | Remedy
    events: Sequence[Event | Control | str] | Event | Control | str
    samples: int | ArrayLike | None
    progress: bool | None
    check: bool
    contacts: Sequence[Contact | Stop | TipContact]
    changes: Sequence[Change]
    parameters: Mapping[str, ArrayLike] | None
    near: Mapping[str, ArrayLike] | None
    on_error: str
    start: float
    observe: Callable[[Trajectory], Any] | None
    every: float
    cancel: Cancellation | None
    keep: Choice | Keep | None
    coordinates: str
    independent: str | Sequence[str] | None


@overload
def simulate(
    system: System | Scenario,
    q: ArrayLike | Mapping[str, ArrayLike] | None = None,
    v: ArrayLike | Mapping[str, ArrayLike] | None = None,
    duration: float = 1.0,
    *,
    control: Control | Described | ForcesByFormula | None = None,
    **options: Unpack[Options],
) -> Trajectory: ...


@overload
def simulate(
    system: System | Sequence[System],
    q: ArrayLike | Mapping[str, ArrayLike] | None = None,
    v: ArrayLike | Mapping[str, ArrayLike] | None = None,
    duration: float = 1.0,
    *,
    control: Control | Described | ForcesByFormula | Sequence[Control] | None = None,
    **options: Unpack[Options],
) -> Trajectory | list[Trajectory]: ...


@by_one_blas_thread
def simulate(
    system: System | Sequence[System] | Scenario,
    q: ArrayLike | Mapping[str, ArrayLike] | None = None,
    v: ArrayLike | Mapping[str, ArrayLike] | None = None,
    duration: float = 1.0,
    *,
    control: Control | Described | ForcesByFormula | Sequence[Control] | None = None,
    motion: Mapping[str, Prescribed | ArrayLike | str] | None = None,
    forces: Mapping[str, Applied | Sequence[str | float]] | None = None,
    integrator: str = "dopri5",
    step: float | None = None,
    rtol: float = 1e-11,
    atol: float = 1e-13,
    drift: str | Remedy = "projection",
    events: Sequence[Event | Control | str] | Event | Control | str = (),
    samples: int | ArrayLike | None = None,
    progress: bool | None = None,
    check: bool = True,
    contacts: Sequence[Contact | Stop | TipContact] = (),
    changes: Sequence[Change] = (),
    parameters: Mapping[str, ArrayLike] | None = None,
    near: Mapping[str, ArrayLike] | None = None,
    on_error: str = "raise",
    start: float = 0.0,
    observe: Callable[[Trajectory], Any] | None = None,
    every: float = EVERY,
    cancel: Cancellation | None = None,
    keep: Choice | Keep | None = None,
    coordinates: str = "joint",
    independent: str | Sequence[str] | None = None,
) -> Trajectory | list[Trajectory]:
    """Follow the motion from q (..., nq) and v (..., nv), or from positions and velocities by joint, for `duration`
    seconds; or that of a `Scenario`, which says all of this itself.

    Without q and v the mechanism's own initial state is taken. Springs, stops, wrenches and actuators of the mechanism
    act.

    `control(t, q, v)` gives the joint forces, (..., nv) or by joint, of the tree or of loops: at every stage of a step,
    or, for a controller with a `rate`, at the times k / rate with the forces held in between. `motion` maps joints to
    references, or to functions of t that give position, velocity and acceleration: those joints move so, whatever it
    takes. If one of them closes a loop, the run takes a plan in which it does not (`run.system`). `forces` maps bodies
    or frames to functions of t that give wrenches [moment; force] in their axes at their origin. Each of these may be a
    formula, or a list of six, over t, q, v, joints and the numbers without a point in their names in `parameters`; and
    `control` may be formulas by joint, or a `Described` controller.

    An event with a `then` changes the structure, and so does a `Change`: the motion goes on with the mechanism that it
    returns, in another segment of the trajectory, whose `transitions` tell impulses and energy lost. `control` may then
    be a `PerStructure`. `contacts` are points and balls that may touch planes, points and balls, and rigid stops of
    joints: they are made and broken on the way, stick or slide, and never pull; or they are `TipContact`, which always
    hold, rolling wheels and skates among them. With those that are made and broken states of a batch move side by side,
    each with times and changes of its own: `run.state(k)` is one of them, and `run.resample(101)` has all at common
    times.

    `integrator`: "dopri5" or "dop853" choose their steps by `rtol` and `atol`, each state of a batch its own; "rk4",
    "midpoint", "euler", "semi_implicit", "leapfrog", "implicit_leapfrog" (whose steps no mode of a flexible body
    bounds) and "abm4" take steps of `step` seconds; "time_stepping" does so too and finds what contacts do, all states
    of a batch in lanes; "radau", "bdf" and "lsoda" are for stiff problems. `drift` says how
    loops stay closed: "projection", "baumgarte", "corrective", "none", or ct.Baumgarte(time), ct.Corrective(stiffness,
    damping).
    `events` are located and reported, terminal ones end the motion of their state.

    `coordinates` are those that are integrated: "joint", those of the joints of the tree; "minimal", as many as there
    are degrees of freedom, in which loops are closed at every stage and nothing drifts: those of the joints
    `independent` ("hip[1]" is one component), or the best ones, and others where they no longer determine all, which
    `run.transitions` tell; or "absolute", those of all bodies, with every joint a constraint. The latter two are
    integrated by "dopri5", "dop853" or the stiff methods, state by state, by SciPy; the motion is the same.

    `samples`: None keeps every step of a single state, and 101 times of a batch; a number of times, or the times
    themselves. `progress` shows a bar on runs of more than a second (None: on a terminal or in a notebook). Ctrl-C
    returns what there is; the next run of the same loop raises KeyboardInterrupt. With `check` the run is audited, if
    it is not very large, and what is off is said as a warning; of a run with contacts its changes are, and
    `run.audit()` tells all. `parameters` are numbers of the mechanism that differ from state to state, {"pole.mass":
    (...)}, as `System.vary` takes them: their batch and that of q and v go together, and states run in lanes. A list of
    systems or of controllers gives a list of trajectories.

    Angles of joints that something looks at keep counting turns, also where a joint closes a loop. Such a joint begins
    within half a turn of zero, or next to the position that `near` gives it, {joint: (..., nq of the joint)}: to go on
    from the end of a run, give near={joint: run[joint][-1]}.

    `start` is the time [s] at which the motion begins, in the one clock that everything counts in: samples, references,
    wrenches, events, and the samples of controllers at k / rate. So a motion goes on from another one by
    start=run.t[-1]. A controller with a rate is asked at the start too, whether it is due then or not.

    `on_error="record"` leaves out the states of a batch that cannot be simulated (starts that do not close, parameters
    that no body has, motions that run away): the run is that of the others, one behind the other, and `run.failed` says
    why, {index: words}.

    `keep` says what is kept of a run, so that many need little memory: "final", or a list of signals, or signals by
    name. A signal is a formula over t, q, v, joints and named numbers, or a function of times (n,), q (n, nq), v (n,
    nv); at the samples, "A", or what follows from all steps: "max(A)", "min(A)", "time_of_max(A)", "mean(A)",
    "integral(v.A^2)", "last(A)", "crossing(A - 0.5)". They are in `run.kept`. The run itself then has its start and end
    only, unless `samples` are asked for beside what follows from all steps.

    `observe(part)` is called while the motion goes on, at most `every` so many seconds on the clock, with what is new
    since the last time: trajectories whose samples, one behind the other, are those of the run to the last bit. A batch
    with contacts or changes of the structure tells of one state after the other, `part.told_of`. `cancel` is a
    `threading.Event`: its `set()`, from any thread, ends the run behind the step that is being taken, and what there is
    is returned, as after Ctrl-C; `run.ended` says so.
    """
    raise_in_loop()
    check_followers(observe, every, cancel)
    if isinstance(system, Scenario):
        arguments = (
            q, v, duration, control, motion, forces, integrator, step, rtol, atol, drift, events, samples, contacts,
            changes, parameters, near, on_error, start, keep, coordinates, independent,
        )  # fmt: skip
        _require_nothing(arguments)
        return system.run(progress, check, observe, every, cancel, on_error)
    kept = None if keep is None else Keep.of(keep)
    is_list = not isinstance(system, System) and isinstance(system, Sequence)
    gives_list = control is not None and isinstance(control, Sequence)
    systems: list[Any] = list(system) if is_list else [system]  # type: ignore[arg-type]
    controls: list[Any] = list(control) if gives_list else [control]  # type: ignore[arg-type]
    are_several = is_list or gives_list
    if are_several:
        require_as_many(systems, controls)
    named, parameters = ({}, None) if parameters is None else named_numbers(parameters)
    moves = {} if motion is None else motions(motion, named)
    pushes = {} if forces is None else wrenches(forces, named)
    happenings = [] if events == () and changes == () else events_of(events, changes, named)
    changing = bool(happenings) and any(event.then is not None for event in happenings)
    if control is not None and len(systems) == len(controls) == 1 and isinstance(systems[0], System):
        controls = [controller(controls[0], systems[0], q, v, named, changing)]
    touching, tips = ((), ()) if contacts == () else tips_apart(contacts)
    lands, records = is_one_of(integrator, ("time_stepping",)), is_one_of(on_error, ("record",))
    parameters, varied = varied_of(parameters, touching) if lands else (parameters, {})
    _require_possible(on_error, observe, is_list or len(controls) > 1)
    if lands:
        _require_landing(records, varied, tips)
    # What contacts of tips pass on is found for one mechanism at a time.
    differs = bool(tips) and (parameters is not None or any(_is_varied(one) for one in systems))
    by_state = (
        (bool(touching) and not lands)
        or changing
        or differs
        or (lands and not all(map(goes_in_lanes, systems)))
    )
    if by_state and (len(controls) > 1 or is_list):
        raise StateError("Events that change the structure are for one system and one controller at a time.")
    span = time_span(start, duration)
    in_lanes = records and not by_state
    if parameters is not None and not in_lanes:
        systems = [one.vary(parameters) if isinstance(one, System) else one for one in systems]
    request = SimulationRequest(
        systems, controls, moves, pushes,
        {"integrator": integrator, "step": step, "rtol": rtol, "atol": atol, "drift": drift,
         "coordinates": coordinates, "independent": independent, "tips": tips},
        happenings, touching, varied, {} if near is None else near, span, samples, kept, named, check,
        partial(Following, span, progress, observe, every, cancel), lands,
    )  # fmt: skip
    if request.rubs and not by_state:
        runs = request.each_by_state(q, v, records)
        return runs if are_several else runs[0]
    if in_lanes:
        return request.those_that_do_not_fail(q, v, parameters)
    if by_state:
        return request.state_by_state(q, v, records)
    runs = request.all_states(q, v, parameters is not None)
    return runs if are_several else runs[0]


def _is_varied(system: Any) -> bool:
    """Return whether numbers of a system differ from state to state."""
    return isinstance(system, System) and system.variants.shape != ()


def _require_landing(records: bool, varied: Mapping[Any, Any], tips: Sequence[TipContact]) -> None:
    """Raise an error where steps that find impulses are asked for what they do not give."""
    if tips:
        raise StateError(
            f"time_stepping does not take contacts of tips, such as {tips[0].label!r}; choose an integrator such as "
            "dopri5."
        )
    if records and varied:
        raise StateError(
            "on_error='record' takes friction and restitution of contacts for all states together: give them to the "
            "contacts, or leave on_error out."
        )


def _require_nothing(arguments: Sequence[Any]) -> None:
    """Raise an error unless all arguments beside a scenario are left out."""
    pairs = zip(arguments, NOTHING, strict=True)
    if not all(x is y or (isinstance(x, float | str | tuple) and x == y) for x, y in pairs):
        raise StateError(
            "A scenario says all of its run: leave the other arguments out, and change it by "
            "scenario.with_(duration=...)."
        )


def _require_possible(on_error: Any, observe: Any, are_several: bool) -> None:
    """Raise an error where several systems or controllers, or states that fail, are asked for what one run gives."""
    if not is_one_of(on_error, ("raise", "record")):
        raise StateError(f"on_error is {shown(on_error)}; choose 'raise' or 'record'.")
    if observe is not None and (are_several or on_error == "record"):
        raise StateError(
            "observe is for one system and one controller, without on_error='record': run the others one by one."
        )
    if are_several and on_error == "record":
        raise StateError("on_error='record' is for a batch of one system and one controller.")
