"""Mechanisms in space from the tables of the studio, against the generators and what papers print."""

import numpy as np
import pytest

from catena.mechanism.generators.hslm import ACROSS, DROP, HAND, HOLDS, TURNS, hslm
from catena.studio import EditingSession
from catena.studio.session import BLANK


def test_the_hslm_from_its_sdof_tables_falls_as_printed(tmp_path):
    """Seed 003, chapter 8: three chains by gamma and phi, held to the member; it falls with 10.0286429 m/s^2."""
    session = EditingSession(BLANK.format(name="hslm"), "hslm.toml", tmp_path)

    def act(what, **arguments):
        session.act(what, arguments, session.revision)

    act("set value", path=["mechanism", "gravity"], value=[0, -10, 0], sort="acceleration")
    length, tilt = np.hypot(ACROSS, DROP), np.arctan2(DROP, ACROSS)
    for k, (hold, turn) in enumerate(zip(HOLDS, TURNS), 1):
        c, s = np.cos(turn), np.sin(turn)
        across = -HAND - ACROSS
        base = [hold[0] + c * across, hold[1] + DROP, hold[2] - s * across]
        rows = [[0.0, turn, -tilt, length, 0.0, 0.0], [0.0, 0.0, tilt, HAND, 0.0, 0.0]]
        fields = {
            "notation": "sdof", "prefix": f'"chain{k} "', "gammas": str([[float(x) for x in row] for row in rows]),
            "phis": '[["ry", "rz", "dx"], ["ry", "rz"]]', "base": f"{{ p = {[float(x) for x in base]} }}",
            "masses": "[2.0, 0.5]", "coms": "[[0.5, 0.0, 0.0], [0.05, 0.0, 0.0]]",
            "inertias": "[[0.05, 0.5, 0.5], [0.00006, 0.0006, 0.0006]]",
        }  # fmt: skip
        act("add part", sort="chain", fields=fields)
    assert session.state()["words"] == "It can move in 15 ways."
    act("add part", sort="body", fields={"name": "member", "mass": "5.0", "inertia": "0.01"})
    assert "Join member" in session.state()["words"]
    for k, (hold, turn) in enumerate(zip(HOLDS, TURNS), 1):
        fields = {
            "name": f"hold{k}", "kind": "fixed", "parent": f"chain{k} link2", "child": "member",
            "in_parent": f"{{ p = [{HAND}, 0.0, 0.0] }}",
            "in_child": f"{{ p = {list(hold)}, rpy = [0.0, {float(turn)!r}, 0.0] }}",
        }  # fmt: skip
        act("add part", sort="joint", fields=fields)
    state = session.state()
    assert "3 independent ways" in state["words"] and state["scene"]["live"]
    scenario = session.reading.scenario
    system, (q, v) = scenario.system, scenario.state
    np.testing.assert_allclose(system.closure(q)[0], 0.0, atol=1e-9)
    vdot = system.forward_dynamics(q, v, np.zeros(system.nv))
    np.testing.assert_allclose(system.jacobian(q, "member") @ vdot, [0, 0, 0, 0, -10.0286429, 0], atol=6e-8)
    other = hslm().system()
    expected = other.jacobian(other.neutral(), "member") @ other.forward_dynamics(
        other.neutral(), np.zeros(other.nv), np.zeros(other.nv)
    )
    assert (system.jacobian(q, "member") @ vdot)[4] == pytest.approx(expected[4], abs=1e-9)


def test_fields_are_changed_taken_away_and_refused(tmp_path):
    session = EditingSession(BLANK.format(name="arm"), "arm.toml", tmp_path)

    def act(what, **arguments):
        session.act(what, arguments, session.revision)
        return session.state()

    act(
        "add part",
        sort="body",
        fields={"name": "rod", "mass": "1 kg", "com": "[0.5, 0, 0]", "inertia": "0.1"},
    )
    state = act(
        "add part",
        sort="joint",
        fields={"name": "pin", "kind": "revolute", "axis": "y", "parent": "ground", "child": "rod"},
    )
    assert state["words"] == "It can move in one way."
    state = act("set field", sort="joint", number=0, key="damping", text="0.3")
    assert session.reading.scenario.mechanism.joints["pin"].damping == 0.3
    state = act("set field", sort="joint", number=0, key="damping", text="")
    assert "damping" not in session.text and state["parts"]["tables"]["joint"][0]["axis"] == "y"
    before = session.text
    for key, text in (("axis", "[1, 0"), ("kind", "revolutionary"), ("child", "nobody"), ("mass", "-1")):
        with pytest.raises(Exception, match=r"\w"):
            act("set field", sort="body" if key == "mass" else "joint", number=0, key=key, text=text)
        assert session.text == before
    act("remove part", sort="joint", number=0)
    assert "Join rod" in session.state()["words"]
