"""Mechanisms with loops on which formulations, plans and engines must agree, and closed states of them."""

import pytest

from benchmarks.states import pushed_states
from catena.joints import Sdof
from catena.mechanism.generators import (
    andrews,
    arms_on_object,
    bricard,
    four_bar,
    hand,
    n_four_bars,
    nested_loops,
    random_mechanism,
    scissor_lift,
    spatial_four_bar,
    stewart,
    walker,
)

# Every ordered subset of motions is a joint kind of its own to the compiler; these stand for all.
KINDS = [
    "Fixed", "Revolute", "Prismatic", "Helical", "Cylindrical", "Universal", "Spherical", "Planar", "Free",
    Sdof("ry", "rz", "dx"), Sdof("dz", "rx"),
]  # fmt: skip

GALLERY = {
    "four_bar": four_bar,
    **{f"n_four_bars({n})": lambda n=n: n_four_bars(n) for n in (1, 2, 3, 4, 5, 40)},
    "stewart": stewart,
    # Six and seven joints in turns: chains that determine their tip, and chains that move besides.
    **{f"arms_on_object({m})": lambda m=m: arms_on_object(m, 6 + m % 2) for m in (*range(1, 9), 32)},
    "arms of 4 joints": lambda: arms_on_object(3, 4),
    "hand(3)": hand,
    "hand(5)": lambda: hand(5),
    **{
        f"walker({feet}, {contact})": lambda feet=feet, contact=contact: walker(feet, contact)
        for feet in (2, 3, 4)
        for contact in ("point", "flat")
    },
    "bricard": bricard,
    "spatial_four_bar": spatial_four_bar,
    "misaligned": lambda: spatial_four_bar(misalignment=1e-6),
    "scissor_lift(1)": lambda: scissor_lift(1),
    "scissor_lift(3)": lambda: scissor_lift(3),
    "nested_loops(2)": lambda: nested_loops(2),
    "nested_loops(3)": lambda: nested_loops(3),
    "andrews": andrews,
}
LONG = (
    "n_four_bars(40)",
    "arms_on_object(32)",
    "arms_on_object(6)",
    "arms_on_object(7)",
    "arms_on_object(8)",
)
# Mechanisms that cannot move are looked at where they are closed.
RIGID = {"misaligned": 0.0}


def looped_mechanism(seed):
    """A random mechanism of up to 8 bodies and 3 loops over all joint kinds; odd seeds have friction."""
    bodies, loops = 3 + seed % 6, 1 + seed % 3
    return random_mechanism(seed, bodies, KINDS, loops, floating=seed % 5 == 0, friction=bool(seed % 2))


def looped_states(system, count=3, seed=0, spread=0.3):
    """q, v and tau of closed states; efforts that accelerate joints by about their own size."""
    return pushed_states(system, count, seed, [spread * smaller for smaller in (1.0, 0.3, 0.1, 0.03, 0.0)])


def pytest_generate_tests(metafunc):
    """`gallery`: a name of the gallery."""
    if "gallery" in metafunc.fixturenames:
        slow = pytest.mark.slow
        metafunc.parametrize("gallery", [pytest.param(n, marks=slow if n in LONG else ()) for n in GALLERY])


@pytest.fixture
def looped(gallery):
    """A mechanism of the gallery, its system and closed states (q, v, tau) of it."""
    mechanism = GALLERY[gallery]()
    system = mechanism.system()
    return mechanism, system, looped_states(system, spread=RIGID.get(gallery, 0.3))


@pytest.fixture(scope="session")
def random_looped():
    """`looped_mechanism` and closed states, as a function of the seed."""

    def make(seed):
        mechanism = looped_mechanism(seed)
        system = mechanism.system()
        return mechanism, system, looped_states(system, seed=seed)

    return make


@pytest.fixture(scope="session")
def states_of():
    """`looped_states`."""
    return looped_states
