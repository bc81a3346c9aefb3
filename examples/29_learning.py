"""A small policy learns to swing up and balance a pole, on the CPU and with NumPy alone: hundreds of cart-poles with
random masses move in lanes, and evolution pulls the policy towards those of its neighbours that did better.

Usage: python examples/29_learning.py [folder for the pictures; default: out/29_learning]
"""

import sys
import time

import numpy as np
from matplotlib.figure import Figure

import catena as ct
from catena.view import Course
from pictures import Pictures

# An action every 20 ms, for six seconds.
STEP, SUBSTEPS, ACTIONS = 1e-2, 2, 300
# Neighbours of the policy that are tried in pairs, and cart-poles that each of them is tried on.
PAIRS, TRIES, HIDDEN = 32, 4, 16
ROUNDS, NOISE, RATE = 240, 0.1, 0.06
SIZES = (5 * HIDDEN, HIDDEN, HIDDEN, 1)


def cart_pole() -> ct.Mechanism:
    """A pole on a cart."""
    m = ct.Mechanism("cart-pole")
    m.add_body("cart", mass=1.0)
    m.add_body("pole", mass=0.2, com=(0, 0, 0.5), inertia=(0.01, 0.01, 0.001))
    m.add_joint("rail", "ground", "cart", ct.Prismatic("x"), damping=0.1)
    m.add_joint("hinge", "cart", "pole", ct.Revolute("y"), damping=0.002, actuated=False)
    return m


def environments(count: int, seed: int) -> ct.VectorEnv:
    """So many cart-poles that begin next to hanging, each with a pole of its own mass."""

    def start(random: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        q = np.stack([random.uniform(-0.2, 0.2, n), np.pi + random.uniform(-0.3, 0.3, n)], axis=1)
        return q, np.zeros((n, 2))

    def observe(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.stack([q[:, 0], np.sin(q[:, 1]), np.cos(q[:, 1]), 0.5 * v[:, 0], 0.2 * v[:, 1]], axis=1)

    def reward(q: np.ndarray, v: np.ndarray, action: np.ndarray) -> np.ndarray:
        far = np.maximum(0.0, np.abs(q[:, 0]) - 1.5)
        near = np.exp(-2.0 * (1.0 - np.cos(q[:, 1])) - 0.02 * v[:, 1] ** 2)
        return 0.5 + 0.5 * np.cos(q[:, 1]) + near - 0.05 * q[:, 0] ** 2 - far - 0.005 * action[:, 0] ** 2

    return ct.VectorEnv(
        cart_pole().system(), count, start, reward, ["rail"], observe=observe, step=STEP, substeps=SUBSTEPS,
        scale=12.0, limit=1.0, seed=seed, parameters=lambda random, n: {"pole.mass": random.uniform(0.15, 0.25, n)},
    )  # fmt: skip


def actions(weights: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """What policies with weights (policies, n) do about observations (policies, tries, 5): (policies, tries)."""
    first, bias, last, offset = np.split(weights, np.cumsum(SIZES)[:-1], axis=1)
    hidden = np.tanh(seen @ first.reshape(-1, 5, HIDDEN) + bias[:, None])
    return np.tanh((hidden @ last[..., None])[..., 0] + offset)


def returns(env: ct.VectorEnv, weights: np.ndarray) -> np.ndarray:
    """The mean reward (policies,) of policies with weights (policies, n)."""
    seen, _ = env.reset()
    total = np.zeros(env.num_envs)
    for _ in range(ACTIONS):
        action = actions(weights, seen.reshape(len(weights), -1, 5))
        seen, reward, *_ = env.step(action.reshape(-1, 1))
        total += reward
    return total.reshape(len(weights), -1).mean(axis=1) / ACTIONS


def learned(env: ct.VectorEnv, seed: int) -> tuple[np.ndarray, list[float]]:
    """The weights (n,) that evolution finds, and the mean return of each round."""
    random = np.random.default_rng(seed)
    weights = 0.3 * random.standard_normal(sum(SIZES))
    m, s, history = np.zeros_like(weights), np.zeros_like(weights), []
    for k in range(ROUNDS):
        noise = random.standard_normal((PAIRS, len(weights)))
        found = returns(env, weights + NOISE * np.concatenate([noise, -noise]))
        history.append(float(found.mean()))
        # By rank, so that a lucky one counts no more than its place.
        rank = np.argsort(np.argsort(found)) / (len(found) - 1) - 0.5
        slope = (rank[:PAIRS] - rank[PAIRS:]) @ noise / PAIRS
        # Steps of Adam, uphill.
        m, s = 0.9 * m + 0.1 * slope, 0.99 * s + 0.01 * slope**2
        weights = weights + RATE * (m / (1 - 0.9 ** (k + 1))) / (np.sqrt(s / (1 - 0.99 ** (k + 1))) + 1e-8)
    return weights, history


def main(arguments: list[str]) -> None:
    out = Pictures(__file__, arguments)
    env = environments(2 * PAIRS * TRIES, seed=1)
    began = time.process_time()
    weights, history = learned(env, seed=2)
    spent = time.process_time() - began
    steps = ROUNDS * ACTIONS * SUBSTEPS * env.num_envs
    print(
        f"{ROUNDS} rounds of {env.num_envs} cart-poles, {steps:.2g} steps, in {spent:.1f} s of processor time"
    )
    print(f"mean reward of the first round {history[0]:.3f}, of the last {history[-1]:.3f}")
    test = environments(256, seed=3)
    seen, _ = test.reset()
    path, first = [seen], [test.q[0].copy()]
    for _ in range(ACTIONS):
        seen, *_ = test.step(actions(weights[None], seen[None])[0][:, None])
        path.append(seen)
        first.append(test.q[0].copy())
    seen = np.array(path)
    up = seen[-50:, :, 2].min(axis=0) > 0.95
    print(f"upright for the last second: {int(up.sum())} of 256 that were not seen before")

    figure = Figure(figsize=(10, 3.4), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    left.plot(np.maximum(history, -1.0))
    left.set(xlabel="round", ylabel="mean reward of all that were tried", title="what is learned")
    t = SUBSTEPS * STEP * np.arange(ACTIONS + 1)
    angle = np.unwrap(np.arctan2(seen[..., 1], seen[..., 2]), axis=0)
    angle -= 2.0 * np.pi * np.round(angle[-1] / (2.0 * np.pi))
    middle.plot(t, angle[:, :24], color="tab:blue", alpha=0.35, linewidth=0.8)
    middle.set(xlabel="t [s]", ylabel="hinge [rad]", title="24 poles of other masses")
    right.plot(t, seen[:, :24, 0], color="tab:orange", alpha=0.35, linewidth=0.8)
    right.set(xlabel="t [s]", ylabel="cart [m]", title="and their carts")
    out.figure(figure, "learning.png")
    out.film(Course(test.system, first, t))


if __name__ == "__main__":
    main(sys.argv[1:])
