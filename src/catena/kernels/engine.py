"""Compilation of LLVM text to machine code, and its loading from memory.

`compile_object` is the only place where anything is compiled; `compilations()` counts its calls, so that a
program can show that a changed mechanism needed none.
"""

import threading
from functools import lru_cache
from typing import Any

from catena.errors import KernelError
from catena.kernels.cpu import target

_lock = threading.RLock()
_count = 0
_loaded: list[Any] = []


def compilations() -> int:
    """How many pieces of machine code this process has compiled so far (loading from the cache does not
    count)."""
    return _count


@lru_cache(maxsize=1)
def _machine() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    chosen = target()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=chosen.name, features=chosen.features, opt=3, reloc="pic", codemodel="small"
    )


@lru_cache(maxsize=1)
def _linker() -> Any:
    import llvmlite.binding as llvm

    _machine()
    return llvm.create_lljit_compiler(_machine(), use_jit_link=False, suppress_errors=False)


def compile_object(text: str) -> bytes:
    """Machine code (an object file) of a module of LLVM text."""
    global _count
    import llvmlite.binding as llvm

    with _lock:
        machine = _machine()
        try:
            module = llvm.parse_assembly(text)
            module.verify()
        except RuntimeError as error:
            raise KernelError(
                f"LLVM refuses a generated step: {error}. This is a bug in Catena's lowering."
            ) from error
        tuning = llvm.create_pipeline_tuning_options(speed_level=2)
        tuning.loop_vectorization = tuning.slp_vectorization = tuning.loop_unrolling = False
        builder = llvm.create_pass_builder(machine, tuning)
        builder.getModulePassManager().run(module, builder)
        _count += 1
        return machine.emit_object(module)


def load_object(name: str, code: bytes, symbols: list[str]) -> dict[str, int]:
    """Link an object file into this process and return the addresses of `symbols`. `name` is for a
    debugger."""
    import llvmlite.binding as llvm

    with _lock:
        library = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
        for symbol in symbols:
            library.export_symbol(symbol)
        tracker = library.link(_linker(), f"{name}-{len(_loaded)}")
        _loaded.append(tracker)
        return {symbol: tracker[symbol] for symbol in symbols}
