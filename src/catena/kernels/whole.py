"""Steps on the whole state of one mechanism: traced, lowered and compiled for where its fields lie in the workspace.

Such a step is somebody's function of all coordinates, a control law for example. Its code depends on the mechanism, so
it is kept on disk by its text, and in memory as long as a tape uses it.
"""

from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

from catena.errors import KernelError
from catena.kernels.algorithm import FORCE_INPUTS, POSITION, VELOCITY, Algorithm, Step
from catena.kernels.code import CompiledUnit
from catena.kernels.machine_code import engine
from catena.kernels.machine_code.long_steps import lower_in_pieces
from catena.kernels.machine_code.lowering import Slot, prelude
from catena.kernels.machine_code.objects import compiled_object, object_name
from catena.kernels.sharing import owned_columns
from catena.kernels.traced_records import TracedStep
from catena.spatial.on_symbols import on_symbols
from catena.spatial.scalars import array

if TYPE_CHECKING:
    from catena.kernels.layout import Layout

_loaded: WeakValueDictionary[str, engine.Code] = WeakValueDictionary()


class TracedWhole:
    """The whole state as a step sees it while it is traced: whole arrays of symbols are read and written."""

    def __init__(self, step: TracedStep, slots: dict[str, np.ndarray], scalars: frozenset[str]) -> None:
        self.__dict__.update(_step=step, _slots=slots, _scalars=scalars, _values={})

    def __getattr__(self, name: str) -> Any:
        if name not in self._values:
            value = array([self._step.load(Slot(0, int(k))) for k in self._where(name)])
            self._values[name] = value[0] if name in self._scalars else value
        return self._values[name]

    def __setattr__(self, name: str, value: Any) -> None:
        slots, entries = self._where(name), np.ravel(np.asarray(value, dtype=object))
        if len(entries) != len(slots):
            raise KernelError(
                f"A step on the whole state gives {len(entries)} numbers for {name}, which has {len(slots)}."
            )
        for slot, entry in zip(slots, entries, strict=True):
            self._step.stores[Slot(0, int(slot))] = entry
        self._values[name] = value

    def _where(self, name: str) -> np.ndarray:
        if name not in self._slots:
            raise KernelError(
                f"A step on the whole state uses {name}, which is neither a field of bodies that goes in or comes out "
                f"of the algorithm, nor a field of the ground, nor the inputs of forces."
            )
        return self._slots[name]


def whole_step(algorithm: Algorithm, step: Step, layout: "Layout", ground: CompiledUnit) -> engine.Code:
    """Return the code, `whole`, of a step on the whole state of the mechanism with this layout."""
    with engine.timed():
        engine.prepare_tracing()
        slots, scalars = _slots(algorithm, layout, ground)
        traced = TracedStep()
        with on_symbols("a control law, or another function of the whole state,"):
            step(TracedWhole(traced, slots, scalars))
        lanes = layout.lanes
        loads, stores = list(traced.loads.items()), list(traced.stores.items())
        text = prelude(lanes) + lower_in_pieces("whole", loads, stores, lanes)
        name = object_name(text)
        loaded = _loaded.get(name)
        if loaded is None:
            _, code = compiled_object(text)
            loaded = _loaded[name] = engine.load_object("whole", code, ["whole"])
    return loaded


def _slots(
    algorithm: Algorithm, layout: "Layout", ground: CompiledUnit
) -> tuple[dict[str, np.ndarray], frozenset[str]]:
    """Return where every field lies, counted in slots from the start of the workspace, and the ground's single
    numbers."""
    slots: dict[str, np.ndarray] = {n: np.array(where) for n, where in ground.fields.items()}
    single = frozenset(
        n for n in ground.fields if n not in algorithm.ground_inputs or algorithm.ground_inputs[n].size == 1
    )
    plan = layout.described or layout.plan
    for name, extent in {**algorithm.outputs, **algorithm.inputs}.items():
        if extent in (POSITION, VELOCITY):
            where = np.zeros(plan.nq if extent is POSITION else plan.nv, dtype=np.int64)
            table = layout.body_table(name, extent)
            if plan.owner is not None:
                table = owned_columns(table, plan, extent)
            for column, offset in table // np.array([8, layout.slot_bytes]):
                where[column] = offset
            slots[name] = where
    slots[FORCE_INPUTS] = layout.force_table("inputs")[:, 1] // layout.slot_bytes
    return slots, single
