"""What the processor offers: how many float64 lanes one vector register holds, and the name to compile
for."""

import os
from dataclasses import dataclass
from functools import lru_cache

from catena.errors import KernelError
from catena.kernels.undisturbed import undisturbed


@dataclass(frozen=True)
class Target:
    """The processor that kernels are compiled for: its name, its features and the number of lanes W."""

    name: str
    features: str
    lanes: int


@lru_cache(maxsize=1)
def target() -> Target:
    """Return the processor of this machine. `CATENA_LANES` (2, 4 or 8) overrides the number of lanes."""
    return undisturbed(_target)


def _target() -> Target:
    import llvmlite.binding as llvm

    features = llvm.get_host_cpu_features()
    lanes = 8 if features.get("avx512f") else 4 if features.get("avx") else 2
    asked = os.environ.get("CATENA_LANES")
    if asked is not None:
        if asked not in ("2", "4", "8"):
            raise KernelError(f"CATENA_LANES is {asked!r}; set it to 2, 4 or 8, or leave it unset.")
        lanes = int(asked)
    # LLVM splits 512-bit vectors in two on processors where it fears a lower clock, unless told not to.
    flags = features.flatten() + (",-prefer-256-bit" if features.get("avx512f") else "")
    return Target(llvm.get_host_cpu_name(), flags, lanes)
