"""Generators of mechanisms: benchmarks of the field, robots with realistic numbers, and random ones for
tests."""

from catena.mechanism.generators.arms import add_arm, arm6, arm7
from catena.mechanism.generators.bars import four_bar, n_four_bars
from catena.mechanism.generators.chains import chain, tree
from catena.mechanism.generators.grasping import arms_on_object, free_flyer
from catena.mechanism.generators.humanoid import humanoid
from catena.mechanism.generators.random_mechanisms import random_kind, random_mechanism
from catena.mechanism.generators.stewart import stewart

__all__ = [
    "add_arm",
    "arm6",
    "arm7",
    "arms_on_object",
    "chain",
    "four_bar",
    "free_flyer",
    "humanoid",
    "n_four_bars",
    "random_kind",
    "random_mechanism",
    "stewart",
    "tree",
]
