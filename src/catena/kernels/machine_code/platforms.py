"""What compiled code needs to know of the system it will run on besides the processor: how far apart its parts may lie,
who links it into the process, and how a thread tells the processor that it waits.

Constants lie in a section of their own beside the code. LLVM has two linkers. JITLink reserves one stretch of memory
for all sections of an object, so that addresses relative to the code reach everywhere; it knows the object files of
Linux and macOS. RuntimeDyld, which is left for Windows, asks for memory section by section, and the parts may come to
lie anywhere. Where they lie too far apart for the instructions, the process ends without a word in Python. So nothing
may depend on the distance: there is no table of how to unwind functions (`engine` sees to that), and on x86-64
addresses are written in full. For ARM under Windows LLVM has no such form.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Platform:
    """How code is compiled and linked for systems of one sort: LLVM's name of how far addresses reach, whether JITLink
    links it, and lines of LLVM text: the declaration and the call of an instruction that makes a loop of waiting
    cheap for others (empty where none is known), and those of a clock (a constant where programs may not read one)."""

    code_model: str
    uses_jit_link: bool
    declare_pause: str
    pause: str
    declare_clock: str
    clock: str


def platform_of(triple: str) -> Platform:
    """Return what is to be known of the system that LLVM calls by this triple, as "x86_64-unknown-linux-gnu"."""
    processor, _, system = triple.partition("-")
    is_x86 = processor in ("x86_64", "amd64")
    is_windows = "windows" in system
    declare_clock, clock = "", "add i64 0, 0"
    if is_x86:
        declare_clock, clock = "declare i64 @llvm.readcyclecounter()", "call i64 @llvm.readcyclecounter()"
        declare, pause = "declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()"
    elif processor.startswith(("aarch64", "arm64")):
        # YIELD takes no time on most of these processors; a barrier for instructions waits some tens of cycles.
        declare, pause = "declare void @llvm.aarch64.isb(i32)", "call void @llvm.aarch64.isb(i32 15)"
    else:
        declare, pause = "", ""
    model = "large" if is_windows and is_x86 else "small"
    return Platform(model, not is_windows, declare, pause, declare_clock, clock)
