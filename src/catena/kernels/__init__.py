"""Tracing of steps, lowering to machine code in lanes, caching and threads. Knows no algorithm."""

from catena.kernels import plain
from catena.kernels.algorithm import (
    ASSIGN,
    COLUMNS,
    FORCE_INPUTS,
    MATRIX,
    POSITION,
    ROWS,
    VELOCITY,
    Algorithm,
    Entry,
    JointRows,
    OnCall,
    Pause,
    Schedule,
    Sweep,
    at_frame,
    at_ground,
    base_to_tip,
    columns_to_base,
    each_body,
    each_force,
    each_moving_force,
    on_call,
    tip_to_base,
    to_forces,
    whole_state,
    with_ground,
)
from catena.kernels.code import building
from catena.kernels.cpu import target
from catena.kernels.engine import compilations
from catena.kernels.plain import is_plain, plain_numbers, play
from catena.kernels.program import Program
from catena.kernels.session import Session
from catena.kernels.tape import Constants, build_tape
from catena.kernels.threads import set_threads, threads

__all__ = [
    "COLUMNS",
    "FORCE_INPUTS",
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
    "Pause",
    "Program",
    "Schedule",
    "Session",
    "Sweep",
    "at_frame",
    "at_ground",
    "base_to_tip",
    "build_tape",
    "building",
    "columns_to_base",
    "compilations",
    "each_body",
    "each_force",
    "each_moving_force",
    "is_plain",
    "on_call",
    "plain",
    "plain_numbers",
    "play",
    "set_threads",
    "target",
    "threads",
    "tip_to_base",
    "to_forces",
    "whole_state",
    "with_ground",
]
