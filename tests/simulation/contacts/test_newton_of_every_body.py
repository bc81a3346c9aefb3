"""What a run with contacts tells, body by body: accelerations, reactions and forces of contacts obey Newton and
Euler at samples between steps, in random mechanisms with loops, friction in joints, drives and controllers."""

import numpy as np
import pytest

import catena as ct


def falling(seed):
    """A random mechanism over a floor that some of its bodies touch, how it begins and what acts."""
    rng = np.random.default_rng(seed)
    m = ct.generators.random_mechanism(
        seed, int(rng.integers(2, 6)), loops=int(rng.integers(0, 2)), floating=rng.random() < 0.5
    )
    m.gravity = (0.0, 0.0, -9.81)
    s = m.system()
    q, v = s.assemble() if s.loops else s.neutral(), 0.5 * rng.standard_normal(s.nv)
    bodies = [name for name in m.bodies if name != "ground"]
    m.add_frame("floor", "ground", ct.Pose(p=(0, 0, min(s.pose(q, name).p[2] for name in bodies) - 0.03)))
    for joint in list(m.joints)[:3]:
        if rng.random() < 0.5:
            m = m.with_joint(joint, friction=rng.uniform(0.05, 0.5))
    s = m.system()
    v = s.project(q, v)[1] if s.loops else v
    contacts = [
        ct.Contact(str(name), on="floor", friction=rng.uniform(0.0, 0.8), restitution=0.2)
        for name in rng.permutation(bodies)[:2]
    ]
    tau = rng.standard_normal(s.nv)
    control = ct.sampled(lambda t, q, v: tau, 100.0) if rng.random() < 0.5 else None
    return s, q, v, contacts, control


def unbalanced(run):
    """The largest force and moment about a mass centre that are missing at any body, and the largest force there is."""
    m, t = run.system.mechanism, run.t
    # Where two segments meet there are two rows, and either may tell of what is to come.
    inner = np.append(True, np.diff(t) > 0.0) & np.append(np.diff(t) > 0.0, True)
    missing, size = [], []
    for name, body in m.bodies.items():
        if name == "ground":
            continue
        R, p = run.pose(name)[:, :3, :3], run.pose(name)[:, :3, 3]
        a, w = run.frame_acceleration(name, axes="aligned"), (R @ run.twist(name)[:, :3, None])[..., 0]
        arm = R @ body.com
        inertia = R @ body.inertia @ R.swapaxes(1, 2)
        force = body.mass * (
            a[:, 3:] + np.cross(a[:, :3], arm) + np.cross(w, np.cross(w, arm)) - np.asarray(m.gravity)
        )
        moment = (inertia @ a[:, :3, None])[..., 0] + np.cross(w, (inertia @ w[..., None])[..., 0])
        size.append(np.abs(force).max())
        for joint, each in m.joints.items():
            if name in (each.parent, each.child):
                child = run.pose(each.child)
                axes, sign = child[:, :3, :3] @ each.in_child.R, 1.0 if name == each.child else -1.0
                at = child[:, :3, 3] + child[:, :3, :3] @ each.in_child.p
                couple, push = (
                    (axes @ x[..., None])[..., 0] for x in np.split(run.reaction(joint), 2, axis=1)
                )
                force = force - sign * push
                moment = moment - sign * (couple + np.cross(at - p - arm, push))
        for contact in run.contacts:
            if contact.frame == name:
                push = run.contact(contact.label).force
                force, moment = force - push, moment - np.cross(-arm, push)
        missing.append(np.abs(np.concatenate([force, moment], axis=1))[inner].max())
    return max(missing), max(size)


# Of these something touches the floor.
SOME = [2, 9]
MANY = [pytest.param(seed, marks=pytest.mark.slow) for seed in (0, 1, 3, 5, 10, 11, 12, 14, 15, 16, 17, 19)]


@pytest.mark.parametrize("seed", SOME + MANY)
def test_every_body_is_in_balance_with_what_is_told_at_samples_between_steps(seed):
    s, q, v, contacts, control = falling(seed)
    run = ct.simulate(
        s, q, v, 0.4, contacts=contacts, control=control, samples=57, rtol=1e-8, atol=1e-10,
        check=False, progress=False,
    )  # fmt: skip
    assert any(run.contact(contact.label).touches.any() or run.transitions for contact in contacts)
    missing, size = unbalanced(run)
    assert missing < 1e-10 * size
