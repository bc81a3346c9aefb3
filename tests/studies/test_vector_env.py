"""Environments for learning: against single runs, and against gymnasium's own vector of single environments."""

import numpy as np
import pytest

import catena as ct

from .test_study import cart_pole

STEP, SUBSTEPS, HORIZON = 1e-2, 2, 40
BEGIN = np.array([[0.0, 0.05], [0.1, -0.12], [0.0, 0.2], [-0.2, 0.28]])


def is_over(q, v):
    return np.abs(q[..., 1]) > 0.3


def earned(q, v, action):
    return 1.0 - q[..., 1] ** 2 - 1e-3 * action[..., 0] ** 2


def made(count=4, start=None, **more):
    def begin(random, n):
        return random.normal(0.0, 0.1, (n, 2)), np.zeros((n, 2))

    asked = {"over": is_over, "step": STEP, "substeps": SUBSTEPS, "horizon": HORIZON, "limit": 5.0, **more}
    return ct.VectorEnv(cart_pole().system(), count, start or begin, earned, ["slide"], **asked)


def test_a_vector_is_gymnasiums_vector_of_single_environments():
    """The same cart-poles as single environments that gymnasium puts side by side: the same observations, rewards, ends
    and new beginnings, action by action."""
    gymnasium = pytest.importorskip("gymnasium")

    class Single(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (4,), np.float64)
        action_space = gymnasium.spaces.Box(-5.0, 5.0, (1,), np.float64)

        def __init__(self, number):
            self.number, self.stepper = number, ct.Stepper(cart_pole().system(), step=STEP)

        def seen(self):
            return np.concatenate([self.stepper.q, self.stepper.v])

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.stepper.reset(BEGIN[self.number], np.zeros(2))
            self.elapsed = 0
            return self.seen(), {}

        def step(self, action):
            for _ in range(SUBSTEPS):
                self.stepper.step([action[0], 0.0])
            self.elapsed += 1
            q, v = self.stepper.q, self.stepper.v
            over = bool(is_over(q, v))
            return self.seen(), float(earned(q, v, action)), over, not over and self.elapsed >= HORIZON, {}

    theirs = gymnasium.vector.SyncVectorEnv([lambda k=k: Single(k) for k in range(4)])
    begun = []

    def start(random, n):
        # Those that begin are those that ended, in their order.
        which = np.arange(4) if not begun else begun[-1]
        return BEGIN[which], np.zeros((len(which), 2))

    ours = made(start=start)
    assert isinstance(ours, gymnasium.vector.VectorEnv)
    assert ours.metadata["autoreset_mode"] == theirs.metadata["autoreset_mode"]
    for name in ("action_space", "single_action_space", "observation_space", "single_observation_space"):
        assert getattr(ours, name) == getattr(theirs, name), name
    np.testing.assert_array_equal(ours.reset(seed=1)[0], theirs.reset(seed=1)[0])
    random, ends = np.random.default_rng(0), np.zeros(2, dtype=int)
    for _ in range(120):
        action = random.uniform(-3.0, 3.0, (4, 1))
        found, expected = ours.step(action), theirs.step(action)
        for x, y, kind in zip(found[:4], expected[:4], (np.float64, np.float64, bool, bool), strict=True):
            assert x.shape == y.shape and x.dtype == kind
            np.testing.assert_allclose(x, y, atol=1e-12)
        assert ours.observation_space.contains(found[0])
        begun.append(np.flatnonzero(found[2] | found[3]))
        ends += found[2].sum(), found[3].sum()
    assert ends.min() > 0
    theirs.close()


def test_wrappers_of_gymnasium_take_it():
    pytest.importorskip("gymnasium")
    from gymnasium.wrappers import vector

    counted = vector.RecordEpisodeStatistics(made(seed=3))
    env = vector.ClipReward(vector.NormalizeObservation(counted), 0.0, 0.5)
    seen, _ = env.reset(seed=5)
    for _ in range(60):
        seen, reward, *_ = env.step(env.action_space.sample())
        assert np.isfinite(seen).all() and (reward <= 0.5).all()
    assert counted.episode_count > 0 and max(counted.length_queue) <= HORIZON
    env.close()


def test_seeds_masks_and_limits():
    first, second = made(seed=7), made()
    np.testing.assert_array_equal(first.reset()[0], second.reset(seed=7)[0])
    for env, action in ((first, 100.0), (second, 5.0)):
        env.step(np.full((4, 1), action))
    np.testing.assert_array_equal(first.q, second.q)
    before = first.q.copy()
    mask = np.array([True, False, False, True])
    first.reset(options={"reset_mask": mask})
    np.testing.assert_array_equal((first.q != before).any(axis=1), mask)
    np.testing.assert_array_equal(first.elapsed, np.where(mask, 0, 1))
    with pytest.raises(ct.StateError, match="limit"):
        made(limit=0.0)


def test_contacts_move_in_lanes():
    """Balls that are dropped and pushed up, by time stepping: an action of all is a run of each by itself."""
    m = ct.Mechanism("ball")
    m.add_body("ball", 1.0, inertia=0.1)
    m.add_joint("drop", "ground", "ball", ct.Prismatic("z"))
    s, contacts = m.system(), [ct.Contact("ball", restitution=0.5)]
    heights = np.array([[0.02], [0.05], [0.001]])
    env = ct.VectorEnv(
        s, 3, lambda random, n: (heights[:n], np.zeros((n, 1))), lambda q, v, action: q[:, 0], ["drop"], step=2e-3,
        substeps=100, integrator="time_stepping", contacts=contacts, scale=4.0,
    )  # fmt: skip
    env.reset()
    seen, reward, *_ = env.step(np.array([[0.0], [1.0], [0.0]]))
    for k, push in enumerate((0.0, 4.0, 0.0)):
        run = ct.simulate(
            s, heights[k], [0.0], 0.2, integrator="time_stepping", step=2e-3, contacts=contacts, check=False,
            control=lambda t, q, v, push=push: np.full(1, push),
        )  # fmt: skip
        np.testing.assert_allclose(seen[k], [run.q[-1, 0], run.v[-1, 0]], atol=1e-9)
    assert (reward > -1e-6).all() and seen[2, 0] < 1e-6
