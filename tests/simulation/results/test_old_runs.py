"""Files of runs that earlier versions have written are read, and are the motions that this version computes."""

from pathlib import Path

import h5py
import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import four_bar

RUNS = Path(__file__).parents[2] / "data" / "runs"


def two_links():
    m = ct.Mechanism("two links")
    for name, at, place in (("A", "ground", 0.0), ("B", "link A", -0.8)):
        m.add_body(f"link {name}", 1.0, com=(0.0, 0.0, -0.4), inertia=0.05)
        m.add_joint(name, at, f"link {name}", ct.Revolute("y"), in_parent=ct.Pose(p=(0.0, 0.0, place)))
    return m.system()


def anew(name):
    """Return the motion in a file, computed now."""
    if "change" in name:
        lock = ct.at_time(0.02, then=lambda here: here.system.mechanism.lock("B", at=here.configuration))
        return ct.simulate(two_links(), [0.4, -0.2], [1.0, 0.0], 0.05, samples=4, events=[lock])
    s = four_bar().system()
    control = ct.sampled(lambda t, q, v: 0.3 + 0.0 * v, 50.0)
    return ct.simulate(s, None, s.velocity(s.neutral(), {"A": 2.0}), 0.05, samples=4, control=control)


@pytest.mark.parametrize("name", ["four_bar_2026_11_16.nc", "change_2026_11_17.nc"])
def test_runs_of_earlier_versions(name, tmp_path):
    run, now = ct.load_run(RUNS / name), anew(name)
    np.testing.assert_allclose(run.t, now.t, rtol=0, atol=1e-12)
    for joint in "AB":
        np.testing.assert_allclose(run[joint], now[joint], rtol=0, atol=1e-9)
        np.testing.assert_allclose(run.reaction(joint), now.reaction(joint), rtol=0, atol=1e-6)
    assert [x.told for x in run.transitions] == [x.told for x in now.transitions]
    assert run.audit().ok and str(run.audit())
    # Saved again by this version, it is the same run.
    run.save(tmp_path / "again.nc")
    again = ct.load_run(tmp_path / "again.nc")
    np.testing.assert_array_equal(again["A"], run["A"])
    np.testing.assert_array_equal(again.energy, run.energy)


def test_a_version_to_come_is_refused(tmp_path):
    file = tmp_path / "later.nc"
    file.write_bytes((RUNS / "four_bar_2026_11_16.nc").read_bytes())
    with h5py.File(file, "r+") as opened:
        opened.attrs["catena_run"] = 99
    with pytest.raises(
        ct.FormatError, match=r"later\.nc: the run is of version 99.*the Catena that wrote it"
    ):
        ct.load_run(file)
