"""How friction and the loads of joints come to agree: what loads are taken to make next, from what they did make.

Anderson's method. What loads are taken to make is L, what they do make B(L), and gap = B - L is to vanish. Of the last
rounds it is known by how much L and the gap have changed; the gap of now is written as a sum of those changes as far as
it is one, and what is left of it is added to L as it is. So what rounds have shown of B is not found again, in later
stages of a step either. Sums go over all joints together, and each lane has its own.
"""

from typing import Any

from catena.forces.dry import slips
from catena.simulation.stepping.methods.conditions import both
from catena.spatial.scalars import array, where

PAIRS = 2
"""So many changes are remembered."""
LEAST, MOST = 1e-12, 1e-11
"""Friction and loads agree to the relative tolerance of the step, but to a part of both between these."""
TELLING = 1e-10
"""Changes of gaps that are no larger than this part of loads tell nothing: they are rounding."""
SMALL = 0.1
"""Loads that are a smaller part of all count as this part."""
ALIKE = 1e-8
"""A change that differs from others by less than this part, squared, is one of them."""


def memory_names(prefix: str) -> tuple[str, ...]:
    """Return the names under which the components of a joint keep their gap, how far their loads have moved, and the
    changes of rounds before."""
    changes = (f"{prefix}{name}_{k}" for k in range(PAIRS) for name in ("gap_change", "way"))
    return (f"{prefix}gap", f"{prefix}moved", *changes)


def forget_changes(ground: Any) -> None:
    """Nothing is remembered yet."""
    for i in range(PAIRS):
        for j in range(i + 1):
            setattr(ground, f"gram_{i}_{j}", 0.0)


def forget_sums(ground: Any) -> None:
    """Nothing is compared yet."""
    ground.gap_square = ground.size_square = 0.0
    for k in range(PAIRS):
        setattr(ground, f"toward_{k}", 0.0)
        setattr(ground, f"last_{k}", 0.0)


def weights(ground: Any, load: Any) -> Any:
    """Return how much gaps of components count: as parts of their own loads, as long as these are no small part of
    all."""
    least = SMALL * SMALL * ground.load_square
    least = where(least > 0.0, least, 1.0)
    return array([1.0 / (x * x + least) for x in load])


def better(ground: Any, owner: Any, prefix: str, load: Any) -> Any:
    """Return what loads are taken to make next, as before in lanes that are done."""
    goes, found = ground.unsettled > 0.5, []
    gap = getattr(owner, f"{prefix}gap")
    ways = [getattr(owner, f"{prefix}way_{k}") for k in range(PAIRS)]
    for c, now in enumerate(load):
        step = gap[c]
        for k, way in enumerate(ways):
            step = step - getattr(ground, f"part_{k}") * way[c]
        new = now + step
        found.append(where(goes, where(new > 0.0, new, 0.0), now))
    return array(found)


def compare(ground: Any, owner: Any, prefix: str, senses: Any, load: Any, bears: Any) -> None:
    """Find how far friction of components that slip is from what their loads make, remember how that has changed, and
    add up what says how loads go on."""
    before, moved = getattr(owner, f"{prefix}gap"), getattr(owner, f"{prefix}moved")
    counts = [slips(sense) for sense in senses]
    gap = array([where(c, b - x, 0.0) for c, b, x in zip(counts, bears, load)])
    learns = ground.learns > 0.5
    new: list[Any] = [gap - before, moved + gap - before]
    changes = []
    for k in range(PAIRS):
        names = f"{prefix}gap_change_{k}", f"{prefix}way_{k}"
        old = [getattr(owner, name) for name in names]
        kept = [array([where(learns, a, b) for a, b in zip(*both_of)]) for both_of in zip(new, old)]
        for name, value in zip(names, kept):
            setattr(owner, name, value)
        changes.append(kept[0])
        new = old
    setattr(owner, f"{prefix}gap", gap)
    weight = getattr(owner, f"{prefix}load_weight")
    weighed, last = weight * gap, weight * changes[0]
    ground.gap_square = ground.gap_square + gap @ weighed
    sizes = [where(c, w * (b * b + x * x), 0.0) for c, w, b, x in zip(counts, weight, bears, load)]
    ground.size_square = ground.size_square + sum(sizes)
    for k, change in enumerate(changes):
        _add(ground, f"toward_{k}", change @ weighed)
        _add(ground, f"last_{k}", change @ last)


def _add(ground: Any, name: str, part: Any) -> None:
    setattr(ground, name, getattr(ground, name) + part)


def begin_comparing(ground: Any) -> None:
    """Nothing is compared yet; a step that will not be taken needs no rounds any more."""
    ground.unsettled = where(ground.unfit > 0.5, 0.0, 1.0)
    ground.learns = 0.0
    forget_sums(ground)


def weigh_gaps(ground: Any) -> None:
    """Decide whether friction fits, and of which changes the gap is made."""
    rtol, square = ground.rtol, ground.gap_square
    allowed = where(rtol > LEAST, where(rtol < MOST, rtol, MOST), LEAST)
    agrees = square <= allowed * allowed * ground.size_square
    ground.unsettled, learnt = where(agrees, 0.0, ground.unsettled), ground.learns > 0.5
    tells = square > TELLING * TELLING * ground.size_square
    ground.learns = where(both(ground.unsettled > 0.5, tells), 1.0, 0.0)
    gram = _with_last(ground, learnt)
    parts = _least_squares(gram, [getattr(ground, f"toward_{i}") for i in range(PAIRS)])
    for k, part in enumerate(parts):
        setattr(ground, f"part_{k}", part)
    forget_sums(ground)


def _with_last(ground: Any, learnt: Any) -> list[list[Any]]:
    """Return the products of changes, to which the last one may have come, and remember them."""
    old = [[getattr(ground, f"gram_{i}_{j}") for j in range(i + 1)] for i in range(PAIRS)]
    new = [[getattr(ground, f"last_{i}")] for i in range(PAIRS)]
    for i, row in enumerate(new):
        row += [where(learnt, old[i - 1][j - 1], old[i][j]) for j in range(1, i + 1)]
        for j, product in enumerate(row):
            setattr(ground, f"gram_{i}_{j}", product)
    return new


def _least_squares(gram: list[list[Any]], toward: list[Any]) -> list[Any]:
    """Return the x with gram x = toward, zero for what differs from others by nothing: L D L^T, the last changes
    first."""
    n = len(toward)
    L, D_inv = [[0.0] * n for _ in range(n)], [0.0] * n
    y = list(toward)
    D: list[Any] = [0.0] * n
    for i in range(n):
        for j in range(i):
            L[i][j] = D_inv[j] * (gram[i][j] - sum(L[i][k] * D[k] * L[j][k] for k in range(j)))
        D[i] = gram[i][i] - sum(L[i][k] * L[i][k] * D[k] for k in range(i))
        counts = D[i] > ALIKE * gram[i][i]
        D_inv[i] = where(counts, 1.0 / where(counts, D[i], 1.0), 0.0)
        y[i] = y[i] - sum(L[i][k] * y[k] for k in range(i))
    x: list[Any] = [0.0] * n
    for i in reversed(range(n)):
        x[i] = D_inv[i] * y[i] - sum(L[k][i] * x[k] for k in range(i + 1, n))
    return x
