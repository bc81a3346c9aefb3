"""Tracing of steps, lowering to machine code in lanes, caching and threads. Knows no algorithm."""

from catena.kernels import plain
from catena.kernels.algorithm import (
    ASSIGN,
    COLUMNS,
    MATRIX,
    POSITION,
    ROWS,
    VELOCITY,
    Algorithm,
    Entry,
    JointRows,
    OnCall,
    Schedule,
    Sweep,
    at_frame,
    at_ground,
    base_to_tip,
    columns_to_base,
    each_body,
    on_call,
    tip_to_base,
    whole_state,
    with_ground,
)
from catena.kernels.code import building
from catena.kernels.cpu import target
from catena.kernels.engine import compilations
from catena.kernels.plain import is_plain, plain_numbers, play
from catena.kernels.program import Program
from catena.kernels.tape import Constants, build_tape
from catena.kernels.threads import set_threads, threads

__all__ = [
    "COLUMNS",
    "MATRIX",
    "POSITION",
    "ROWS",
    "VELOCITY",
    "ASSIGN",
    "Algorithm",
    "Constants",
    "Entry",
    "JointRows",
    "OnCall",
    "Program",
    "Schedule",
    "Sweep",
    "at_frame",
    "at_ground",
    "base_to_tip",
    "build_tape",
    "building",
    "columns_to_base",
    "compilations",
    "each_body",
    "is_plain",
    "on_call",
    "plain",
    "plain_numbers",
    "play",
    "set_threads",
    "target",
    "threads",
    "tip_to_base",
    "whole_state",
    "with_ground",
]
