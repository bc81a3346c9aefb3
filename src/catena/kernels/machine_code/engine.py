"""Compilation of LLVM text to machine code, and its loading from memory.

`compile_object` is the only place where anything is compiled; `compilations()` counts its calls, so that a
program can show that a changed mechanism needed none. All that LLVM does is done undisturbed: an interrupted call
leaves nothing behind that would be in the way of the next one.
"""

import atexit
import contextlib
import itertools
import threading
import time
import weakref
from collections import deque
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from catena.errors import KernelError
from catena.kernels.machine_code.cpu import target
from catena.kernels.machine_code.platforms import Platform, platform_of
from catena.kernels.undisturbed import hold_in_forks, undisturbed

_lock = threading.RLock()
hold_in_forks(_lock)
_count = 0
# LLVM knows every library by its name for good, whether anybody has heard of it or not.
_numbers = itertools.count()
discarded: deque[Any] = deque()
"""Code that nobody holds any more. It is removed when the next is loaded."""


class Code:
    """Machine code in this process, by the addresses of its functions. It goes when nobody holds this object any
    more."""

    def __init__(self, addresses: dict[str, int], tracker: Any) -> None:
        self._addresses = addresses
        # Whoever happens to drop it must not be the one who calls LLVM, so it is removed later.
        weakref.finalize(self, discarded.append, tracker).atexit = False

    def __getitem__(self, symbol: str) -> int:
        return self._addresses[symbol]

    def __contains__(self, symbol: object) -> bool:
        return symbol in self._addresses


def compilations() -> int:
    """Return how many pieces of machine code this process has compiled so far (loading from the cache does not
    count)."""
    return _count


def compile_seconds() -> float:
    """Return how many seconds this process has spent tracing steps and compiling them so far."""
    return _seconds


@contextlib.contextmanager
def timed() -> Iterator[None]:
    """Count the time that is spent in this block as time of compiling; blocks do not lie within each other."""
    global _seconds
    began = time.perf_counter()
    try:
        yield
    finally:
        _seconds += time.perf_counter() - began


_seconds = 0.0


@lru_cache(maxsize=1)
def _machine() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    chosen = target()
    # A process that ends while LLVM works would take its tables away from under it.
    atexit.register(_finish)
    return target_machine(llvm.get_default_triple(), chosen.name, chosen.features)


def target_machine(triple: str, cpu: str = "", features: str = "") -> Any:
    """Return LLVM's description of the machines that code is compiled for: the system, which LLVM must have been made
    ready for, the name of the processor and its features (empty: what all processors of the sort have)."""
    import llvmlite.binding as llvm

    return llvm.Target.from_triple(triple).create_target_machine(
        cpu=cpu, features=features, opt=3, reloc="pic", codemodel=platform_of(triple).code_model
    )


@lru_cache(maxsize=1)
def native_platform() -> Platform:
    """Return how code is compiled and linked for the system that this process runs on."""
    import llvmlite.binding as llvm

    return undisturbed(lambda: platform_of(llvm.get_default_triple()))


@lru_cache(maxsize=1)
def _linker() -> Any:
    import llvmlite.binding as llvm

    linked = native_platform().uses_jit_link
    return llvm.create_lljit_compiler(_machine(), use_jit_link=linked, suppress_errors=False)


def _finish() -> None:
    with _lock:
        pass


def prepare_tracing() -> None:
    """Import CasADi, with which steps are traced, undisturbed: an interrupted import cannot be repeated."""

    def work() -> None:
        with _lock:
            import casadi  # noqa: F401

    undisturbed(work)


def compile_object(text: str) -> bytes:
    """Return machine code (an object file) of a module of LLVM text."""
    return undisturbed(lambda: _compile(text))


def load_object(name: str, code: bytes, symbols: list[str]) -> Code:
    """Link an object file into this process and return the addresses of `symbols`. `name` is for a
    debugger."""
    return undisturbed(lambda: _load(name, code, symbols))


def _compile(text: str) -> bytes:
    global _count
    with _lock:
        code = object_code(text, _machine())
        _count += 1
        return code


def object_code(text: str, machine: Any) -> bytes:
    """Return the object file of a module of LLVM text for a `target_machine`."""
    import llvmlite.binding as llvm

    try:
        module = llvm.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise KernelError(
            f"LLVM refuses a generated step: {error}. This is a bug in Catena's lowering."
        ) from error
    for function in module.functions:
        # No exception passes through compiled code. Windows' tables of how to unwind it would have to lie within reach
        # of the code (see `platforms`).
        if not function.is_declaration:
            function.add_function_attribute("nounwind")
    tuning = llvm.create_pipeline_tuning_options(speed_level=2)
    tuning.loop_vectorization = tuning.slp_vectorization = tuning.loop_unrolling = False
    builder = llvm.create_pass_builder(machine, tuning)
    passes = builder.getModulePassManager()
    passes.run(module, builder)
    _dispose(passes)
    return machine.emit_object(module)


def _dispose(passes: Any) -> None:
    """Free a pass manager. Its class inherits an empty `_dispose` before its own, so `close` would keep the tables of
    all passes for good, half a megabyte and more for each compilation."""
    from llvmlite.binding.ffi import ObjectRef
    from llvmlite.binding.newpassmanagers import NewPassManager

    if type(passes)._dispose is ObjectRef._dispose:
        NewPassManager._dispose(passes)
        passes.detach()
    else:
        passes.close()


def _load(name: str, code: bytes, symbols: list[str]) -> Code:
    import llvmlite.binding as llvm

    with _lock:
        while discarded:
            # What LLVM will not let go of stays, which is no reason to load nothing.
            with contextlib.suppress(RuntimeError):
                discarded.popleft().close()
        library = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
        for symbol in symbols:
            library.export_symbol(symbol)
        tracker = library.link(_linker(), f"{name}-{next(_numbers)}")
        return Code({symbol: tracker[symbol] for symbol in symbols}, tracker)
