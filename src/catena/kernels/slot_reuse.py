"""Slots that are used again: those whose content no later step reads, because the workspace of a long chain must not
outgrow the cache."""

from collections.abc import Mapping

from catena.kernels.machine_code.lowering import Slot
from catena.kernels.traced_records import RecordLayout, TracedStep

_FOR_EVER = 1_000_000


def reuse_slots(
    steps: dict[tuple[int, int], TracedStep],
    layout: RecordLayout,
    final: frozenset[str],
    inputs: frozenset[str],
    shared: int,
    together: frozenset[str],
) -> None:
    """Give private slots whose lives do not overlap the same place. Inputs live from the start, results until
    the end, and the first slots, which are shared, always and where they are. The slots of fields `together` stay one
    behind the other, as views read them."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for (index, _), step in steps.items():
        for slot in [*step.loads, *step.stores]:
            if slot.record == 0:
                first[slot.index] = min(first.get(slot.index, index), index)
                last[slot.index] = max(last.get(slot.index, index), index)
    for name, where in layout.fields.items():
        for e, in_slot in zip(where.entries, where.slots, strict=True):
            if in_slot and name in inputs:
                first[int(e)] = -1
            if in_slot and name in final:
                last[int(e)] = _FOR_EVER
    for k in range(shared):
        first[k], last[k] = -2, _FOR_EVER
    place: dict[int, int] = {}
    free: list[tuple[int, int]] = []  # (last use, place)
    size = shared
    for k in range(shared):
        place[k] = k
        free.append((_FOR_EVER, k))
    for name in sorted(together & layout.fields.keys()):
        for e in layout.fields[name].entries:
            place[int(e)] = size
            free.append((_FOR_EVER, size))
            size += 1
    for slot_index in sorted(first.keys() - place.keys(), key=lambda k: (first[k], k)):
        for k, (end, where_free) in enumerate(free):
            # A step reads a slot before it writes it, so the same step may end one life and begin another.
            if end <= first[slot_index] and end < last[slot_index]:
                place[slot_index] = where_free
                free[k] = (last[slot_index], where_free)
                break
        else:
            place[slot_index] = size
            free.append((last[slot_index], size))
            size += 1
    layout.size = size
    for where in layout.fields.values():
        where.entries = [
            place.get(int(e), 0) if s else e for e, s in zip(where.entries, where.slots, strict=True)
        ]
    for step in steps.values():
        step.loads = {_moved(s, place): x for s, x in step.loads.items()}
        step.stores = {_moved(s, place): x for s, x in step.stores.items()}


def _moved(slot: Slot, place: Mapping[int, int]) -> Slot:
    return Slot(0, place[slot.index]) if slot.record == 0 else slot
