"""Forces in a user's own file: traced, compiled, cached, and used at trees and loops like the shipped ones."""

import importlib.util
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import catena as ct
from catena.forces import check_force_kind
from catena.kernels import compilations
from catena.mechanism.generators import four_bar

FORCES = '''
"""A spring that hardens with the cube of its stretch, and a torsion bar with a dead band and a motor."""

from dataclasses import dataclass

import catena as ct
from catena.forces.line import LineOfAction
from catena.spatial.scalars import array, less, where


@dataclass(frozen=True)
class Hardening(ct.FrameForce):
    cubic: float
    damping: float = 0.0
    stores = True

    def load(self, at):
        line = LineOfAction.between(at)
        return line.pull(self.cubic * line.length**3 + self.damping * line.rate)

    def energy(self, at):
        return 0.25 * self.cubic * LineOfAction.between(at).length ** 4

    def outputs(self, at):
        return {"length": LineOfAction.between(at).length}


@dataclass(frozen=True)
class DeadBand(ct.JointForce):
    stiffness: float
    gap: float
    inputs = 1
    source = "wrenches"

    def load(self, at):
        x = at.q[0]
        beyond = where(less(self.gap, x), x - self.gap, where(less(x, -self.gap), x + self.gap, 0.0))
        return array([at.inputs[0] - self.stiffness * beyond])
'''


@pytest.fixture(scope="module")
def user(tmp_path_factory):
    """The user's module, imported from the user's file."""
    file = tmp_path_factory.mktemp("user") / "users_forces.py"
    file.write_text(FORCES)
    spec = importlib.util.spec_from_file_location("users_forces", file)
    module = importlib.util.module_from_spec(spec)
    sys.modules["users_forces"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["users_forces"]


def test_it_keeps_the_contract(user):
    check_force_kind(user.Hardening(3.0, 0.2))
    check_force_kind(user.DeadBand(3.0, 0.1), joint=ct.Revolute("y"))


def swing(user, cubic, damping=0.0):
    m = ct.Mechanism("swing", gravity=(0, 0, -9.81))
    m.add_body("bob", 2.0, inertia=0.1)
    m.add_joint("free", "ground", "bob", ct.Free())
    m.add_force("spring", user.Hardening(cubic, damping), between=("ground", "bob"))
    return m.system()


def test_it_moves_a_body_as_its_formula_says(user):
    s = swing(user, 30.0)
    q = s.neutral()
    q[:3] = 0.3, 0.0, -0.4
    e = s.forces.loads(q, np.zeros(6))
    np.testing.assert_allclose(
        e.f_ext["bob"], [0, 0, 0, -30.0 * 0.25 * 0.3, 0, 30.0 * 0.25 * 0.4], rtol=1e-12
    )
    run = ct.simulate(s, q, np.zeros(6), 1.0, rtol=1e-9, atol=1e-11)
    energy = run.kinetic_energy + run.potential_energy
    np.testing.assert_allclose(energy, energy[0], atol=1e-7)
    np.testing.assert_allclose(
        s.forces.outputs(run.q, run.v)["spring"]["length"], np.linalg.norm(run.q[:, :3], axis=1), rtol=1e-12
    )


def test_other_parameters_compile_nothing(user):
    q, v = np.tile(swing(user, 1.0).neutral(), (3, 1)), np.ones((3, 6))
    swing(user, 1.0, 0.1).forces.loads(q, v)
    before = compilations()
    swing(user, 7.0, 0.3).forces.loads(q, v)
    assert compilations() == before


def test_a_joint_force_acts_at_tree_and_loop_joints_alike(user, agree):
    """Its input is zero where nothing tells it."""
    m = four_bar()
    names = list(m.joints)
    for k, name in enumerate(names):
        m.add_force(f"band{k}", user.DeadBand(2.0 + k, 0.05), joint=name)
    seen = []
    for cut in names[1:3]:
        s = m.system(cut=[cut])
        q = s.assemble({names[0]: 0.5})
        e = s.forces.loads(q, np.zeros(s.nv))
        seen.append(s.forward_dynamics(q, np.zeros(s.nv), e.tau, f_ext=e.f_ext)[s.slice_v(names[0])])
    agree(seen[1], seen[0], 1e-9)


PROGRAM = """
import json, sys
sys.path.insert(0, {folder!r})
import numpy as np
import catena as ct
import users_forces
m = ct.Mechanism("swing")
m.add_body("bob", 2.0, inertia=0.1)
m.add_joint("free", "ground", "bob", ct.Free())
m.add_force("spring", users_forces.Hardening(3.0), between=("ground", "bob"))
s = m.system()
s.forces.loads(s.neutral(), np.zeros(6))
print(json.dumps(ct.compilations()))
"""


def test_its_code_is_kept_on_disk_until_its_file_changes(user, tmp_path):
    file = tmp_path / "users_forces.py"
    file.write_text(FORCES)
    environment = os.environ | {"CATENA_CACHE": str(tmp_path / "cache")}

    def compiled():
        program = PROGRAM.format(folder=str(tmp_path))
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    assert compiled() > 1
    assert compiled() == 0
    file.write_text(FORCES.replace("0.25 * self.cubic", "0.5 * self.cubic / 2.0"))
    assert compiled() == 1
