"""Quantities that the literature computes with, asked of a system by name: the equation of motion of a frame and the
parts of that of joints, H vdot + C + G = tau; the velocity transformations of the joint-coordinate method; what a joint
passes on, split in what drives it and what it resists (van der Merwe, eq. 2.16: f = psi tau + psi_c tau_c); and what
Lilly and Orin compute of chains that hold a reference member.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from catena import kinematics
from catena.dynamics.loops.formulations.reference_member import member_node
from catena.dynamics.loops.formulations.simple_chains import ChainQuantities, opened, solve
from catena.dynamics.loops.independent import independent_components
from catena.errors import LoopError, StateError
from catena.kinematics import stacks
from catena.kinematics.kind_values import KindValues, kind_values
from catena.kinematics.stacks import apply, transposed
from catena.mechanism import GROUND
from catena.mechanism.validation import known
from catena.questions.joint_bases import JointBases, bases_of
from catena.questions.operational_dynamics import OperationalDynamics, frame_equation
from catena.questions.velocity_transformation import (
    VelocityTransformation,
    velocity_transformation as of_problem,
)
from catena.structure import Connectivity, PlanComparison
from catena.structure.comparison import compare_plans as compared
from catena.structure.connectivity import connectivity as links
from catena.system.dynamics_calls import posed
from catena.system.frame_axes import in_axes, require_axes
from catena.system.of_system import of_system
from catena.system.system import System
from catena.validation import shown


@dataclass(frozen=True, eq=False)
class BiasParts:
    """The joint forces (..., nv) that hold a tree against what velocities do, `C`, and against gravity, `G`."""

    C: np.ndarray
    G: np.ndarray


def operational_dynamics(system: System, q: ArrayLike, v: ArrayLike, frame: str) -> OperationalDynamics:
    """Return the equation of motion of a frame at q (..., nq), v (..., nv), loops respected; springs, friction and
    other forces of the mechanism are left out. A frame that cannot be accelerated in some direction has no Lambda, and
    a SingularDynamicsError says so: `s.operational_space` has its inverse everywhere."""
    bare, rest = system.variants.bare, np.zeros_like(np.asarray(v, dtype=np.float64))
    return frame_equation(
        frame, bare.operational_space(q, frame)[0], bare.jacobian(q, frame), bare.bias_acceleration(q, v, frame),
        bare.forward_dynamics(q, v), bare.forward_dynamics(q, rest),
    )  # fmt: skip


def jacobian_rate(system: System, q: ArrayLike, v: ArrayLike, frame: str, axes: str = "frame") -> np.ndarray:
    """Return J', shape (..., 6, nv): how fast the Jacobian of a frame, `s.jacobian(q, frame, axes)`, changes at q (...,
    nq) while the velocity is v (..., nv). In the frame's own axes J' v is `s.bias_acceleration(q, v, frame)`."""
    name = system._frame(frame)
    rate = system._run(kinematics.jacobian_rate, name, q=q, qd=v)["J_rate"]
    if require_axes(axes) == "frame":
        return rate
    # Axes that do not turn with the frame see what is fixed in it carried along, at the ground's origin moved too.
    twist = system.twist(q, v, name)
    if axes == "aligned":
        twist[..., 3:] = 0.0
    carried = stacks.cross(twist[..., None, :], stacks.transposed(system.jacobian(q, name)))
    return in_axes(rate + stacks.transposed(carried), system.pose(q, name).matrix(), axes)


def bias_parts(system: System, q: ArrayLike, v: ArrayLike) -> BiasParts:
    """Return C(q, v), Coriolis and centrifugal forces, and G(q), gravity, of H vdot + C + G = tau at q (..., nq), v
    (..., nv), without friction and other forces of the mechanism."""
    rates = np.asarray(v, dtype=np.float64)
    G = system.variants.bare.bias_force(q, np.zeros_like(rates))
    return BiasParts(system.variants.bare.bias_force(q, rates) - G, G)


def velocity_transformation(
    system: System, q: ArrayLike, v: ArrayLike | None = None, independent: str | Iterable[str] | None = None
) -> VelocityTransformation:
    """Return the matrices B, D, D*, C, E and what their rates do, of the joint-coordinate method at one closed state q
    (nq,), v (nv,), which is at rest if v is None.

    `independent` names the joints of the tree whose velocities are to be the independent ones ("crank", or "hip[1]" for
    one component); otherwise those are taken that determine all others best.
    """
    rates: Any = np.zeros(system.nv) if v is None else v
    if system.plan.owner is not None:
        raise StateError(
            f"velocity_transformation is for rigid bodies, and {system.mechanism.name!r} has flexible ones."
        )
    # Ground that falls as freely as everything else leaves the rates of the matrices alone.
    fall = np.concatenate([np.zeros(3), system.plan.gravity])
    problem = posed(system, q, rates, None, None, fall)
    if problem.batch:
        raise StateError(
            f"velocity_transformation looks at one state, but there are {problem.batch}: give q ({system.nq},)."
        )
    chosen = None if independent is None else independent_components(system.plan, independent)
    return of_problem(problem, chosen)


@dataclass(frozen=True, eq=False)
class JointWrench:
    """The wrench [moment; force] that a joint passes to its child: as `s.reactions` has it, at the child-side joint
    frame in its axes (`far`), and the same at the parent-side frame in the axes of that (`near`), each (..., 6); its
    parts `tau` (..., n), which work, and `tau_c` (..., 6 - n), which do not, in the dual `bases`."""

    far: np.ndarray
    near: np.ndarray
    tau: np.ndarray
    tau_c: np.ndarray
    bases: JointBases


def joint_bases(system: System, q: ArrayLike, joint: str) -> JointBases:
    """Return phi, phi_c and the dual bases psi, psi_c of any joint at q (..., nq), at its child-side frame in the axes
    of that."""
    return bases_of(_values(system, q, joint))


def joint_wrench(
    system: System, q: ArrayLike, v: ArrayLike, joint: str, tau: ArrayLike | Mapping[str, ArrayLike] | None = None,
    **options: Any,
) -> JointWrench:  # fmt: skip
    """Return what a joint passes to its child at q (..., nq), v (..., nv) under joint forces tau, split in what works
    and what does not; the other arguments are those of `System.reactions`."""
    values = _values(system, q, joint)
    far = system.reactions(q, v, tau, **options)[joint]
    bases = bases_of(values)
    return JointWrench(
        far, apply(transposed(values.X), far), apply(transposed(bases.phi), far), apply(transposed(bases.phi_c), far),
        bases,
    )  # fmt: skip


def _values(system: System, q: ArrayLike, joint: str) -> KindValues:
    """Return the kind of a joint, as it was described, at the configurations q (..., nq)."""
    joints = system.mechanism.joints
    kind = joints[known("joint", joint, joints, repr(system.mechanism.name))].kind
    # A weld has no coordinates, and none to ask for.
    nothing = np.zeros((*np.shape(q)[:-1], 0))
    at = nothing if kind.nq == 0 else system.joint_position(q, joint)
    return kind_values(kind, at, np.zeros(kind.nv))


def chain_quantities(
    system: System, q: ArrayLike, v: ArrayLike | None = None, tau: ArrayLike | None = None, member: str | None = None
) -> ChainQuantities:  # fmt: skip
    """Return Lambda^-1, S, M, P, R and f of all chains that hold a reference member, and its acceleration a_0, at
    closed states q (..., nq), v (..., nv) under joint forces tau (..., nv); at rest and without forces where these are
    None.

    `member` is the body that the chains hold, by default the one whose removal leaves the smallest chains. All joints
    that the plan cuts must be at the member; `m.system(cut=[...])` says which are. Directions in which a chain cannot
    move its tip are constraints of the member: they are in f, and not in M, P and R.
    """
    rates: Any = np.zeros(system.nv) if v is None else v
    problem = posed(system, q, rates, system._with_own(q, rates, tau), None, None)
    r = member_node(problem, member)
    at = None if problem.plan.owner is not None or problem.plan.couplings else opened(problem.evaluator, r)
    if at is None:
        raise LoopError(
            f"chain_quantities: {'/'.join(system.plan.bodies[r])!r} of {system.mechanism.name!r} is not held by simple "
            f"chains that are cut at it (the plan cuts {list(system.plan.loops)}): name another member, or plan with "
            f"cut=[...], the joints at the member but one."
        )
    _, certain, found = solve(problem, at)
    if not certain.all():
        raise LoopError(
            f"chain_quantities: in state {int(np.argmin(certain))} the chains of {system.mechanism.name!r} do not tell "
            f"how its member moves: the member or a link has no inertia of a body in space, or the loops are open. "
            f"Give bodies mass and inertia about all axes, or ask forward_dynamics, which needs neither."
        )
    return found.shaped(problem.batch)


@of_system
def connectivity(system: System, base: str = GROUND) -> Connectivity:
    """Return the links of a system's plan with parent, end-effector, connect and cflag, as Lampariello et al. print
    them; `base` is the body of link 0. Print it for the table."""
    return links(system.plan, base)


def compare_plans(before: System, after: System) -> PlanComparison:
    """Return what became of each joint and its coordinates from one system to another that was planned after an edit;
    print it to read."""
    for who, system in (("before", before), ("after", after)):
        if not isinstance(system, System):
            raise StateError(f"{who} is {shown(system)}; give a system, such as m.system().")
    return compared((before.mechanism, before.plan), (after.mechanism, after.plan))
