"""`catena info` against what the description says."""

import pytest

from catena.mechanism import generators


def test_tables_name_every_body_and_joint_with_its_role(catena):
    answer = catena("info", "four_bar")
    assert (answer.code, answer.err) == (0, "")
    lines = answer.out.splitlines()
    assert lines[0] == "four-bar"
    assert lines[1].startswith("3 bodies of 4.5 kg, 4 joints, 1 loop, nq = 3, nv = 3, gravity (0, 0, -9.81)")
    cells = {line.split()[0]: line.split() for line in lines if len(line.split()) == 7}
    assert cells["A"] == ["A", "revolute", "-y", "ground", "crank", "1", "tree"]
    assert [cells[joint][-1] for joint in "ABCD"] == ["tree", "tree", "loop", "tree"]
    assert "mobility 1 = 3 coordinates of the tree - 2 independent constraints (of 5)." in answer.out
    assert "3 constraints are redundant" in answer.out


def test_json_holds_what_the_mechanism_is_known_to_have(catena):
    data = catena("info", "stewart", "--json").data
    assert (len(data["bodies"]), len(data["joints"])) == (13, 18)
    assert sum(joint["role"] == "loop" for joint in data["joints"]) == 5
    assert data["loops"]["mobility"] == 6
    assert data["loops"]["redundancy"] == 0
    assert data["mass"] == pytest.approx(sum(body["mass"] for body in data["bodies"]))
    assert {joint["kind"] for joint in data["joints"]} == {"universal x y", "prismatic z", "spherical"}


def test_positions_on_the_command_line_reach_the_diagnosis(catena):
    """The benchmark of n four-bars loses n constraints when it lies flat."""
    upright = catena("info", "n_four_bars(3)", "--json").data["loops"]
    flat = catena("info", "n_four_bars(3)", "--q", "pin0=90deg", "--json").data["loops"]
    assert (upright["rank"], upright["mobility"], upright["singular"]) == (6, 1, False)
    assert (flat["rank"], flat["mobility"], flat["singular"]) == (3, 4, True)


def test_velocities_are_those_of_the_closed_mechanism(catena):
    """In a parallelogram all rods turn alike."""
    state = catena("info", "n_four_bars(2)", "--q", "pin0=0.3", "--v", "pin0=2", "--json").data["state"]
    assert [state["v"][pin][0] for pin in ("pin0", "pin1", "pin2")] == pytest.approx(
        [2.0, 2.0, 2.0], abs=1e-9
    )
    assert state["q"]["pin1"][0] == pytest.approx(0.3, abs=1e-9)


def test_elements_and_limits_are_listed(catena, tmp_path):
    m = generators.four_bar().lock("B", at=0.1)
    m.add_body("weight", mass=2.0, inertia=0.1)
    from catena.forces import Table, TabledJointSpring
    from catena.joints import Fixed, Prismatic

    m.add_joint(
        "rail", "ground", "weight", Prismatic("x"), limits=(-1.0, float("inf")), friction=0.5, actuated=False
    )
    m.add_body("hook", mass=0.1)
    m.add_joint("screw", "weight", "hook", Fixed())
    m.add_actuator("motor", "A", limits=20.0)
    m.add_spring("coil", "rail", stiffness=5.0)
    m.add_spring_between("band", "crank", "rocker", 3.0)
    m.add_wrench("push", "weight", force=(1.0, 0.0, 0.0))
    m.add_bushing("mount", "ground", "weight", (1, 2, 3, 4, 5, 6))
    m.add_force("bump", TabledJointSpring(Table((0, 1), (0, 9))), joint="rail")
    m.save(tmp_path / "all.toml")
    data = catena("info", "all.toml", "--json").data
    roles = {joint["name"]: joint["role"] for joint in data["joints"]}
    assert (roles["B"], roles["screw"], roles["rail"]) == ("locked", "weld", "tree")
    assert next(j for j in data["joints"] if j["name"] == "rail")["limits"] == [[-1.0, None]]
    assert [part["name"] for part in data["springs"]] == ["coil", "band"]
    mount, bump = data["forces"]
    assert mount["between"] == ["ground", "weight"] and mount["parameters"]["stiffness"] == [1, 2, 3, 4, 5, 6]
    assert bump["joint"] == "rail" and bump["parameters"]["spring"]["y"] == [0, 9]
    text = catena("info", "all.toml").out
    assert "locked at 0.1" in text
    assert "limits (-1, none)" in text
    for words in (
        "motor",
        "coil",
        "crank - rocker",
        "push",
        "friction 0.5",
        "passive",
        "Bushing",
        "ground - weight",
    ):
        assert words in text


def test_long_lists_of_redundant_constraints_are_cut_short(catena):
    text = catena("info", "n_four_bars(4)").out
    assert "12 constraints are redundant" in text
    assert text.count("of joint right") == 6
    assert "(--json lists all)" in text
    assert len(catena("info", "n_four_bars(4)", "--json").data["loops"]["redundant"]) == 12


def test_parts_are_told_even_if_no_closed_state_is_found(catena):
    answer = catena("info", "four_bar", "--q", "A=0", "D=1")
    assert answer.code == 2
    assert "coupler  2" in answer.out
    assert answer.err.startswith("catena: error: ")
    assert "C" in answer.err


def test_couplings_and_rotors_are_listed(catena, tmp_path):
    m = generators.chain(3)
    a, b, c = list(m.joints)[:3]
    m.add_coupling("gear", {a: 1.0, b: -2.5}, 0.5)
    m.add_polynomial_coupling("cam", c, a, (0.0, 1.0, -0.5))
    m.save(tmp_path / "m.toml")
    answer = catena("info", str(tmp_path / "m.toml"), "--q", f"{b}=0")
    assert (
        f"gear      1 {a} - 2.5 {b} = 0.5" in answer.out
        and f"cam       {c} = 1 {a} - 0.5 {a}^2" in answer.out
    )
    data = catena("info", str(tmp_path / "m.toml"), "--json", "--q", f"{b}=0").data
    assert [x["name"] for x in data["couplings"]] == ["gear", "cam"] and data["joints"][0]["armature"] is None
    assert data["state"]["q"][a] == pytest.approx([0.5]) and data["loops"]["mobility"] == 1
