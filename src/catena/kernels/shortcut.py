"""The shortest way from Python to a kernel for one state: a built-in function written in LLVM.

Converting three arrays through ctypes costs more than the dynamics of an arm. `shortcut` has the calling
convention of a CPython built-in (METH_FASTCALL): it looks at the arrays itself, and if each is a plain
one-dimensional float64 array of the right length and every quaternion is of unit length, it plays the tape
into a new array and returns that. In every other case it returns None and the caller takes the ordinary way,
which also knows how to complain.

Threads share its tables and its workspace, one after the other: Python's lock is held from where addresses go into
the tables until all results are in arrays that nobody else has. What is called in between, an allocation, neither
gives the lock away nor runs anything of Python's.

It reads the head of NumPy's array object and makes arrays with NumPy's own function, both of which are part of NumPy's
stable binary interface; `is_trustworthy` makes sure of them once.
"""

import ctypes
import math
import platform
import sys
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from catena.kernels.driver import TABLE
from catena.kernels.machine_code.engine import Code
from catena.kernels.machine_code.llvm_text import words

# Offsets in bytes in CPython's object head and NumPy's array object.
_TYPE, DATA, _NDIM, _SHAPE, _STRIDES, _DTYPE = 8, 16, 24, 32, 40, 56
# NumPy's number for float64, and the place of PyArray_New in its table of functions.
_FLOAT64, _PYARRAY_NEW = 12, 93


def text() -> str:
    """Return LLVM text of `shortcut`.

    Its `self` is an int64 array: 0 number of inputs, 1 array type, 2 float64 type object, 3 None, 4 arguments of the
    loop, 5 loop, 6 input tables, 7 output tables, 8 number of outputs, 9 dimensions of the first, 10 their sizes, 11
    how many numbers the others have together, 12 where each output begins among these, in bytes, 13 number of
    quaternions, 14 their byte offsets in the first input, 15 lengths of the inputs, 16 PyArray_New, 17 Py_IncRef, 18
    Py_DecRef, 19 PyTuple_New, 20 PyTuple_SetItem. With several outputs the result is a pair: the first, and all others
    one after the other.
    """

    def member(name: str, base: str, offset: int, kind: str) -> str:
        return f"  %{name}_p = getelementptr i8, ptr {base}, i64 {offset}\n  %{name} = load {kind}, ptr %{name}_p"

    def new_array(name: str, dimensions: str, sizes: str) -> str:
        rest = f"i32 {_FLOAT64}, ptr null, ptr null, i32 0, i32 0, ptr null"
        return f"  %{name} = call ptr %new(ptr %array_type, i32 {dimensions}, ptr {sizes}, {rest})"

    return f"""
define ptr @shortcut(ptr %self, ptr %args, i64 %nargs) {{
entry:
{member("w", "%self", DATA, "ptr")}
{words("%w", 0, "n, array_type ptr, float64 ptr, none ptr, arguments ptr, loop ptr, tables ptr, out_tables ptr")}
{words("%w", 8, "n_out, dimensions i32, sizes ptr")}
  %others_size = getelementptr i64, ptr %w, i64 11
{words("%w", 12, "places ptr, n_quaternions, quaternions ptr, lengths ptr, new ptr")}
{words("%w", 17, "incref ptr, decref ptr, new_tuple ptr, set_item ptr")}
  %as_many = icmp eq i64 %nargs, %n
  br i1 %as_many, label %input, label %decline

input:
  %k = phi i64 [0, %entry], [%k1, %next_input]
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
  br i1 %ok, label %next_input, label %decline
next_input:
  %k1 = add i64 %k, 1
  br label %input

turn:
  %j = phi i64 [0, %input], [%j1, %is_unit]
  %some = icmp slt i64 %j, %n_quaternions
  br i1 %some, label %quaternion, label %make
quaternion:
  %first_arg = load ptr, ptr %args
{member("first", "%first_arg", DATA, "ptr")}
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

make:
{new_array("result", "%dimensions", "%sizes")}
  %made = icmp ne ptr %result, null
  br i1 %made, label %result_place, label %fail
result_place:
{member("result_data", "%result", DATA, "ptr")}
  store ptr %result_data, ptr %out_tables
  %alone = icmp eq i64 %n_out, 1
  br i1 %alone, label %given, label %make_others
make_others:
{new_array("new_others", "1", "%others_size")}
  %made_others = icmp ne ptr %new_others, null
  br i1 %made_others, label %others_place, label %drop
others_place:
{member("others_data", "%new_others", DATA, "ptr")}
  br label %output
output:
  %m = phi i64 [1, %others_place], [%m1, %output_place]
  %m_more = icmp slt i64 %m, %n_out
  br i1 %m_more, label %output_place, label %given
output_place:
  %place_p = getelementptr i64, ptr %places, i64 %m
  %place = load i64, ptr %place_p
  %out_data = getelementptr i8, ptr %others_data, i64 %place
  %out_table = getelementptr [{TABLE} x i64], ptr %out_tables, i64 %m
  store ptr %out_data, ptr %out_table
  %m1 = add i64 %m, 1
  br label %output

given:
  %others = phi ptr [null, %result_place], [%new_others, %output]
  br label %give
give:
  %i = phi i64 [0, %given], [%i1, %give_one]
  %i_more = icmp slt i64 %i, %n
  br i1 %i_more, label %give_one, label %play
give_one:
  %given_p = getelementptr ptr, ptr %args, i64 %i
  %array = load ptr, ptr %given_p
{member("array_data", "%array", DATA, "i64")}
  %table = getelementptr [{TABLE} x i64], ptr %tables, i64 %i
  store i64 %array_data, ptr %table
  %i1 = add i64 %i, 1
  br label %give

play:
  %status = call i64 %loop(ptr %arguments)
  %good = icmp eq i64 %status, 0
  br i1 %good, label %answer, label %drop_both
answer:
  br i1 %alone, label %answer_one, label %answer_pair
answer_one:
  ret ptr %result
answer_pair:
  %pair = call ptr %new_tuple(i64 2)
  %paired = icmp ne ptr %pair, null
  br i1 %paired, label %fill_pair, label %drop_pair
fill_pair:
  %filled0 = call i32 %set_item(ptr %pair, i64 0, ptr %result)
  %filled1 = call i32 %set_item(ptr %pair, i64 1, ptr %others)
  ret ptr %pair

drop_pair:
  call void %decref(ptr %others)
  br label %drop
drop:
  call void %decref(ptr %result)
  br label %fail
fail:
  ret ptr null
drop_both:
  call void %decref(ptr %result)
  br i1 %alone, label %decline, label %drop_others
drop_others:
  call void %decref(ptr %others)
  br label %decline
decline:
  call void %incref(ptr %none)
  ret ptr %none
}}
declare double @llvm.fabs.f64(double)
"""


@lru_cache(maxsize=1)
def is_trustworthy() -> bool:
    """Return whether arrays are laid out and made as `shortcut` does it: CPython with its lock, and a NumPy that
    passes the test."""
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
        and read(_DTYPE) == id(np.dtype(np.float64)) and _makes_arrays()
    )  # fmt: skip


def _makes_arrays() -> bool:
    """Return whether NumPy's function is where it should be and does what it should."""
    address = _new_array()
    if not address:
        return False
    call = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.py_object, ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p,
        ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_void_p,
    )(address)  # fmt: skip
    sizes = np.array([2, 3], dtype=np.int64)
    a = call(np.ndarray, 2, sizes.ctypes.data, _FLOAT64, None, None, 0, 0, None)
    is_new = type(a) is np.ndarray and a.shape == (2, 3) and a.base is None
    return is_new and a.dtype is np.dtype(np.float64) and a.flags.carray


@lru_cache(maxsize=1)
def _new_array() -> int:
    """Return the address of PyArray_New in the table of functions that NumPy offers to compiled code; 0 if there is
    none."""
    core = np._core if hasattr(np, "_core") else np.core
    table = getattr(core._multiarray_umath, "_ARRAY_API", None)
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    if type(table).__name__ != "PyCapsule":
        return 0
    functions = ctypes.cast(get(table, None), ctypes.POINTER(ctypes.c_void_p))
    return functions[_PYARRAY_NEW] or 0


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p), ("method", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p),
    )  # fmt: skip


_METH_FASTCALL = 0x0080


class _Keeper(np.ndarray):
    """An array that keeps other objects alive."""

    kept: tuple[Any, ...] = ()


def make(
    code: Code,
    words: np.ndarray,
    tables: np.ndarray,
    out_tables: np.ndarray,
    shapes: Sequence[tuple[int, ...]],
    lengths: Sequence[int],
    quaternions: Sequence[int],
    loop: str = "run_one",
    keep: tuple[Any, ...] = (),
) -> Any:
    """Return a built-in function of as many arrays as there are input `tables`, with outputs of these shapes, that
    calls this loop; everything it points to, and `keep`, stays alive with it."""
    api = ctypes.pythonapi
    functions = (api.Py_IncRef, api.Py_DecRef, api.PyTuple_New, api.PyTuple_SetItem)
    sizes = [0, *(math.prod(shape) for shape in shapes[1:])]
    first, starts, long, turned = (
        np.array(x, dtype=np.int64)
        for x in (
            shapes[0],
            8 * np.cumsum([0, *sizes[:-1]]),
            lengths,
            8 * np.array(quaternions, dtype=np.int64),
        )
    )
    own = np.array(
        [len(tables), id(np.ndarray), id(np.dtype(np.float64)), id(None), words.ctypes.data, code[loop],
         tables.ctypes.data, out_tables.ctypes.data, len(out_tables), len(first), first.ctypes.data, sum(sizes),
         starts.ctypes.data, len(turned), turned.ctypes.data, long.ctypes.data, _new_array(),
         *(ctypes.cast(f, ctypes.c_void_p).value for f in functions)],
        dtype=np.int64,
    ).view(_Keeper)  # fmt: skip
    definition = _MethodDef(b"shortcut", code["shortcut"], _METH_FASTCALL, None)
    own.kept = (definition, code, words, tables, out_tables, first, starts, long, turned, keep)
    new = api.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return new(ctypes.addressof(definition), own, None)
