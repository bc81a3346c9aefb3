"""What generators that want to know something are called with where nobody says: by the command line and the studio."""

from typing import Any

USUAL: dict[str, tuple[Any, ...]] = {
    "arms_on_object": (2,),
    "chain": (6,),
    "n_four_bars": (2,),
    "nested_loops": (2,),
    "random_mechanism": (0,),
    "scissor_lift": (3,),
    "tree": (15,),
}
