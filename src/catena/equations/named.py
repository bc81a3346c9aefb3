"""The equations that there are, by name: what they take, what they give, and which algorithms they come from."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena import dynamics, kinematics
from catena.dynamics.elements.force_report import force_report
from catena.dynamics.loops.elimination import shape_for
from catena.dynamics.loops.elimination.least_change import closure as closure_algorithm
from catena.dynamics.loops.formulations.certified_elimination import elimination_of
from catena.dynamics.loops.motion_problem import motion_problem
from catena.dynamics.tree import INERTIA_METHODS
from catena.dynamics.tree.joint_space import Joints
from catena.dynamics.tree.rotors import with_rotors
from catena.equations.closed_forms import (
    ConstraintChoice,
    choose,
    joint_form,
    least_forces,
    minimal,
    minimal_form,
    with_multipliers,
)
from catena.equations.derivation import Derivation
from catena.equations.element_slopes import Placing, placed_symbols
from catena.equations.loop_rows import loop_rows, require_formulas
from catena.equations.parameters import symbolic_plan
from catena.equations.quick_symbols import quick_symbols
from catena.equations.unrolling import Unrolled
from catena.errors import EquationsError, LoopError
from catena.forces import PlacedForce
from catena.kernels.evaluation import Evaluator
from catena.kinematics.joint_motions import joint_motions
from catena.kinematics.levers import levers
from catena.mechanism import Mechanism
from catena.mechanism.validation import known
from catena.spatial.linear import ldl_solve
from catena.spatial.scalars import array
from catena.structure import Plan
from catena.validation import shown

Outputs = dict[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class Request:
    """What was asked for: the derivation, the frame, the method, and where choices are made that one expression cannot
    make by itself. `forces` are those of the mechanism."""

    derivation: Derivation
    evaluator: Evaluator
    frame: str | None
    method: str
    at: Any
    forces: tuple[PlacedForce, ...] = ()
    independent: str | Iterable[str] | None = None

    @property
    def plan(self) -> Plan:
        """The plan in numbers."""
        return self.derivation.symbolic.values

    def choice(self) -> ConstraintChoice:
        """Return the independent constraints and coordinates at the configuration that was given for it."""
        if self.at is None:
            name = self.derivation.name
            other = ", or take method='elimination', which has no such branch" * (name == "forward_dynamics")
            raise EquationsError(
                f"{name} of {self.plan.name!r}{f' by {self.method!r}' if self.method != 'auto' else ''} leaves out "
                f"dependent constraints and coordinates, and which ones they are depends on the state. Give a closed "
                f"configuration at=q whose choice is kept{other}."
            )
        return choose(self.evaluator, np.asarray(self.at, dtype=float), self.independent)


@dataclass(frozen=True)
class Named:
    """Equations with a name: what they take besides parameters, how they are derived, a sentence about them, whether
    they belong to a frame, the methods that there are (the first is what "auto" takes), and whether forces of the
    mechanism are in them."""

    takes: tuple[str, ...]
    derive: Callable[[Request], Outputs]
    meaning: str
    framed: bool = False
    methods: tuple[str, ...] = ()
    has_forces: bool = False


def derive(
    name: str, mechanism: Mechanism, evaluator: Evaluator, symbols: Iterable[str] = (), frame: str | None = None,
    method: str = "auto", at: Any = None, f_ext: Sequence[str] = (), base_acceleration: bool = False,
    placing: Placing | None = None, independent: str | Iterable[str] | None = None,
) -> tuple[Unrolled, Derivation]:  # fmt: skip
    """Named equations of a mechanism on the plan of `evaluator`, and the derivation that they come from. `placing`
    finds the forces of the mechanism on a plan."""
    equations = EQUATIONS[known("equations", name, EQUATIONS, f"equations of {mechanism.name!r}")]
    if equations.framed != (frame is not None):
        need = (
            "belong to a frame: give frame=..." if equations.framed else "belong to no frame: leave frame out"
        )
        raise EquationsError(f"The equations {name!r} {need}.")
    if independent is not None and method != "minimal" and name != "minimal_coordinates":
        raise EquationsError(
            f"independent is {shown(independent)}, but the equations {name!r} by {method!r} have no independent "
            f"coordinates: take method='minimal', or 'minimal_coordinates'."
        )
    if frame is not None:
        known("body or frame", frame, evaluator.plan.body_pose, repr(mechanism.name))
    for body in f_ext:
        known("body or frame", body, evaluator.plan.body_pose, repr(mechanism.name))
    takes = [*equations.takes, *(("base_acceleration",) if base_acceleration else ())]
    plan = symbolic_plan(mechanism, evaluator.plan, symbols)
    if plan.kinds and not equations.has_forces:
        raise EquationsError(
            f"The equations {name!r} of {mechanism.name!r} have no springs and no other forces in them, so numbers of "
            f"{', '.join(map(repr, plan.kinds))} cannot be symbols: leave them out of `symbols`."
        )
    forces = placed_symbols(plan, placing) if equations.has_forces else ()
    _require_compiled(mechanism, forces)
    derivation = Derivation(name, plan, takes, f_ext, forces)
    with quick_symbols():
        outputs = equations.derive(Request(derivation, evaluator, frame, method, at, forces, independent))
    return derivation.unrolled(outputs), derivation


def _forward_dynamics(request: Request) -> Outputs:
    d, method = request.derivation, request.method
    names = ("q", "v", "tau", "base_acceleration")
    if not _is_closed(request.derivation.plan):
        _require_method(request, ("auto", "articulated_body", "composite_body"))
        if method == "composite_body":
            H = with_rotors(d.plan, d.play(dynamics.composite_body, ("q",))["H"])
            bias = d.play(dynamics.newton_euler, ("q", "v", "base_acceleration"))["tau"]
            force = array([t - b for t, b in zip(d.joint_forces, bias, strict=True)])
            vdot = ldl_solve(H, force)
            d.note("solve", "joint space", vdot)
            return {"vdot": vdot}
        return {"vdot": d.play(dynamics.tree_dynamics(d.plan), names)["qdd"]}
    _require_method(request, ("auto", "elimination", "joint_multipliers", "minimal"))
    require_formulas(request.plan)
    if method == "joint_multipliers":
        return with_multipliers(d, request.choice())
    if method == "minimal":
        return minimal(d, request.choice())
    return {"vdot": d.play(elimination_of(request.plan), names)["qdd"]}


def _inverse_dynamics(request: Request) -> Outputs:
    """H vdot + bias of a tree. With loops, the least forces of the actuated joints, for a choice of independent
    coordinates that is made once."""
    if _is_closed(request.derivation.plan):
        return _inverse_with_loops(request)
    names = ("q", "v", "vdot", "base_acceleration")
    return {
        "tau": request.derivation.besides_forces(request.derivation.play(dynamics.newton_euler, names)["tau"])
    }


def _inverse_with_loops(request: Request) -> Outputs:
    plan = request.plan
    require_formulas(plan)
    choice = request.choice()
    problem = motion_problem(request.evaluator, np.asarray(request.at, dtype=float))
    _, sigma, Vt = np.linalg.svd(problem.J[0])
    allowed = Vt[int(problem.rank[0]) :]
    reach = np.linalg.matrix_rank(allowed[:, plan.actuated] * levers(plan)[plan.actuated], tol=1e-9)
    if reach < len(allowed):
        idle = list(plan.idle)
        raise EquationsError(
            f"inverse_dynamics of {plan.name!r}: at the configuration `at` the actuators move the mechanism in {reach} "
            f"of its {len(allowed)} degrees of freedom, so they do not produce every motion. The joints {idle} have no "
            f"actuator; let more joints be actuated, or take 'minimal_coordinates'."
        )
    return least_forces(request.derivation, choice, plan.actuated, levers(plan))


def _bias_force(request: Request) -> Outputs:
    d = request.derivation
    return {"tau": d.besides_forces(d.play(dynamics.newton_euler, ("q", "v", "base_acceleration"))["tau"])}


def _mass_matrix(request: Request) -> Outputs:
    d, method = request.derivation, request.method
    _require_method(request, ("auto", "composite_body", *INERTIA_METHODS))
    if method in INERTIA_METHODS:
        found = d.play(joint_motions, ("q",))
        H = INERTIA_METHODS[method](Joints(d.plan, found))
        d.note(method, "joint space", H.ravel())
        return {"H": with_rotors(d.plan, H)}
    return {"H": with_rotors(d.plan, d.play(dynamics.composite_body, ("q",))["H"])}


def _joint_coordinates(request: Request) -> Outputs:
    require_formulas(request.plan)
    form = joint_form(request.derivation)
    return {"H": form.H, "force": form.force, "J": form.rows.J, "gamma": form.rows.gamma}


def _minimal_coordinates(request: Request) -> Outputs:
    _require_loops(request)
    form = minimal_form(request.derivation, request.choice())
    return {"mass_matrix": form.mass_matrix, "force": form.force, "E": form.E, "drift": form.drift}


def _closure(request: Request) -> Outputs:
    _require_loops(request)
    plan = request.plan
    found = request.derivation.play(closure_algorithm(shape_for(plan)), ("q", "v"))
    parts = [
        np.concatenate([found[name][k, : loop.constraints] for k, loop in enumerate(plan.constraints)])
        for name in ("position", "velocity")
    ]
    return {"position": parts[0], "velocity": parts[1]}


def _closure_jacobian(request: Request) -> Outputs:
    _require_loops(request)
    return {"J": loop_rows(request.derivation, moving=False).J}


def _pose(request: Request) -> Outputs:
    X = request.derivation.play(kinematics.frame_pose, ("q",), request.frame)["pose_of_frame"]
    rows = [
        [X[0], X[3], X[6], X[9]],
        [X[1], X[4], X[7], X[10]],
        [X[2], X[5], X[8], X[11]],
        [0.0, 0.0, 0.0, 1.0],
    ]
    return {"pose": array(rows)}


def _twist(request: Request) -> Outputs:
    return {"twist": request.derivation.play(kinematics.frame_twist, ("q", "v"), request.frame)["twist"]}


def _jacobian(request: Request) -> Outputs:
    return {"J": request.derivation.play(kinematics.jacobian, ("q",), request.frame)["J"]}


def _kinematics(request: Request) -> Outputs:
    """Pose, twist and Jacobian of a frame together, so that they share what they have in common."""
    return {**_pose(request), **_twist(request), **_jacobian(request)}


def _kinetic_energy(request: Request) -> Outputs:
    """Return the energy of bodies and of rotors, of loop joints too."""
    d = request.derivation
    T = d.play(dynamics.kinetic_energy, ("q", "v"))["T"][0]
    if any(coupling.is_rotor for coupling in d.plan.couplings):
        require_formulas(request.plan)
        for rotor in loop_rows(d).rotors:
            rate = sum(r * x for r, x in zip(rotor.row, d.arguments["v"], strict=True))
            T = T + 0.5 * rotor.inertia * rate * rate
    return {"T": array([T]).reshape(())}


def _potential_energy(request: Request) -> Outputs:
    """Return the energy of gravity, of strain in flexible bodies, and what forces of the mechanism store."""
    d = request.derivation
    energy = d.play(dynamics.potential_energy, ("q",))["V"][0]
    if d.plan.owner is not None:
        energy = energy + dynamics.strain_energy(d.plan, d.arguments["q"])
    if request.forces:
        energy = energy + sum(d.play(force_report, ("q",), forces=request.forces)["energy"].ravel())
    return {"V": array([energy]).reshape(())}


def _force_outputs(request: Request) -> Outputs:
    """Return what the kinds of forces record, the energies that they store and their powers, force after force."""
    if not request.forces:
        return {name: np.zeros(0) for name in ("outputs", "energy", "power")}
    found = request.derivation.play(force_report, ("q", "v"), forces=request.forces)
    return {name: found[name].ravel() for name in ("outputs", "energy", "power")}


def _momentum(request: Request) -> Outputs:
    return {"h": request.derivation.play(dynamics.momentum, ("q", "v"))["h"]}


EQUATIONS: dict[str, Named] = {
    "forward_dynamics": Named(
        ("q", "v", "tau"), _forward_dynamics, "accelerations vdot (nv,), loops respected",
        methods=("articulated_body", "composite_body", "elimination", "joint_multipliers", "minimal"),
        has_forces=True,
    ),
    "inverse_dynamics": Named(
        ("q", "v", "vdot"), _inverse_dynamics,
        "joint forces tau (nv,) that produce vdot, with loops the least ones of the actuated joints",
        has_forces=True,
    ),
    "mass_matrix": Named(
        ("q",), _mass_matrix, "joint-space inertia H (nv, nv) of the tree",
        methods=("composite_body", *INERTIA_METHODS),
    ),
    "bias_force": Named(
        ("q", "v"), _bias_force, "joint forces (nv,) at which nothing accelerates", has_forces=True
    ),
    "joint_coordinates": Named(
        ("q", "v", "tau"), _joint_coordinates,
        "H, force, J and gamma of H vdot = force + J^T lambda, J vdot + gamma = 0", has_forces=True,
    ),
    "minimal_coordinates": Named(
        ("q", "v", "tau"), _minimal_coordinates,
        "mass_matrix, force, E and drift of mass_matrix vdot_i = force, vdot = E vdot_i + drift", has_forces=True,
    ),
    "closure": Named(("q", "v"), _closure, "position and velocity errors (constraints,) of the loops"),
    "closure_jacobian": Named(("q",), _closure_jacobian, "Jacobian (constraints, nv) of the loops"),
    "pose": Named(("q",), _pose, "pose of a frame in ground as a homogeneous matrix (4, 4)", True),
    "twist": Named(("q", "v"), _twist, "twist (6,) of a frame in its own axes", True),
    "jacobian": Named(("q",), _jacobian, "Jacobian (6, nv) of a frame in its own axes", True),
    "kinematics": Named(("q", "v"), _kinematics, "pose (4, 4), twist (6,) and Jacobian (6, nv) of a frame", True),
    "kinetic_energy": Named(("q", "v"), _kinetic_energy, "kinetic energy of bodies and rotors"),
    "potential_energy": Named(
        ("q",), _potential_energy, "potential energy of gravity, of strain and of springs", has_forces=True
    ),
    "momentum": Named(("q", "v"), _momentum, "total momentum (6,) about the ground's origin"),
    "force_outputs": Named(
        ("q", "v"), _force_outputs,
        "outputs, energy and power of the forces of the mechanism, one behind the other", has_forces=True,
    ),
}  # fmt: skip


def _is_closed(plan: Plan) -> bool:
    return bool(plan.couplings) or any(loop.constraints or loop.rubs for loop in plan.loop_joints)


def _require_method(request: Request, methods: tuple[str, ...]) -> None:
    if request.method in methods:
        return
    name, plan = request.derivation.name, request.plan
    if request.method in ("kkt", "absolute", "reference_member"):
        raise EquationsError(
            f"{name} of {plan.name!r} by {request.method!r} decides about the rank of the constraints in every state, "
            f"so it is no single expression: choose {', '.join(methods)}."
        )
    raise EquationsError(
        f"{name} of {plan.name!r} has no method {request.method!r}: choose {', '.join(methods)}."
    )


def _require_compiled(mechanism: Mechanism, forces: tuple[PlacedForce, ...]) -> None:
    """Raise for forces at joints whose coordinates only an iteration finds."""
    iterating = [force.name for force in forces if not force.is_compiled]
    if iterating:
        raise EquationsError(
            f"{mechanism.name!r}: the forces {iterating} act at joints that close loops and find coordinates by an "
            f"iteration, so there is no single expression: keep these joints in the tree, m.system(keep=[...]), or "
            f"leave forces out, elements=False."
        )


def _require_loops(request: Request) -> None:
    if not request.plan.total_constraints:
        raise LoopError(
            f"{request.plan.name!r} has no loops and no couplings, so it has no {request.derivation.name}."
        )
    require_formulas(request.plan)
