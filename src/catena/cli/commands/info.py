"""`catena info`: what a model consists of, and what its loops do to it."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterable
from typing import Any

from catena.cli.console import Console, Exit, counted
from catena.cli.description import describe, describe_loops, describe_state, plain
from catena.cli.options import add_model, add_state, initial_state, model_of
from catena.cli.parsing import Commands, by_name

ABOUT = "describe a model: bodies, joints, loops, mobility, redundancy"
EXAMPLES = """  catena info four_bar
  catena info 'n_four_bars(2)' --q pin0=90deg
  catena info robot.toml --json"""
# How many redundant constraints are worth listing to the eye.
SHOWN = 6
# What closing loops leaves of a zero is not worth the digits.
ROUNDING = 1e-12


def add(commands: Commands) -> None:
    """Add the command and its options."""
    parser = commands.add("info", ABOUT, execute, examples=EXAMPLES)
    add_model(parser)
    add_state(parser)
    parser.add_argument("--json", action="store_true", help="print everything as JSON")


def execute(arguments: Namespace, console: Console) -> int:
    """Print tables, or everything as JSON. The parts are told even if no closed state is found."""
    system = model_of(arguments).system()
    about = describe(system)
    if not arguments.json:
        _print_parts(about, console)
    q, v = initial_state(system, by_name(arguments.q), by_name(arguments.v))
    diagnosis = system.diagnose(q)
    if arguments.json:
        about |= {"state": describe_state(system, q, v), "loops": describe_loops(diagnosis)}
        console.result(json.dumps(about, indent=2, allow_nan=False))
        return Exit.OK
    state = describe_state(system, q, v)
    console.say()
    console.title("state")
    rows = [(name, _cell(x), _cell(state["v"].get(name, "-"))) for name, x in state["q"].items()]
    console.table(rows, ("joint", "position", "velocity"))
    console.say()
    _print_loops(str(diagnosis), console)
    return Exit.OK


def _print_parts(about: dict[str, Any], console: Console) -> None:
    joints = about["joints"]
    loops = sum(joint["role"] == "loop" for joint in joints)
    bodies = f"{counted(len(about['bodies']), 'body', 'bodies')} of {about['mass']:.6g} kg"
    parts = (bodies, counted(len(joints), "joint"), counted(loops, "loop"))
    console.title(about["name"])
    console.say(
        f"{', '.join(parts)}, nq = {about['nq']}, nv = {about['nv']}, gravity {_cell(about['gravity'])} m/s^2"
    )
    _section("bodies", ("body", "mass [kg]", "mass centre [m]"), _bodies(about), console)
    _section("joints", ("joint", "kind", "parent", "child", "dof", "role", "more"), _joints(joints), console)
    _section("frames", ("frame", "body"), [(f["name"], f["body"]) for f in about["frames"]], console)
    _section("actuators", ("actuator", "joint", "gear", "limits"), _actuators(about), console)
    _section("springs", ("spring", "acts on", "stiffness", "damping"), _springs(about), console)
    _section("wrenches", ("wrench", "frame", "moment [N m]", "force [N]", "axes"), _wrenches(about), console)
    _section("forces", ("force", "kind", "acts on"), _forces(about), console)
    couplings = [(c["name"], c["equation"]) for c in about["couplings"]]
    _section("couplings", ("coupling", "equation between positions"), couplings, console)


def _section(title: str, head: tuple[str, ...], rows: Iterable[tuple[str, ...]], console: Console) -> None:
    rows = list(rows)
    if rows:
        console.say()
        console.title(title)
        console.table(rows, head)


def _bodies(about: dict[str, Any]) -> Iterable[tuple[str, ...]]:
    return [(b["name"], f"{b['mass']:.6g}", _cell(b["com"])) for b in about["bodies"]]


def _joints(joints: list[dict[str, Any]]) -> Iterable[tuple[str, ...]]:
    for j in joints:
        more = [f"{key} {_cell(j[key])}" for key in ("damping", "friction") if any(j[key])]
        if j["armature"] is not None and any(j["armature"]):
            more.append(f"armature {_cell(j['armature'])}")
        if j["limits"] is not None:
            more.append(f"limits {_cell(j['limits'])}")
        if j["locked_at"] is not None:
            more.append(f"locked at {_cell(j['locked_at'])}")
        if j["dof"] and not j["actuated"]:
            more.append("passive")
        if isinstance(j["actuated"], list):
            more.append(f"driven {_cell(j['actuated'])}")
        yield j["name"], j["kind"], j["parent"], j["child"], str(j["dof"]), j["role"], ", ".join(more)


def _actuators(about: dict[str, Any]) -> Iterable[tuple[str, ...]]:
    return [(a["name"], a["joint"], _cell(a["gear"]), _cell(a["limits"])) for a in about["actuators"]]


def _springs(about: dict[str, Any]) -> Iterable[tuple[str, ...]]:
    for s in about["springs"]:
        acts_on = s["joint"] if "joint" in s else f"{s['frame_a']} - {s['frame_b']}"
        yield s["name"], acts_on, _cell(s["stiffness"]), _cell(s["damping"])


def _wrenches(about: dict[str, Any]) -> Iterable[tuple[str, ...]]:
    return [
        (w["name"], w["frame"], _cell(w["moment"]), _cell(w["force"]), w["axes"]) for w in about["wrenches"]
    ]


def _forces(about: dict[str, Any]) -> Iterable[tuple[str, ...]]:
    return [(f["name"], f["kind"], f.get("joint") or " - ".join(f["between"])) for f in about["forces"]]


def _print_loops(report: str, console: Console) -> None:
    """Write the diagnosis, with long lists of redundant constraints cut short."""
    console.title("loops")
    listed = 0
    for line in report.splitlines():
        listed = listed + 1 if line.startswith("  ") else 0
        if listed <= SHOWN:
            console.say(line)
        elif listed == SHOWN + 1:
            console.say("  ... (--json lists all)")


def _cell(value: Any) -> str:
    """Return numbers to a few digits, and lists of one as the number itself."""
    value = plain(value)
    if isinstance(value, list):
        return _cell(value[0]) if len(value) == 1 else f"({', '.join(map(_cell, value))})"
    if value is None:
        return "none"
    if isinstance(value, float):
        return f"{value:.5g}" if abs(value) > ROUNDING else "0"
    return str(value)
