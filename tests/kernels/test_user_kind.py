"""A joint kind in a user's own file: traced, compiled, cached and flipped like the shipped ones."""

import importlib.util
import sys

import numpy as np
import pytest

import catena as ct
from benchmarks.states import random_states
from catena.joints import check_joint_kind
from catena.mechanism.generators import random_mechanism

# Only what the contract asks for; everything else is derived.
ROLLER = '''
"""A disc that rolls along x of its parent, turning about y, with a wavy track."""

from dataclasses import dataclass

import catena as ct
from catena.spatial import Transform
from catena.spatial.scalars import array, cos, sin


@dataclass(frozen=True)
class Roller(ct.JointKind):
    radius: float = 0.3
    nq = 1
    nv = 1

    def transform(self, q):
        a = q[0]
        along = Transform.translation(array([self.radius * a, 0.0, 0.05 * (1.0 - cos(3.0 * a))]))
        return Transform.rotation_y(a) * along

    def params(self):
        return (self.radius,)

    def with_params(self, params):
        return Roller(params[0])


@dataclass(frozen=True)
class Pivot(ct.JointKind):
    """A hinge whose position is a point (c, s) of the unit circle."""

    nq = 2
    nv = 1

    def transform(self, q):
        c, s = q
        return Transform(array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]]), array([0.0, 0.0, 0.0]))

    def neutral(self):
        return array([1.0, 0.0])

    def rate(self, q, v):
        return array([-q[1] * v[0], q[0] * v[0]])

    def integrate(self, q, v):
        c, s = cos(v[0]), sin(v[0])
        return array([q[0] * c - q[1] * s, q[0] * s + q[1] * c])

    def difference(self, q0, q1):
        from catena.spatial.scalars import atan2
        return array([atan2(q0[0] * q1[1] - q0[1] * q1[0], q0[0] * q1[0] + q0[1] * q1[1])])

    def coordinates(self, X):
        from math import hypot
        n = hypot(X.R[0, 0], X.R[0, 1])
        return array([X.R[0, 0] / n, X.R[0, 1] / n])
'''


@pytest.fixture(scope="module")
def user(tmp_path_factory):
    """The user's module, imported from the user's file."""
    file = tmp_path_factory.mktemp("user") / "users_joints.py"
    file.write_text(ROLLER)
    spec = importlib.util.spec_from_file_location("users_joints", file)
    module = importlib.util.module_from_spec(spec)
    sys.modules["users_joints"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["users_joints"]


@pytest.fixture(params=["Roller", "Pivot"])
def kind(user, request):
    return getattr(user, request.param)()


def test_the_kinds_conform(kind):
    check_joint_kind(kind)


@pytest.mark.parametrize("seed", range(3))
def test_random_trees_with_users_kinds(user, agree, derivative, seed):
    kinds = [user.Roller(0.3), user.Roller(0.7), user.Pivot(), "Revolute", "Spherical"]
    system = random_mechanism(seed, 8, kinds, floating=bool(seed % 2)).system()
    q, v, tau, _ = random_states(system, 3, seed)
    a = system.forward_dynamics(q, v, tau)
    H, bias = system.mass_matrix(q), system.bias_force(q, v)
    scale = np.abs(H).max() * np.abs(a).max()
    agree(system.inverse_dynamics(q, v, a), tau, 1e-13, scale)
    agree(np.einsum("bij,bj->bi", H, a) + bias, tau, 1e-13, scale)
    agree(0.5 * np.einsum("bi,bij,bj->b", v, H, v), system.kinetic_energy(q, v), 1e-13)
    moved = derivative(lambda t: system.jacobian(system.integrate(q, v, t), "body8") @ v[..., None])[..., 0]
    agree(moved, system.bias_acceleration(q, v, "body8"), 1e-9)
    agree(system.difference(q, system.integrate(q, 0.1 * v)), 0.1 * v, 1e-13)
    with ct.plain_numbers():
        agree(system.forward_dynamics(q, v, tau), a, 1e-11)


def test_a_hinge_on_the_circle_moves_like_a_revolute_joint(user, agree):
    """Two coordinates for one degree of freedom, none of them a quaternion."""

    def pendulum(kind):
        mechanism = ct.Mechanism("pendulum", gravity=(0.0, -9.81, 0.0))
        mechanism.add_body("bob", mass=2.0, com=(0.5, 0.0, 0.0), inertia=0.1)
        mechanism.add_joint("hinge", "ground", "bob", kind)
        return mechanism.system()

    angle = np.array([0.3, -2.0, 1.0])
    ours, theirs = pendulum(user.Pivot()), pendulum(ct.Revolute("z"))
    q = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    v = np.array([[1.0], [0.5], [-2.0]])
    agree(ours.forward_dynamics(q, v), theirs.forward_dynamics(angle[:, None], v), 1e-14)
    agree(ours.forward_dynamics(q[0], v[0], v[0]), theirs.forward_dynamics(angle[:1], v[0], v[0]), 1e-14)


PROGRAM = """
import json, sys
sys.path.insert(0, {folder!r})
import catena as ct
from users_joints import Roller
m = ct.Mechanism("rolling")
m.add_body("disc", mass=1.0, inertia=0.1)
m.add_joint("track", "ground", "disc", Roller(0.25))
s = m.system()
a = s.forward_dynamics([0.2], [1.0])
print(json.dumps([ct.compilations(), "casadi" in sys.modules, a.tolist()]))
"""


def test_a_users_kind_is_compiled_once_and_again_when_its_file_changes(tmp_path, fresh_process):
    program = PROGRAM.format(folder=str(tmp_path))
    environment = {"CATENA_CACHE": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    (tmp_path / "users_joints.py").write_text(ROLLER)
    at_first, _, first = fresh_process(program, **environment)
    assert fresh_process(program, **environment) == [0, False, first]
    (tmp_path / "users_joints.py").write_text(ROLLER.replace("0.05", "0.08"))
    again, _, other = fresh_process(program, **environment)
    # The ground and the loops do not depend on the user's file.
    assert 0 < again < at_first
    assert other != first


SESSION = """
import importlib, json, sys
sys.path.insert(0, {folder!r})
import catena as ct
import users_joints

def rolling():
    m = ct.Mechanism("rolling")
    m.add_body("disc", mass=1.0, inertia=0.1)
    m.add_joint("track", "ground", "disc", users_joints.Roller(0.25))
    return m.system()

s = rolling()
first = s.potential_energy([0.2]).item()
with open({file!r}, "w") as file:
    file.write({text!r})
# The class is still the one that was written before.
kinetic = s.kinetic_energy([0.2], [1.0]).item()
importlib.reload(users_joints)
t = rolling()
print(json.dumps([first, kinetic, t.potential_energy([0.2]).item(), t.kinetic_energy([0.2], [1.0]).item()]))
"""


def test_a_file_that_changes_during_a_session_changes_what_is_loaded_from_it(tmp_path, fresh_process):
    """What is kept on disk belongs to the class as it was made, not to the file as it is later."""
    file, edited = tmp_path / "users_joints.py", ROLLER.replace("0.05", "0.08")
    environment = {"CATENA_CACHE": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    file.write_text(ROLLER)
    session = SESSION.format(folder=str(tmp_path), file=str(file), text=edited)
    V0, T0, V1, T1 = fresh_process(session, **environment)
    assert V0 != V1 and T0 != T1
    # Now the file is the edited one from the beginning, and was the other one in a third process.
    assert fresh_process(session, **environment) == [V1, T1, V1, T1]
    file.write_text(ROLLER)
    assert fresh_process(session, **environment) == [V0, T0, V1, T1]


PROMPT = """
import json
import numpy as np
import catena as ct
from catena.kernels import POSITION, VELOCITY, Algorithm, each_body
from catena.mechanism.generators import arm7
from catena.kernels.evaluation import Evaluator

def doubled(factor):
    def ground(ground):
        ground.nothing = 0.0
    @each_body
    def scale(body):
        body.result = factor * body.q
    return Algorithm("scaled", ground, (scale,), inputs={"q": POSITION}, outputs={"result": VELOCITY})

s = arm7().system()
runner = Evaluator(s.mechanism, s.plan)
print(json.dumps([runner.evaluate(doubled(k), {"q": np.ones(7)})["result"].tolist()[0] for k in (2.0, 3.0)]))
"""


def test_an_algorithm_without_a_file_may_be_written_anew_under_its_name(fresh_process):
    assert fresh_process(PROMPT) == [2.0, 3.0]
