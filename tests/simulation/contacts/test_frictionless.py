"""What vibrates on contacts without friction keeps its energy: compared with what impacts lose."""

import numpy as np
import pytest

import catena as ct


def lost_beyond_impacts(run):
    """The energy [J] that is gone and that no impact has told of."""
    return run.energy[0] - run.energy[-1] - sum(change.energy_loss for change in run.transitions)


def reasons(run):
    return [change.name for change in run.transitions]


@pytest.mark.parametrize("stiffness", [1e3, 1e5, 1e7])
def test_a_hopper_with_a_stiff_leg_keeps_the_energy_of_its_spring(stiffness):
    """Foot and head of 1 kg on a spring fall by 0.1 m: the foot stops, which loses its half, and the head goes on with
    the spring, however stiff it is; in compiled steps, and with a wrench that Python is asked for."""
    m = ct.Mechanism("hopper")
    for name, below in (("foot", "ground"), ("head", "foot")):
        m.add_body(name, 1.0, inertia=0.1)
        m.add_joint(name, below, name, ct.Prismatic("z"))
    m.add_spring("leg", "head", stiffness)
    touches = [ct.Contact("foot", friction=0.0)]
    ways = ({}, {"forces": {"head": lambda t: np.zeros(6)}}) if stiffness < 1e4 else ({},)
    for more in ways:
        run = ct.simulate(m.system(), [0.1, 0.0], [0.0, 0.0], 0.2, contacts=touches, **more)
        assert sum(change.energy_loss for change in run.transitions) == pytest.approx(0.981, rel=1e-3)
        assert abs(lost_beyond_impacts(run)) < 1e-7
        assert not any("careful" in why for why in reasons(run))


@pytest.mark.parametrize(("young", "modes"), [(7e8, 1), (7e9, 2)])
def test_a_beam_dropped_on_two_frictionless_contacts_keeps_what_impacts_leave(young, modes):
    beam = ct.Beam(1.2, 2.4e-4, (3.2e-8, 7.2e-10), 2700.0, young, modes={"z": modes})
    m = ct.Mechanism("beam")
    m.add_body("beam", flexible=beam)
    m.add_joint("falls", "ground", "beam", ct.Sdof("dz", "ry"))
    for name, x in (("left", 0.0), ("right", 1.2)):
        m.add_frame(name, "beam", ct.Pose(p=(x, 0.0, 0.0)))
    s = m.system()
    q = s.neutral()
    q[0] = 0.01
    touches = [ct.Contact(name, friction=0.0) for name in ("left", "right")]
    run = ct.simulate(s, q, None, 0.06, contacts=touches)
    assert abs(lost_beyond_impacts(run)) < 1e-6 * run.energy[0]
    assert not any("friction" in why for why in reasons(run))


def tumbling(**more):
    """A block that tumbles onto its corners, with many changes of its contacts."""
    m = ct.Mechanism("block")
    m.add_body("block", 2.0, inertia=0.1)
    m.add_joint("free", "ground", "block", ct.Free())
    for k, (x, y) in enumerate(((0.2, 0.2), (-0.2, 0.2), (0.2, -0.2), (-0.2, -0.2))):
        m.add_frame(f"corner {k}", "block", ct.Pose(p=(x, y, -0.1)))
    s = m.system()
    q = s.neutral()
    q[2], q[3:] = 0.3, (np.cos(0.1), 0.6 * np.sin(0.1), 0.8 * np.sin(0.1), 0.0)
    touches = [ct.Contact(f"corner {k}", friction=0.4, restitution=0.5) for k in range(4)]
    return ct.simulate(s, q, None, 0.8, contacts=touches, check=False, **more)


def test_samples_at_steps_are_the_steps_themselves():
    """Two samples keep the ends of all segments: states, works and forces of contacts are those of the whole run, to
    the last digit."""
    whole, few = tumbling(), tumbling(samples=2)
    assert len(whole.segments) == len(few.segments) > 10
    at = 0
    for a, b in zip(whole.segments, few.segments, strict=True):
        np.testing.assert_array_equal(b.t, a.t[[0, -1]])
        for name in ("q", "v", "tau"):
            np.testing.assert_array_equal(getattr(b, name), getattr(a, name)[[0, -1]])
        for name, work in a.work.items():
            np.testing.assert_array_equal(b.work[name], work[[0, -1]])
        for name, force in whole.contact_forces.items():
            own = force[at : at + len(a.t)]
            k = 2 * whole.segments.index(a)
            np.testing.assert_array_equal(few.contact_forces[name][k : k + 2], own[[0, -1]])
        at += len(a.t)


def test_the_audit_of_many_segments_is_short_and_tells_the_worst():
    run = tumbling()
    audit = run.audit()
    assert len(audit.parts) == len(run.segments) and audit.ok == all(part.ok for part in audit.parts)
    text = str(audit)
    assert len(text) < 3000
    lost = sum(change.energy_loss for change in run.transitions)
    assert f"lose {lost:.4g} J" in text and f"in {len(run.segments)} segments" in text
    values = [part["energy"].value if "energy" in part else 0.0 for part in audit.parts]
    k = int(np.argmax(values))
    assert audit["energy"].value == values[k]
    assert audit["energy"].text == f"Segment {k}: {audit.parts[k]['energy'].text}"
