"""Closed mechanisms in states that close their loops, for all tests of closed chains."""

import numpy as np
import pytest

import catena as ct
from catena.dynamics.loops.formulations import LoopProblem
from catena.kinematics.loops.closure import loop_kinematics
from catena.mechanism.generators import arms_on_object, four_bar, n_four_bars, random_mechanism, stewart

SDOF = [ct.Sdof("ry", "rz", "dx"), ct.Sdof("dz", "rx")]
KINDS = [
    "Fixed", "Revolute", "Prismatic", "Helical", "Cylindrical", "Universal", "Spherical", "Planar", "Free", *SDOF,
]  # fmt: skip


def looped(seed, loops=2, bodies=7):
    """A random mechanism over all joint kinds, tree and loop, under a random gravity; odd seeds float."""
    mechanism = random_mechanism(
        seed, bodies, KINDS, loops=loops, floating=bool(seed % 2), friction=bool(seed % 3)
    )
    mechanism.gravity = np.random.default_rng(seed).normal(size=3) * 6.0
    return mechanism


GALLERY = {
    "four-bar": four_bar,
    "1 four-bar": lambda: n_four_bars(1),
    "2 four-bars": lambda: n_four_bars(2),
    "5 four-bars": lambda: n_four_bars(5),
    "stewart": stewart,
    "1 arm": lambda: arms_on_object(1),
    "2 arms": lambda: arms_on_object(2),
    "3 arms": lambda: arms_on_object(3),
    "6 arms": lambda: arms_on_object(6),
    "3 redundant arms": lambda: arms_on_object(3, 7),
    "3 short arms": lambda: arms_on_object(3, 4),
    "4 arms with ball grips": lambda: arms_on_object(4, 6, ct.Spherical()),
    **{f"random {seed}": (lambda seed=seed: looped(seed, 1 + seed % 3)) for seed in range(12)},
}


def null_space(J):
    """Orthonormal columns that J takes to zero, by singular values above 1e-9."""
    if J.shape[0] == 0:
        return np.eye(J.shape[1])
    _, sigma, Vt = np.linalg.svd(J)
    return Vt[np.count_nonzero(sigma > 1e-9 * max(1.0, sigma.max(initial=0.0))) :].T


def constraints(system, q):
    """The constraint Jacobian (m, nv) and the position residual (m,) at one configuration."""
    states = loop_kinematics(system.mechanics.evaluator, q)
    J = np.concatenate([s.J for s in states]) if states else np.zeros((0, system.nv))
    return J, np.concatenate([s.position for s in states]) if states else np.zeros(0)


def find_closed_state(system, seed, size=0.3):
    """q near neutral that closes all loops to rounding, by Gauss-Newton steps from a closed configuration that is moved
    along the motions it allows, and a v that keeps them closed."""
    random = np.random.default_rng(seed)
    q = system.neutral()
    for _ in range(3):
        free = null_space(constraints(system, q)[0])
        q = system.integrate(q, free @ random.normal(size=free.shape[1]), size / 3)
        for _ in range(30):
            J, residual = constraints(system, q)
            if np.abs(residual).max(initial=0.0) < 1e-14:
                break
            q = system.integrate(q, -np.linalg.lstsq(J, residual, rcond=1e-5)[0])
    assert np.abs(constraints(system, q)[1]).max(initial=0.0) < 1e-12
    free = null_space(constraints(system, q)[0])
    return q, free @ random.normal(size=free.shape[1])


def problem_of(system, seed, batch=2, outside=True):
    """Equations of motion at closed states, with forces of all sorts."""
    random = np.random.default_rng(seed)
    states = [find_closed_state(system, seed + 100 * k) for k in range(batch)]
    q, v = (np.array(x) for x in zip(*states, strict=True))
    tau = random.normal(size=(batch, system.nv)) * 5.0
    f_ext = random.normal(size=(batch, 6 * system.plan.n)) if outside else None
    a_base = random.normal(size=6) if outside else None
    return LoopProblem(system.mechanics.evaluator, q, v, tau, f_ext, a_base)


@pytest.fixture(params=GALLERY, scope="session")
def closed_system(request):
    """The systems of the gallery, one after the other."""
    return GALLERY[request.param]().system()


@pytest.fixture(scope="session")
def closed_problem(closed_system):
    """Equations of motion of each system of the gallery at two closed states."""
    return problem_of(closed_system, 3)


@pytest.fixture(scope="session")
def closed_state():
    """`find_closed_state`, as a function of the system and a seed."""
    return find_closed_state
