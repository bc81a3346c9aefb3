"""Equality constraints of a MuJoCo model as joints that close loops, and as couplings.

`connect` is a spherical joint, `weld` a fixed one, `joint` a polynomial between two joints.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from catena.formats.findings import NamedParts, Severity
from catena.formats.mjcf.names import HINGE, SLIDE, body_name, joint_name
from catena.formats.source import Source
from catena.joints import Fixed, Spherical
from catena.mechanism import GROUND, Mechanism
from catena.spatial import Pose

CONNECT, WELD, JOINT, TENDON = range(4)
SITE = 6
"""`mjOBJ_SITE`, which says that a constraint is between sites."""


def coupled_joints(model: Any) -> frozenset[int]:
    """Return the joints that a coupling names, which therefore keep a coordinate of their own."""
    found: set[int] = set()
    for k in range(model.neq):
        ends = [int(x) for x in (model.eq_obj1id[k], model.eq_obj2id[k]) if x >= 0]
        if model.eq_type[k] == JOINT:
            found |= {*ends}
        elif model.eq_type[k] == TENDON:
            found |= {joint for tendon in ends for joint in fixed_tendon(model, tendon) or ()}
    return frozenset(found)


def held_bodies(model: Any) -> set[int]:
    """Return the bodies that active constraints `connect` and `weld` hold."""
    found: set[int] = set()
    for k in range(model.neq):
        if model.eq_active0[k] and model.eq_type[k] in (CONNECT, WELD):
            ends = [int(model.eq_obj1id[k]), int(model.eq_obj2id[k])]
            is_site = int(model.eq_objtype[k]) == SITE
            found |= {int(model.site_bodyid[end]) for end in ends} if is_site else {*ends}
    return found - {0}


def add_equalities(
    mechanism: Mechanism, model: Any, source: Source, unread: NamedParts, idle: NamedParts
) -> None:
    """Add the active equality constraints of a model; those that cannot be said are told as `unread`, those that are
    not active as `idle`."""
    for k in range(model.neq):
        name = str(model.equality(k).name) or f"equality {k}"
        if not model.eq_active0[k]:
            idle.add("equality constraints that are not active", name)
            continue
        kind = int(model.eq_type[k])
        if kind in (CONNECT, WELD):
            _add_loop(mechanism, model, k, kind, name, source)
        elif kind == JOINT:
            _add_coupling(mechanism, model, k, name)
        elif kind != TENDON or not _add_tendon_coupling(mechanism, model, k, name):
            unread.add("equality constraints of tendons through space and of flexible bodies", name)


def _add_loop(mechanism: Mechanism, model: Any, k: int, kind: int, name: str, source: Source) -> None:
    data = np.array(model.eq_data[k], dtype=np.float64)
    ends = [int(model.eq_obj1id[k]), int(model.eq_obj2id[k])]
    if int(model.eq_objtype[k]) == SITE:
        bodies = [int(model.site_bodyid[end]) for end in ends]
        poses = [Pose(p=np.array(model.site_pos[end]), quat=np.array(model.site_quat[end])) for end in ends]
    elif kind == CONNECT:
        bodies, poses = ends, [Pose(p=data[:3]), Pose(p=data[3:6])]
    else:
        turn = data[6:10] / np.linalg.norm(data[6:10])
        bodies, poses = ends, [Pose(p=data[3:6], quat=turn), Pose(p=data[:3])]
    names = [body_name(model, body) for body in bodies]
    if kind == CONNECT:
        poses = [Pose(p=pose.p) for pose in poses]
    if names[1] == GROUND:
        names, poses = names[::-1], poses[::-1]
    if names[0] == names[1]:
        message = f"both ends are on body {names[0]!r}: it is left out"
        source.note(Severity.WARNING, f"equality {name!r}", message, what="loop")
        return
    joint = name if name not in mechanism.joints else f"{name} equality"
    made = Spherical() if kind == CONNECT else Fixed()
    mechanism.add_joint(
        joint, names[0], names[1], made, in_parent=poses[0], in_child=poses[1], actuated=False
    )


def _add_coupling(mechanism: Mechanism, model: Any, k: int, name: str) -> None:
    """position(joint 1) = polynomial(position(joint 2)), both counted from the configuration of the file."""
    coefficients = [float(x) for x in model.eq_data[k, :5]]
    while len(coefficients) > 1 and coefficients[-1] == 0.0:
        coefficients.pop()
    first, second = int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
    if model.jnt_type[first] not in (HINGE, SLIDE):
        return
    taken = name in mechanism.couplings
    called = f"{name} {k}" if taken else name
    if second < 0:
        mechanism.add_coupling(called, {joint_name(model, first): 1.0}, coefficients[0])
    elif len(coefficients) == 2:
        terms = {joint_name(model, first): 1.0, joint_name(model, second): -coefficients[1]}
        mechanism.add_coupling(called, terms, coefficients[0])
    else:
        mechanism.add_polynomial_coupling(
            called, joint_name(model, first), joint_name(model, second), coefficients
        )


AT_JOINT = 1
"""`mjWRAP_JOINT`: the tendon is a sum over positions of joints."""


def fixed_tendon(model: Any, tendon: int) -> dict[int, float] | None:
    """Return the coefficients of a fixed tendon by joint, None for a tendon that runs through space."""
    first = int(model.tendon_adr[tendon])
    found: dict[int, float] = {}
    for k in range(first, first + int(model.tendon_num[tendon])):
        if int(model.wrap_type[k]) != AT_JOINT:
            return None
        joint = int(model.wrap_objid[k])
        found[joint] = found.get(joint, 0.0) + float(model.wrap_prm[k])
    return found


def _add_tendon_coupling(mechanism: Mechanism, model: Any, k: int, name: str) -> bool:
    """length(tendon 1) = c0 + c1 length(tendon 2), both counted from the configuration of the file; False if it is not
    of that form."""
    coefficients = [float(x) for x in model.eq_data[k, :5]]
    first, second = int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
    terms = fixed_tendon(model, first)
    others = fixed_tendon(model, second) if second >= 0 else {}
    if terms is None or others is None or (second >= 0 and any(coefficients[2:])):
        return False
    for joint, factor in others.items():
        terms[joint] = terms.get(joint, 0.0) - coefficients[1] * factor
    by_name = {joint_name(model, joint): factor for joint, factor in terms.items() if factor}
    if not by_name:
        return False
    called = f"{name} {k}" if name in mechanism.couplings else name
    mechanism.add_coupling(called, by_name, coefficients[0])
    return True
