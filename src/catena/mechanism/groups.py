"""Bodies in groups that grow together, as joints connect them."""

from collections.abc import Iterable


class Groups:
    """Names in groups: each alone at first, then joined two by two. `top` names the group of a name by one of its
    members, the same for all of them."""

    def __init__(self, names: Iterable[str]) -> None:
        self._next = {name: name for name in names}

    def top(self, name: str) -> str:
        """Return the member that stands for the group of a name."""
        following = self._next
        while following[name] != name:
            following[name] = following[following[name]]
            name = following[name]
        return name

    def join(self, parent: str, child: str) -> bool:
        """Let the group of `child` become part of that of `parent`; return whether they were apart."""
        above, below = self.top(parent), self.top(child)
        self._next[below] = above
        return above != below
