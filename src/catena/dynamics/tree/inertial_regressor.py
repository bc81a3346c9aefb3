"""The inertial regressor: inverse dynamics is linear in the ten inertial numbers of every body, tau = Y pi + friction.

Column k of body i is what inverse dynamics takes for a unit of that number alone: the force I a + v x I v with the unit
inertia I, as the joints on the way to the ground feel it. Cost O(N d), d the depth of the tree. In ground axes
about the first body of the tree, as in `inverse_derivatives`.
"""

from typing import Any

import numpy as np

from catena.kernels import POSITION, VELOCITY, Algorithm, OnMatrices, Scalars, base_to_tip, on_call
from catena.spatial import Force, Motion, RigidInertia, Transform, cross
from catena.spatial.scalars import array

NUMBERS = RigidInertia.size


def ground(ground: Any) -> None:
    """The ground accelerates against gravity."""
    ground.v = Motion.zero()
    ground.a = ground.a_base + Motion(array([0.0, 0.0, 0.0, *(-ground.gravity)]))
    ground.stance = Transform.identity()
    ground.is_body = 0.0


@base_to_tip
def unit_forces(body: Any, parent: Any) -> None:
    """The motion of a body in its own axes, and the forces of its ten unit inertias in ground axes."""
    X = body.joint.transform(body.q) * body.placement
    stance = X * parent.stance
    stance = Transform(stance.R, array([x * parent.is_body for x in stance.p]))
    S = body.joint.motion_space(body.q)
    v_joint = S * body.qd
    v = X * parent.v + v_joint
    a = X * parent.a + S * body.qdd + cross(v, v_joint) + body.joint.bias(body.q, body.qd)
    units = [RigidInertia.from_entries(list(row)) for row in np.eye(NUMBERS)]
    forces = [stance.pull(unit * a + cross(v, unit * v)) for unit in units]
    body.unit_forces = array([x for f in forces for x in f.entries()]).reshape(1, 6 * NUMBERS)
    motions = stance.pull_motion(S).entries()
    body.motions = array(motions).reshape(S.n, 6) if S.n else np.zeros((0, 6))
    body.is_body, body.stance, body.v, body.a = 1.0, stance, v, a


@on_call
def feel(motion: Any, units: Any, row: Any) -> None:
    """What a component feels of the ten forces of a body."""
    forces = [Force(units.forces[6 * k : 6 * k + 6]) for k in range(NUMBERS)]
    row.numbers = array([motion.S.dot(f) for f in forces])


def _project(work: Any) -> None:
    plan, n = work.plan, len(work.components)
    width = NUMBERS * plan.n
    area = work.reserve(n * width)
    places = []
    for node in range(1, plan.n):
        units = work.component("unit_forces", node, 0)
        for i in work.reach(node):
            row = area + (i * width + NUMBERS * node) * work.slot
            work.step(feel, work.component("motions", *work.components[i]), units, row)
            first = work.coordinate[i] * width + NUMBERS * node
            places += [(first + k, row + k * work.slot) for k in range(NUMBERS)]
    work.output("Y", (n, width), sorted(places))


inertial_regressor = Algorithm(
    "inertial_regressor", ground, (unit_forces, feel, OnMatrices(_project)),
    inputs={"q": POSITION, "qd": VELOCITY, "qdd": VELOCITY}, ground_inputs={"a_base": Motion},
    optional=frozenset({"qdd", "a_base"}),
    views={"motion": {"S": Motion}, "units": {"forces": Scalars(6 * NUMBERS)}, "row": {"numbers": Scalars(NUMBERS)}},
    component_fields={"unit_forces": "units", "motions": "motion"}, matrix_outputs=("Y",),
)  # fmt: skip
