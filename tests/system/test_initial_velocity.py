"""A velocity of which only some joints are given is completed by one rule, whoever asks: `velocity`, a simulation that
starts from the mechanism's own state, and the command line."""

import numpy as np
import pytest

import catena as ct
from catena.cli import main
from catena.mechanism.generators import chain, four_bar, free_flyer, random_mechanism, stewart, walker


def double_pendulum():
    m = ct.Mechanism("double pendulum")
    for last, name, joint in (("ground", "upper", "A"), ("upper", "lower", "B")):
        m.add_body(name, 1.0, com=(0, 0, -0.5), inertia=0.1)
        place = ct.Pose() if last == "ground" else ct.Pose(p=(0, 0, -1))
        m.add_joint(joint, last, name, ct.Revolute("y"), in_parent=place)
    return m


def four_bar_with_a_hand():
    """A loop, and joints that are on none."""
    m = four_bar()
    for last, name in (("coupler", "arm"), ("arm", "hand")):
        m.add_body(name, 0.5, com=(0.1, 0.2, 0.3), inertia=0.05)
        m.add_joint(f"to {name}", last, name, ct.Universal("x", "y"), in_parent=ct.Pose(p=(0.5, 0, 0)))
    return m


def floating_tree():
    return random_mechanism(4, 5, ["Spherical", "Universal", "Prismatic"], floating=True)


CASES = {
    "double pendulum": (double_pendulum, {"A": 1.0}),
    "lower link": (double_pendulum, {"B": -2.0}),
    "nothing given": (double_pendulum, {}),
    "chain": (lambda: chain(5), {"joint3": 0.7}),
    "floating tree": (floating_tree, {"joint3": None}),
    "free flyer": (free_flyer, {"joint4": None}),
    "four-bar": (four_bar, {"A": 1.5}),
    "four-bar, nothing given": (four_bar, {}),
    "four-bar with a hand": (four_bar_with_a_hand, {"A": 1.5, "to hand": (0.3, -0.4)}),
    "hand on a four-bar at rest": (four_bar_with_a_hand, {"to arm": (0.3, -0.4)}),
    "stewart": (stewart, {"leg1": 0.2}),
    "walker": (lambda: walker(3), {}),
}


@pytest.fixture(params=CASES)
def case(request):
    make, given = CASES[request.param]
    m = make()
    names = list(m.joints)
    fitting = {name if name in names else names[3]: value for name, value in given.items()}
    for name, value in fitting.items():
        if value is None:
            fitting[name] = np.linspace(0.3, 0.9, m.joints[name].kind.nv)
    m.set_initial(v=fitting)
    return m


def test_velocity_and_a_simulation_and_the_command_line_agree(case, tmp_path, capsys):
    s = case.system()
    q = s.assemble(case.initial.q)
    v = s.velocity(q, case.initial.v)
    run = ct.simulate(s, duration=1e-6, progress=False)
    np.testing.assert_array_equal(run.v[0], v)
    case.save(tmp_path / "own.toml")
    words = [f"{name}={','.join(repr(float(x)) for x in value)}" for name, value in case.initial.v.items()]
    case.set_initial()
    case.save(tmp_path / "bare.toml")
    bare = ["run", str(tmp_path / "bare.toml"), *(["--v", *words] if words else [])]
    for command in (["run", str(tmp_path / "own.toml")], bare):
        out = str(tmp_path / "run.nc")
        assert main([*command, "--time", "1e-6", "--out", out, "--quiet"]) == 0, capsys.readouterr()
        np.testing.assert_array_equal(ct.load_run(out).v[0], v)


def test_what_is_not_named_stands_still_in_a_tree():
    s = double_pendulum().system()
    np.testing.assert_array_equal(s.velocity([0.3, 0.4], {"A": 1.0}), [1.0, 0.0])
    np.testing.assert_array_equal(
        s.velocity([[0.3, 0.4]] * 2, {"B": [[1.0], [2.0]]}), [[0.0, 1.0], [0.0, 2.0]]
    )
    wrist = floating_tree().system()
    name = next(j for j in wrist.joints if wrist.slice_v(j).stop - wrist.slice_v(j).start == 2)
    v = wrist.velocity(wrist.neutral(), {name: [None, 0.5]})
    assert np.count_nonzero(v) == 1 and v[wrist.slice_v(name)][1] == 0.5


def test_what_is_on_no_loop_stands_still_beside_a_loop():
    """The loop moves as it does without the hand, which it does not carry the less for it."""
    s, alone = four_bar_with_a_hand().system(), four_bar().system()
    q = s.assemble({"A": 0.3})
    v = s.velocity(q, {"A": 1.0})
    assert not v[s.slice_v("to arm")].any() and not v[s.slice_v("to hand")].any()
    expected = alone.velocity(alone.assemble({"A": 0.3}), {"A": 1.0})
    for name in alone.joints:
        np.testing.assert_allclose(v[s.slice_v(name)], expected[alone.slice_v(name)], atol=1e-12)


@pytest.mark.parametrize("options", [{"root": "hand"}, {"root": "crank"}, {"cut": ["A"]}])
def test_the_rule_does_not_depend_on_the_plan(options):
    m = four_bar_with_a_hand()
    s, other = m.system(), m.system(**options)
    q = s.assemble({"A": 0.3})
    v = s.velocity(q, {"A": 1.0, "to hand": (0.2, 0.1)})
    place = {name: s.joint_position(q, name) for name in m.joints}
    Q = other.assemble({name: place[name] for name in other.joints if name in place}, guess=other.neutral())
    V = other.velocity(Q, {"A": 1.0, "to hand": (0.2, 0.1)})
    for name in m.joints:
        np.testing.assert_allclose(
            other.joint_velocity(Q, V, name), s.joint_velocity(q, v, name), atol=1e-9, err_msg=name
        )


def test_a_pinned_root_of_a_tree_changes_nothing():
    m = double_pendulum()
    s = m.system(root="lower")
    q = s.assemble({"A": 0.3, "B": 0.4})
    v = s.velocity(q, {"A": 1.0})
    found = [s.joint_velocity(q, v, name)[0] for name in ("A", "B")]
    np.testing.assert_allclose(found, [1.0, 0.0], atol=1e-12)


def test_a_complaint_speaks_of_what_was_given():
    s = four_bar_with_a_hand().system()
    with pytest.raises(ct.LoopError, match="given for 'A', 'D': they would open"):
        s.velocity(s.assemble({"A": 0.3}), {"A": 1.0, "D": 1.0})
