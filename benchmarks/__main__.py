"""Prints the benchmarks as Markdown: `python -m benchmarks [name ...]`."""

import argparse
import importlib

NAMES = (
    "batches", "single_states", "scaling", "loops", "starting", "work_precision", "rollouts", "control_loop", "forces",
    "what_acts", "tolerances", "specialised", "derivatives", "loading", "everyday", "changes", "flexible",
    "dry_friction", "contacts", "asked", "cancelling", "one_state", "studies", "time_stepping", "pages", "laws",
)  # fmt: skip


def main() -> None:
    """Run the benchmarks that were asked for, all of them by default."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"any of {', '.join(NAMES)}")
    names = parser.parse_args().names or NAMES
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}; there are {', '.join(NAMES)}")
    from benchmarks.machine import machine_line
    from catena.kernels.machine_code.cpu import target

    print(machine_line(target().lanes, threads=1), end="\n\n", flush=True)
    for name in names:
        print(importlib.import_module(f"benchmarks.{name}").report(), flush=True)


if __name__ == "__main__":
    main()
