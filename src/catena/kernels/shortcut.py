"""The shortest way from Python to a kernel for one state: a built-in function written in LLVM.

Converting three arrays through ctypes costs more than the dynamics of an arm. `shortcut` has the calling
convention of a CPython built-in (METH_FASTCALL): it looks at the arrays itself, and if each is a plain
one-dimensional float64 array of the right length and every quaternion is of unit length, it plays the tape
and returns a copy of the result. In every other case it returns None and the caller takes the ordinary way,
which also knows how to complain.

It reads the head of NumPy's array object, whose layout is part of NumPy's stable binary interface;
`is_trustworthy` makes sure of it once.
"""

import ctypes
import platform
import sys
from functools import lru_cache
from typing import Any

import numpy as np

from catena.kernels.driver import TABLE

# Offsets in bytes in CPython's object head and NumPy's array object.
_TYPE, DATA, _NDIM, _SHAPE, _STRIDES, _DTYPE = 8, 16, 24, 32, 40, 56


def text() -> str:
    """LLVM text of `shortcut`.

    Its `self` is an int64 array: 0 number of inputs, 1 array type, 2 float64 type object, 3 None, 4 arguments
    of the loop, 5 loop, 6 result's copy method, 7 input tables, 8 number of quaternions, 9 their byte offsets
    in the first input, 10 lengths of the inputs, 11 PyObject_CallNoArgs, 12 Py_IncRef.
    """

    def word(name: str, k: int, kind: str = "i64") -> str:
        return f"  %{name}_p = getelementptr i64, ptr %w, i64 {k}\n  %{name} = load {kind}, ptr %{name}_p, align 8"

    def member(name: str, base: str, offset: int, kind: str) -> str:
        return f"  %{name}_p = getelementptr i8, ptr {base}, i64 {offset}\n  %{name} = load {kind}, ptr %{name}_p"

    return f"""
define ptr @shortcut(ptr %self, ptr %args, i64 %nargs) {{
entry:
{member("w", "%self", DATA, "ptr")}
{word("n", 0)}
{word("array_type", 1, "ptr")}
{word("float64", 2, "ptr")}
{word("none", 3, "ptr")}
{word("arguments", 4, "ptr")}
{word("loop", 5, "ptr")}
{word("copy", 6, "ptr")}
{word("tables", 7, "ptr")}
{word("n_quaternions", 8)}
{word("quaternions", 9, "ptr")}
{word("lengths", 10, "ptr")}
{word("call_no_args", 11, "ptr")}
{word("incref", 12, "ptr")}
  %as_many = icmp eq i64 %nargs, %n
  br i1 %as_many, label %input, label %decline

input:
  %k = phi i64 [0, %entry], [%k1, %keep]
  %more = icmp slt i64 %k, %n
  br i1 %more, label %check, label %turn
check:
  %arg_p = getelementptr ptr, ptr %args, i64 %k
  %arg = load ptr, ptr %arg_p
{member("type", "%arg", _TYPE, "ptr")}
  %is_array = icmp eq ptr %type, %array_type
  br i1 %is_array, label %check_shape, label %decline
check_shape:
{member("ndim", "%arg", _NDIM, "i32")}
  %is_flat = icmp eq i32 %ndim, 1
  br i1 %is_flat, label %check_rest, label %decline
check_rest:
{member("shape", "%arg", _SHAPE, "ptr")}
  %length = load i64, ptr %shape
  %wanted_p = getelementptr i64, ptr %lengths, i64 %k
  %wanted = load i64, ptr %wanted_p
  %fits = icmp eq i64 %length, %wanted
{member("strides", "%arg", _STRIDES, "ptr")}
  %stride = load i64, ptr %strides
  %dense = icmp eq i64 %stride, 8
{member("dtype", "%arg", _DTYPE, "ptr")}
  %is_float64 = icmp eq ptr %dtype, %float64
{member("data", "%arg", DATA, "i64")}
  %low_bits = and i64 %data, 7
  %is_aligned = icmp eq i64 %low_bits, 0
  %ok1 = and i1 %fits, %dense
  %ok2 = and i1 %is_float64, %is_aligned
  %ok = and i1 %ok1, %ok2
  br i1 %ok, label %keep, label %decline
keep:
  %table = getelementptr [{TABLE} x i64], ptr %tables, i64 %k
  store i64 %data, ptr %table
  %k1 = add i64 %k, 1
  br label %input

turn:
  %j = phi i64 [0, %input], [%j1, %is_unit]
  %some = icmp slt i64 %j, %n_quaternions
  br i1 %some, label %quaternion, label %play
quaternion:
  %first = load ptr, ptr %tables
  %offset_p = getelementptr i64, ptr %quaternions, i64 %j
  %offset = load i64, ptr %offset_p
  %quaternion_p = getelementptr i8, ptr %first, i64 %offset
  %q = load <4 x double>, ptr %quaternion_p, align 8
  %qq = fmul <4 x double> %q, %q
  %qq_swapped = shufflevector <4 x double> %qq, <4 x double> poison, <4 x i32> <i32 2, i32 3, i32 0, i32 1>
  %pairs = fadd <4 x double> %qq, %qq_swapped
  %pair0 = extractelement <4 x double> %pairs, i64 0
  %pair1 = extractelement <4 x double> %pairs, i64 1
  %sum = fadd double %pair0, %pair1
  %square = fadd double %sum, -1.0
  %error = call double @llvm.fabs.f64(double %square)
  %unit = fcmp olt double %error, 0x3EC0C6F7A0B5ED8D
  br i1 %unit, label %is_unit, label %decline
is_unit:
  %j1 = add i64 %j, 1
  br label %turn

play:
  %status = call i64 %loop(ptr %arguments)
  %good = icmp eq i64 %status, 0
  br i1 %good, label %answer, label %decline
answer:
  %result = call ptr %call_no_args(ptr %copy)
  ret ptr %result
decline:
  call void %incref(ptr %none)
  ret ptr %none
}}
declare double @llvm.fabs.f64(double)
"""


@lru_cache(maxsize=1)
def is_trustworthy() -> bool:
    """Whether arrays are laid out as `shortcut` reads them: CPython with its lock, and a NumPy that passes
    the test."""
    if platform.python_implementation() != "CPython" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    if not getattr(sys, "_is_gil_enabled", lambda: True)() or sys.byteorder != "little":
        return False
    a = np.arange(6.0).reshape(2, 3)[:, 1]

    def read(offset: int, kind: Any = ctypes.c_int64) -> int:
        return int(kind.from_address(id(a) + offset).value)

    return (
        read(_TYPE) == id(np.ndarray) and read(DATA) == a.ctypes.data and read(_NDIM, ctypes.c_int32) == 1
        and ctypes.c_int64.from_address(read(_SHAPE)).value == 2
        and ctypes.c_int64.from_address(read(_STRIDES)).value == 24
        and read(_DTYPE) == id(np.dtype(np.float64))
    )  # fmt: skip


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p), ("method", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p),
    )  # fmt: skip


_METH_FASTCALL = 0x0080


class _Keeper(np.ndarray):
    """An array that keeps other objects alive."""

    kept: tuple[Any, ...] = ()


def make(
    address: int,
    loop: int,
    words: np.ndarray,
    tables: np.ndarray,
    result: np.ndarray,
    lengths: np.ndarray,
    quaternions: np.ndarray,
    keep: tuple[Any, ...] = (),
) -> Any:
    """A built-in function of as many arrays as there are input `tables`; everything it points to, and `keep`,
    stays alive with it."""
    api = ctypes.pythonapi
    copy = result.copy
    own = np.array(
        [len(tables), id(np.ndarray), id(np.dtype(np.float64)), id(None), words.ctypes.data, loop, id(copy),
         tables.ctypes.data, len(quaternions), quaternions.ctypes.data, lengths.ctypes.data,
         *(ctypes.cast(f, ctypes.c_void_p).value for f in (api.PyObject_CallNoArgs, api.Py_IncRef))],
        dtype=np.int64,
    ).view(_Keeper)  # fmt: skip
    definition = _MethodDef(b"shortcut", address, _METH_FASTCALL, None)
    own.kept = (definition, words, tables, result, copy, lengths, quaternions, keep)
    new = api.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return new(ctypes.addressof(definition), own, None)
