"""Bodies of very different mass in one mechanism: no digits are lost that the mechanism does not cost by itself."""

import numpy as np
import pytest

import catena as ct
from catena.dynamics.loops.formulations.certified_elimination import elimination_of, is_trusted
from tests.fuzz.builder import built
from tests.fuzz.test_mechanisms import Subject


@pytest.mark.parametrize(("light", "heavy"), [(1.0, 1.0), (1e-3, 1e3), (1e-6, 1e5)])
@pytest.mark.parametrize("closed", [False, True])
def test_a_gram_that_carries_a_tonne(light, heavy, closed):
    """A rod turns about its own axis under a load that a ball joint on the axis leaves where it is: its acceleration is
    the moment by its inertia. In H the rod's inertia disappears beside that of the load. A second ball joint in the
    same place changes nothing."""
    m = ct.Mechanism("carried", gravity=(0.0, 0.0, 0.0))
    m.add_body("rod", light, (0.0, 0.0, 0.5), light * np.array([0.08, 0.08, 1e-4]))
    m.add_body("load", heavy, (0.1, 0.2, 0.3), heavy * np.array([0.1, 0.12, 0.15]))
    m.add_joint("axis", "ground", "rod", ct.Revolute("z"), ct.Pose(rpy=(0.3, 0.5, 0.2)))
    for name in ("ball", "second")[: 1 + closed]:
        m.add_joint(name, "rod", "load", ct.Spherical(), ct.Pose(p=(0, 0, 1)), ct.Pose(p=(0.1, 0.2, 0.3)))
    s = m.system()
    q = s.integrate(s.neutral(), np.array([0.3, 0.5, -0.4, 0.2]))
    tau = np.zeros(s.nv)
    tau[s.slice_v("axis")] = light * 1e-4 * 3.0
    for method in ("auto", "kkt", "absolute"):
        found = s.forward_dynamics(q, np.zeros(s.nv), tau, method=method)[s.slice_v("axis")]
        np.testing.assert_allclose(found, 3.0, rtol=1e-11, err_msg=method)


def test_light_bodies_between_heavy_ones_are_solved_in_lanes():
    """A platform of 50 kg on legs whose parts weigh from 0.5 kg to 370 t: multipliers are regularised by what their own
    bodies yield, not by what the heavy ones do."""
    case = Subject(built(566))
    s, q = case.system, case.q
    masses = [body.mass for body in s.mechanism.bodies.values() if body.mass]
    assert max(masses) > 1e5 * min(masses)
    v = np.zeros((20, s.nv))
    tau = np.random.default_rng(0).normal(size=v.shape) * np.diag(s.mass_matrix(q))
    found = s.mechanics.evaluator.evaluate(
        elimination_of(s.plan), {"q": np.tile(q, (20, 1)), "qd": v, "tau": tau}, finite=False
    )
    assert is_trusted(*(found[name][:, 0] for name in ("defect", "change", "before", "size"))).all()
    expected = s.forward_dynamics(q, v, tau, method="kkt", elements=False)
    np.testing.assert_allclose(found["qdd"], expected, atol=1e-9 * np.abs(expected).max())
