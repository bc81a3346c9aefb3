"""Robots of others, from files in packages of PyPI: the dynamics is that of Pinocchio and MuJoCo, and loops close.

The packages are large and are not installed with the tests. Each test that lacks one is skipped by its name:

    pip install --no-deps example-robot-data mujoco-warp dm_robotics-moma genesis-world gymnasium-robotics
"""

from __future__ import annotations

import re
import warnings
from functools import cache
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin
import pytest

import catena as ct
from catena.formats.mjcf.equalities import CONNECT, WELD
from catena.formats.source import Source
from catena.formats.toml import read, write

pytestmark = pytest.mark.slow
ROUNDING = 2.0**-52


@cache
def found(package: str, pattern: str) -> dict[str, Path]:
    """The files of an installed package whose path matches, by path."""
    try:
        listed = files(package) or []
    except PackageNotFoundError:
        return {}
    return {
        str(one).rpartition("robots/")[2]: Path(str(one.locate()))
        for one in listed
        if re.search(pattern, str(one))
    }


def loaded(file: Path, **options) -> ct.Mechanism:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.CatenaWarning)
        return ct.load(file, **options)


def without_friction(m: ct.Mechanism) -> ct.Mechanism:
    """The mechanism after a way through a native file, without the damping and friction that Pinocchio has not."""
    return read(re.sub(r"(?m)^(damping|friction) = .*\n", "", write(m, "")), Source("m.toml"))


def close(own, theirs, size, condition=1.0):
    """Whether two results differ by no more than rounding in numbers of a size, times a condition number."""
    assert np.abs(own - theirs).max(initial=0.0) <= 400 * ROUNDING * condition * max(size, 1e-300)


URDF = found("example-robot-data", r"\.urdf$")
REFUSED = {
    "ur_description/urdf/ur3.urdf": "there is no <link> in it",
    "romeo_description/urdf/romeo_laas_small.urdf": "leads out of the folder of the model",
}
MASSLESS = "romeo_description/urdf/romeo.urdf"
"""Whose thumbs end without mass, so that no accelerations are determined."""


@pytest.mark.skipif(not URDF, reason="example-robot-data is not installed")
def test_there_are_as_many_files_as_there_were():
    assert len(URDF) == 69


@pytest.mark.parametrize("name", URDF or [pytest.param("none", marks=pytest.mark.skip("example-robot-data"))])
def test_a_urdf_robot_has_the_dynamics_that_pinocchio_gives_it(name):
    if name in REFUSED:
        with pytest.raises(ct.FormatError, match=REFUSED[name]):
            loaded(URDF[name])
        return
    m = without_friction(loaded(URDF[name]))
    s = m.system()
    model = pin.buildModelFromUrdf(str(URDF[name]))
    data = model.createData()
    assert sorted(s.joints) == sorted(list(model.names)[1:]) and s.nv == model.nv
    if s.nv == 0:
        return
    pin.seed(1)
    random = np.random.default_rng(0)
    q = pin.randomConfiguration(model, np.full(model.nq, -2.0), np.full(model.nq, 2.0))
    v, tau = random.normal(size=(2, model.nv))
    own_q, own_v = ct.from_pinocchio_q(s, q, model), ct.from_pinocchio_v(s, q, v, model)
    order = ct.from_pinocchio_v(s, q, np.arange(float(model.nv)), model).astype(int)
    mass = np.triu(pin.crba(model, data, q))
    mass = (mass + np.triu(mass, 1).T)[np.ix_(order, order)]
    close(s.mass_matrix(own_q), mass, np.abs(mass).max())
    bias = pin.nle(model, data, q, v)[order]
    weight = np.abs(mass).max() * (1.0 + np.abs(v).max() ** 2) + np.abs(bias).max()
    close(s.bias_force(own_q, own_v), bias, weight)
    if name == MASSLESS:
        with pytest.raises(ct.SingularDynamicsError, match="Thumb"):
            s.forward_dynamics(own_q, own_v, tau[order])
        return
    theirs = pin.aba(model, data, q, v, tau)[order]
    condition = float(np.linalg.cond(mass))
    close(s.forward_dynamics(own_q, own_v, tau[order]), theirs, np.abs(theirs).max(), condition)


SDF = found("example-robot-data", r"cassie.*\.sdf$")


@pytest.mark.parametrize("name", SDF or [pytest.param("none", marks=pytest.mark.skip("example-robot-data"))])
def test_cassie_is_closed_and_moves(name):
    m = loaded(SDF[name])
    s = m.system()
    assert len(SDF) == 5 and len(s.loops) >= 4
    assert np.abs(s.closure(s.neutral())[0]).max() < 1e-14
    q = s.assemble(m.initial.q)
    assert np.abs(s.closure(q)[0]).max() < 1e-12
    bent = s.assemble({**m.initial.q, "left-knee-op": s.joint_position(q, "left-knee-op") - 0.1}, guess=q)
    assert np.abs(s.closure(bent)[0]).max() < 1e-9
    vdot = s.forward_dynamics(q, np.zeros(s.nv), np.zeros(s.nv))
    assert np.isfinite(vdot).all() and np.abs(vdot).max() > 0.1


MJCF = {
    **found("mujoco-warp", r"test_data/(constraints|pendula|jdotv/\w+|humanoid/humanoid|tendon/fixed)\.xml$"),
    **found("dm_robotics-moma", r"robotiq_beta_robots/mujoco/robotiq_2f85(_v2)?\.xml$"),
    **found("genesis-world", r"xml/(four_bar\w+|franka_emika_panda/panda)\.xml$"),
    **found("gymnasium-robotics", r"assets/fetch/(reach|push)\.xml$"),
}


@pytest.mark.parametrize(
    "name", MJCF or [pytest.param("none", marks=pytest.mark.skip("no package with MJCF"))]
)
def test_an_mjcf_model_has_the_dynamics_of_mujoco_and_its_loops_close(name):
    file = MJCF[name]
    # Meshes may lie in the folder beside.
    m = loaded(file, search=[file.parents[2]])
    model = mujoco.MjModel.from_xml_path(str(file))
    tree = without_friction(m)
    held = [
        joint
        for k in range(model.neq)
        for joint in (str(model.equality(k).name) or f"equality {k}",)
        if model.eq_type[k] in (CONNECT, WELD) and model.eq_active0[k] and joint in tree.joints
    ]
    for joint in held:
        tree = tree.detach(joint)
    s = tree.system()
    data = mujoco.MjData(model)
    random = np.random.default_rng(1)
    mujoco.mj_integratePos(model, data.qpos, random.normal(size=model.nv), 0.3)
    data.qvel[:] = random.normal(size=model.nv)
    mujoco.mj_forward(model, data)
    q, v = ct.from_mujoco_qpos(s, data.qpos, model), ct.from_mujoco_qvel(s, data.qpos, data.qvel, model)
    # v_mujoco = T v, so the mass matrix is T^T M T; rotors are not part of Catena's.
    T = np.array([ct.to_mujoco_qvel(s, q, e, model) for e in np.eye(s.nv)]).T
    mass = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, mass)
    rotors = np.array(model.dof_armature).reshape(model.nv, -1)[:, 0]
    mass = T.T @ (mass - np.diag(rotors)) @ T
    # MuJoCo keeps masses and inertias with the digits of its compiler, so a few more are lost.
    close(s.mass_matrix(q), mass, np.abs(mass).max(), 10.0)
    assert s.kinetic_energy(q, v) == pytest.approx(0.5 * v @ mass @ v, rel=1e-11)
    if held:
        closed = m.system()
        at = closed.assemble(m.initial.q)
        assert np.abs(closed.closure(at)[0]).max(initial=0.0) < 1e-9
