"""What an importer does with an FMU: inputs, parameters, start values, several instances, states that are kept."""

import numpy as np
import pytest

import catena as ct

from .conftest import START, TYPES, run_fmu

fmpy = pytest.importorskip("fmpy")


def final(found, names="ABD"):
    return np.array([found[f"{n}.q"][-1] for n in names])


def test_inputs_act_at_tree_joints_loop_joints_and_bodies(four_bar):
    """Accelerations under the inputs against forward dynamics with the same forces by name."""
    m, path = four_bar
    given = {
        "A.tau": 1.5,
        "C.tau": -0.8,
        "coupler.moment.y": 0.4,
        "coupler.force.x": 2.0,
        "coupler.force.z": -1.0,
    }
    wrench = np.array([0.0, 0.4, 0.0, 2.0, 0.0, -1.0])
    s = m.system()
    for kind in TYPES:
        found = run_fmu(path, kind, 0.1, 5, inputs=given)
        q = np.stack([found[f"{n}.q"] for n in "ABD"], axis=-1)
        v = s.velocity(q, {"A": found["A.v"][:, None]})
        vdot = s.forward_dynamics(q, v, {"A": 1.5, "C": -0.8}, f_ext={"coupler": wrench})
        assert np.abs(found["A.a"] - vdot[:, 0]).max() <= 1e-7, kind
        free = run_fmu(path, kind, 0.1, 5)
        assert np.abs(found["A.q"] - free["A.q"])[-1] > 1e-3


def test_parameters_are_those_of_a_changed_mechanism(four_bar):
    """A mass, gravity, and a length, with which the loop has to be closed anew: the crank stays where it was put."""
    m, path = four_bar
    longer = 1.05 * np.linalg.norm(m.joints["B"].in_parent.p)
    values = {"crank.mass": 3.0, "gravity.z": -3.0, "B.in_parent.p.length": longer}
    pose = m.joints["B"].in_parent
    other = ct.Mechanism(m.name, gravity=(*m.gravity[:2], -3.0))
    for name, body in m.bodies.items():
        if name != "ground":
            mass = 3.0 if name == "crank" else body.mass
            other.add_body(name, mass=mass, com=body.com, inertia=body.inertia)
    for name, joint in m.joints.items():
        at = ct.Pose(p=1.05 * pose.p, R=pose.R) if name == "B" else joint.in_parent
        other.add_joint(name, joint.parent, joint.child, joint.kind, in_parent=at, in_child=joint.in_child)
    s = other.system()
    q = s.assemble(START[0], guess=m.system().assemble(START[0]))
    run = ct.simulate(s, q, s.velocity(q, START[1]), 0.5, samples=26, rtol=1e-12)
    for kind in TYPES:
        # Some importers set every start value that the description has, and these hold nothing.
        found = run_fmu(path, kind, start_values=values, apply_default_start_values=kind == "CoSimulation")
        assert found["A.q"][0] == pytest.approx(0.4, abs=1e-12)
        assert np.abs(final(found) - run.q[-1]).max() <= 1e-8, kind


def test_start_values_that_are_set_are_held_and_the_rest_follows(four_bar):
    m, path = four_bar
    s = m.system()
    q = s.assemble({"B": -1.1}, guess=s.assemble(START[0]))
    found = run_fmu(path, "CoSimulation", start_values={"B.q": -1.1})
    assert final(found[:1]) == pytest.approx(q, abs=1e-9)
    found = run_fmu(path, "CoSimulation", start_values={"A.q": 0.7, "A.v": 0.0})
    q = s.assemble({"A": 0.7}, guess=s.assemble(START[0]))
    assert final(found[:1]) == pytest.approx(q, abs=1e-9) and found["A.v"][0] == 0.0


def test_loops_that_cannot_be_closed_are_an_error_in_words(four_bar):
    _, path = four_bar
    said = []

    def logger(*arguments):
        said.append(arguments[-1].decode())

    for kind in TYPES:
        with pytest.raises(Exception, match="InitializationMode"):
            run_fmu(path, kind, start_values={"B.in_parent.p.length": 30.0}, logger=logger)
        words = said.pop()
        assert "cannot be closed" in words and "the loop of joint C leaves a gap" in words


def instances(path, count):
    """Instances of co-simulation in one process, initialised."""
    description = fmpy.read_model_description(str(path))
    folder = fmpy.extract(str(path))
    made = []
    for k in range(count):
        # FMPy has one logger in a process, and forgets to go back to its own when that of another FMU is gone.
        fmu = fmpy.instantiate_fmu(folder, description, fmi_type="CoSimulation", logger=lambda *said: None)
        fmu.instanceName = f"instance {k}"
        made.append(fmu)
    reference = {v.name: v.valueReference for v in description.modelVariables}
    return made, reference, description.fmiVersion == "2.0"


def initialise(fmu, is_two, values, reference):
    if is_two:
        fmu.setupExperiment(startTime=0.0, tolerance=1e-10)
        fmu.setReal([reference[n] for n in values], list(values.values()))
        fmu.enterInitializationMode()
    else:
        fmu.setFloat64([reference[n] for n in values], list(values.values()))
        fmu.enterInitializationMode(startTime=0.0, tolerance=1e-10)
    fmu.exitInitializationMode()


def angle(fmu, is_two, reference):
    get = fmu.getReal if is_two else fmu.getFloat64
    return get([reference["A.q"], reference["A.v"]])


def walk(fmu, first, last, step=0.01):
    for k in range(round(first / step), round(last / step)):
        fmu.doStep(currentCommunicationPoint=k * step, communicationStepSize=step)


def test_two_instances_do_not_know_of_each_other_and_states_are_kept(four_bar):
    _, path = four_bar
    (one, two), reference, is_two = instances(path, 2)
    initialise(one, is_two, {"crank.mass": 1.0}, reference)
    initialise(two, is_two, {"crank.mass": 4.0}, reference)
    get, put, free, pack, unpack = (
        (one.getFMUstate, one.setFMUstate, one.freeFMUstate, one.serializeFMUstate, one.deSerializeFMUstate)
        if is_two
        else (
            one.getFMUState,
            one.setFMUState,
            one.freeFMUState,
            one.serializeFMUState,
            one.deserializeFMUState,
        )
    )
    walk(one, 0.0, 0.1)
    walk(two, 0.0, 0.1)
    kept = get()
    there = angle(one, is_two, reference)
    walk(one, 0.1, 0.3)
    walk(two, 0.1, 0.3)
    end, other = angle(one, is_two, reference), angle(two, is_two, reference)
    assert abs(end[0] - other[0]) > 1e-3
    data = pack(kept)
    again = unpack(data)
    for state in (kept, again):
        put(state)
        assert angle(one, is_two, reference) == there
        walk(one, 0.1, 0.3)
        # The same state takes the same steps, to the last digit.
        assert angle(one, is_two, reference) == end
        free(state)
    assert angle(two, is_two, reference) == other
    # A mass may change between steps, a length that would open the loop may not.
    set_number = two.setReal if is_two else two.setFloat64
    set_number([reference["crank.mass"]], [8.0])
    with pytest.raises(Exception, match="set(Real|Float64)|status"):
        set_number([reference["B.in_parent.p.length"]], [0.5])
    walk(two, 0.3, 0.35)
    # Other steps of communication lead to the same place.
    one.reset()
    initialise(one, is_two, {}, reference)
    walk(one, 0.0, 0.3, 0.05)
    assert angle(one, is_two, reference) == pytest.approx(end, abs=1e-8)
    for fmu in (one, two):
        fmu.terminate()
        fmu.freeInstance()


def test_a_terminal_event_ends_the_motion_where_it_happens(export):
    s = ct.generators.four_bar().system()
    path = export(
        s, initial=START[0], velocity=START[1], kinds="co-simulation", integrator="rk4", step=1e-3,
        events=[ct.Event(lambda t, q, v: q[0] - 1.0, name="end", terminal=True)],
    )  # fmt: skip
    (fmu,), reference, is_two = instances(path, 1)
    initialise(fmu, is_two, {}, reference)
    with pytest.raises(Exception, match="[Dd]iscard|status 2"):
        walk(fmu, 0.0, 1.0)
    run = ct.simulate(s, *START, 1.0, events=ct.Event(lambda t, q, v: q[0] - 1.0, terminal=True))
    assert fmu.getReal([reference["A.q"], reference["event.end.time"]]) == pytest.approx(
        [1.0, run.t[-1]], abs=1e-8
    )
    assert fmu.getRealStatus(2) == pytest.approx(run.t[-1], abs=1e-8)
    fmu.freeInstance()
