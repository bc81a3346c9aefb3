"""One line that says on what a benchmark ran: processor, lanes, threads, versions."""

import os
import platform
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import catena


def machine_line(lanes: int, threads: int) -> str:
    """A sentence to print above every table of times."""
    packages = ["numpy", "llvmlite", "pin", "mujoco"]
    if find_spec("exudyn") is not None:
        packages.append("exudyn")
    versions = ", ".join([f"catena {catena.__version__}", *(f"{each} {version(each)}" for each in packages)])
    hardware = f"{_processor()}, {os.cpu_count()} cores, {lanes} lanes, threads used: {threads}"
    return f"{hardware}; Python {platform.python_version()}, {versions}."


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
