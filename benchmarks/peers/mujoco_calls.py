"""MuJoCo's forward and inverse dynamics as calls without arguments, ready to be timed.

`mj_forward` and `mj_inverse` work on one state. The batch calls loop over them in machine code, as a C
program would: copy a state in, call, copy the result out. `mujoco.rollout`, the batched path of MuJoCo's
own Python package, steps instead: it adds an integration and copies whole physics states, and it is slower
than this loop.

What `mj_forward` does beyond accelerations: the mass matrix and its factorisation, centres of mass, frames
of all bodies, and a look for contacts, tendons, actuators and sensors, of which there are none here.
"""

import ctypes
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.mujoco_model import to_mujoco

Array = NDArray[np.float64]

# for i in range(n): data.a, data.b, data.c = A[i], B[i], C[i]; function(model, data); OUT[i] = data.out
LOOP = """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define void @loop(ptr %function, ptr %model, ptr %data, ptr %a, ptr %b, ptr %c, ptr %out,
                  ptr %A, ptr %B, ptr %C, ptr %OUT, i64 %n, i64 %q_bytes, i64 %v_bytes) {
entry:
  br label %next
next:
  %i = phi i64 [0, %entry], [%i1, %next]
  %q_at = mul i64 %i, %q_bytes
  %v_at = mul i64 %i, %v_bytes
  %Ai = getelementptr i8, ptr %A, i64 %q_at
  %Bi = getelementptr i8, ptr %B, i64 %v_at
  %Ci = getelementptr i8, ptr %C, i64 %v_at
  %OUTi = getelementptr i8, ptr %OUT, i64 %v_at
  call void @llvm.memcpy.p0.p0.i64(ptr %a, ptr %Ai, i64 %q_bytes, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %b, ptr %Bi, i64 %v_bytes, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %c, ptr %Ci, i64 %v_bytes, i1 false)
  call void %function(ptr %model, ptr %data)
  call void @llvm.memcpy.p0.p0.i64(ptr %OUTi, ptr %out, i64 %v_bytes, i1 false)
  %i1 = add i64 %i, 1
  %more = icmp slt i64 %i1, %n
  br i1 %more, label %next, label %done
done:
  ret void
}
"""


def forward_batch(mechanism: Any, q: Array, v: Array, tau: Array) -> Callable[[], Array]:
    """`mj_forward` for every state of the batch; the call returns MuJoCo's accelerations (batch, nv)."""
    model, to = to_mujoco(mechanism)
    arguments = (to.configuration(q), to.velocity(q, v), to.effort(q, v, tau))
    return batch_of("mj_forward", model, arguments, ("qpos", "qvel", "qfrc_applied"), "qacc")


def inverse_batch(mechanism: Any, q: Array, v: Array, vdot: Array) -> Callable[[], Array]:
    """`mj_inverse` for every state of the batch; the call returns MuJoCo's efforts (batch, nv)."""
    model, to = to_mujoco(mechanism)
    arguments = (to.configuration(q), to.velocity(q, v), to.acceleration(q, v, vdot))
    return batch_of("mj_inverse", model, arguments, ("qpos", "qvel", "qacc"), "qfrc_inverse")


def forward_single(mechanism: Any, q: Array, v: Array, tau: Array) -> Callable[[], Array]:
    """One `mj_forward` call from Python for one state (n,), with the state copied in and the result out."""
    model, to = to_mujoco(mechanism)
    data = mujoco.MjData(model)
    qpos, qvel, applied = to.configuration(q), to.velocity(q, v), to.effort(q, v, tau)

    def call() -> Array:
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = qpos, qvel, applied
        mujoco.mj_forward(model, data)
        return data.qacc.copy()

    return call


def batch_of(
    name: str, model: mujoco.MjModel, arguments: tuple[Array, ...], fields: tuple[str, ...], result: str
) -> Callable[[], Array]:
    """A MuJoCo function of one state for every row of `arguments`, which go to the named fields of its data; the call
    returns the field `result` (batch, nv)."""
    data = mujoco.MjData(model)
    inputs = [np.ascontiguousarray(argument) for argument in arguments]
    output = np.zeros_like(inputs[1])
    pointers = [_function(name), model._address, data._address]
    pointers += [getattr(data, field).ctypes.data for field in (*fields, result)]
    pointers += [array.ctypes.data for array in (*inputs, output)]
    sizes = [len(output), 8 * model.nq, 8 * model.nv]

    def call() -> Array:
        # `data` and `inputs` are named here so that they live as long as the call does.
        _ = data, inputs
        _loop()(*pointers, *sizes)
        return output

    return call


def _function(name: str) -> int:
    """The address of a function of MuJoCo's shared library, which importing mujoco has loaded already."""
    library = next(Path(mujoco.__file__).parent.glob("libmujoco*"))
    return ctypes.cast(getattr(ctypes.CDLL(str(library)), name), ctypes.c_void_p).value or 0


@lru_cache(maxsize=1)
def _loop() -> Callable[..., None]:
    """LOOP as a function that Python can call; it keeps the engine that owns the machine code alive."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(opt=2, jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(LOOP), machine)
    engine.finalize_object()
    signature = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 11, *[ctypes.c_int64] * 3)
    function = signature(engine.get_function_address("loop"))
    return lambda *arguments, _engine=engine: function(*arguments)
