"""Generators of mechanisms: benchmarks of the field, robots with realistic numbers, and random ones for
tests."""

from typing import Any

from catena.mechanism.generators.andrews import andrews, driven_andrews
from catena.mechanism.generators.arms import add_arm, arm6, arm7
from catena.mechanism.generators.bars import four_bar, n_four_bars
from catena.mechanism.generators.chains import chain, tree
from catena.mechanism.generators.delta import delta
from catena.mechanism.generators.grasping import arms_on_object, free_flyer
from catena.mechanism.generators.hand import hand
from catena.mechanism.generators.hslm import hslm
from catena.mechanism.generators.humanoid import humanoid
from catena.mechanism.generators.nested import nested_loops
from catena.mechanism.generators.random_mechanisms import random_kind, random_mechanism
from catena.mechanism.generators.scissors import scissor_lift
from catena.mechanism.generators.spatial_loops import bricard, spatial_four_bar
from catena.mechanism.generators.stewart import stewart
from catena.mechanism.generators.walker import walker
from catena.mechanism.generators.worked_examples import four_link_chain, stanford_arm, two_links_and_load

__all__ = [
    "add_arm",
    "andrews",
    "driven_andrews",
    "arm6",
    "arm7",
    "arms_on_object",
    "bricard",
    "chain",
    "delta",
    "four_bar",
    "four_link_chain",
    "free_flyer",
    "hand",
    "hslm",
    "humanoid",
    "n_four_bars",
    "nested_loops",
    "random_kind",
    "random_mechanism",
    "scissor_lift",
    "spatial_four_bar",
    "stanford_arm",
    "stewart",
    "tree",
    "two_links_and_load",
    "walker",
]

# What generators that want to know something are called with where nobody says: by the command line and the studio.
USUAL: dict[str, tuple[Any, ...]] = {
    "arms_on_object": (2,),
    "chain": (6,),
    "n_four_bars": (2,),
    "nested_loops": (2,),
    "random_mechanism": (0,),
    "scissor_lift": (3,),
    "tree": (15,),
}
