"""A Catena mechanism as MuJoCo's XML (MJCF) and as a compiled MuJoCo model; loops become equality constraints."""

from collections.abc import Sequence
from typing import Any
from xml.sax.saxutils import quoteattr

import mujoco
import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.coordinates import Coordinates, quaternion
from benchmarks.peers.links import Link, damping_and_friction, links
from benchmarks.peers.loops import Hold
from catena.bridges.conventions import JointCoordinates
from catena.bridges.conventions.joint_maps import (
    FlippedBall,
    FlippedFree,
    FreeInWorldAxes,
    JointMap,
    Same,
    reversed_order,
)

# Nothing may change the inertias, and nothing but the tree's own dynamics should take time.
HEADER = """<mujoco model={name}>
<compiler angle="radian" autolimits="false" balanceinertia="false" boundmass="0" boundinertia="0"
          inertiafromgeom="false" fusestatic="false"/>
<option gravity="{gravity}"><flag contact="disable" constraint="{constraints}"/></option>
<worldbody>
"""
# MuJoCo refuses rods without thickness. So little inertia about their own axis changes no result.
LEAST_MOMENT = 1e-12
FOOTER = "</worldbody>\n{equality}</mujoco>\n"


def to_mjcf(mechanism: Any, holds: Sequence[Hold] = ()) -> str:
    """The tree mechanism as MJCF text, with equality constraints for `holds`.

    Every body frame is the child-side frame of the joint that moves it.

    Compound joints become several joints of one body, which MuJoCo composes in the order in which they are
    written, as Catena composes motions. A free joint that does not hang on ground becomes three slides and
    a ball.
    """
    tree = links(mechanism)
    children: dict[int, list[int]] = {number: [] for number in range(-1, len(tree))}
    for number, link in enumerate(tree):
        children[link.parent].append(number)
    sites = _sites(holds)
    gravity = _numbers(np.asarray(mechanism.gravity))
    constraints = "enable" if holds else "disable"
    text = [HEADER.format(name=quoteattr(mechanism.name), gravity=gravity, constraints=constraints)]
    text += sites.get(-1, [])
    # Links come depth first; a stack in place of recursion lets chains be as deep as they like.
    pending: list[int | str] = list(reversed(children[-1]))
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            text.append(item)
            continue
        text += [_opening(tree[item]), *sites.get(item, [])]
        pending.append("</body>\n")
        pending.extend(reversed(children[item]))
    return "".join([*text, FOOTER.format(equality=_equality(holds))])


def to_mujoco(mechanism: Any, holds: Sequence[Hold] = ()) -> tuple[mujoco.MjModel, Coordinates]:
    """The compiled model of a tree mechanism and what holds its links together besides, and the translation of
    coordinates that goes with it."""
    tree = links(mechanism)
    model = mujoco.MjModel.from_xml_string(to_mjcf(mechanism, holds))
    blocks, q, v = [], 0, 0
    damping, friction = damping_and_friction(tree)
    for link in tree:
        blocks.append(
            JointCoordinates(
                q=slice(link.q_start, link.q_start + link.nq),
                v=slice(link.v_start, link.v_start + link.nv),
                q_there=slice(q, q + link.nq),
                v_there=slice(v, v + link.nv),
                map=_map(link),
            )
        )
        q, v = q + link.nq, v + link.nv
        if _damps_natively(link):
            damping[link.v_start : link.v_start + link.nv] = 0.0
    if (q, v) != (model.nq, model.nv):
        raise ValueError(f"MuJoCo's model has nq, nv = {model.nq}, {model.nv}; the tree has {q}, {v}.")
    return model, Coordinates.of(q, v, blocks, damping, friction)


def _sites(holds: Sequence[Hold]) -> dict[int, list[str]]:
    """The sites of each link, between which equality constraints act."""
    sites: dict[int, list[str]] = {}
    for number, hold in enumerate(holds):
        sites.setdefault(hold.link1, []).append(f'<site name="{number}a" {_pose(hold.pose1)}/>\n')
        sites.setdefault(hold.link2, []).append(f'<site name="{number}b" {_pose(hold.pose2)}/>\n')
    return sites


def _equality(holds: Sequence[Hold]) -> str:
    words = {"point": "connect", "weld": "weld"}
    lines = [f'<{words[h.kind]} site1="{k}a" site2="{k}b"/>\n' for k, h in enumerate(holds)]
    return "".join(["<equality>\n", *lines, "</equality>\n"]) if lines else ""


def _map(link: Link) -> JointMap:
    """MuJoCo's quaternions and ball velocities are Catena's; its free joints count in world axes."""
    kinds = [motion.kind for motion in link.motions]
    if kinds == ["free"]:
        return FreeInWorldAxes(link.placement if link.parent < 0 else np.eye(4))
    if not link.flipped:
        return Same()
    if "ball" not in kinds:
        return reversed_order(link.nv)
    return FlippedFree(range(4)) if len(kinds) > 1 else FlippedBall(range(4))


def _damps_natively(link: Link) -> bool:
    """MuJoCo has one coefficient per joint, so a ball or free joint must damp equally all round."""
    return link.motions[0].kind not in ("ball", "free") or bool(np.ptp(link.damping) == 0.0)


def _opening(link: Link) -> str:
    """The link's body element with its joints and inertia, left open for the children."""
    lines = [f"<body {_pose(link.placement)}>"]
    damping_by_joint = link.damping[::-1] if link.flipped else link.damping
    for (kind, axis), coefficient in zip(_joints(link), damping_by_joint):
        damping = coefficient if _damps_natively(link) else 0.0
        lines.append(f'<joint type="{kind}"{axis} damping="{damping:.17g}"/>')
    if link.mass > 0.0:
        # Diagonalised here: MuJoCo would do it for a full matrix too, but only to about 1e-12.
        moments, axes = np.linalg.eigh(link.inertia)
        moments = np.maximum(moments, LEAST_MOMENT)
        axes[:, 2] = np.cross(axes[:, 0], axes[:, 1])
        frame = np.eye(4)
        frame[:3, :3], frame[:3, 3] = axes, link.com
        lines.append(f'<inertial {_pose(frame)} mass="{link.mass:.17g}" diaginertia="{_numbers(moments)}"/>')
    return "\n".join(lines) + "\n"


def _joints(link: Link) -> list[tuple[str, str]]:
    """Type and axis attribute of each MuJoCo joint of a link."""
    if link.motions[0].kind == "helix":
        raise ValueError(f"Joint {link.joint!r} is helical, which MuJoCo does not have.")
    if link.motions[0].kind == "free" and link.parent >= 0:
        return [("slide", f' axis="{_numbers(unit)}"') for unit in np.eye(3)] + [("ball", "")]
    with_axis = ("hinge", "slide")
    return [
        (motion.kind, f' axis="{_numbers(motion.axis)}"' if motion.kind in with_axis else "")
        for motion in link.motions
    ]


def _pose(frame: NDArray[np.float64]) -> str:
    return f'pos="{_numbers(frame[:3, 3])}" quat="{_numbers(quaternion(frame[:3, :3]))}"'


def _numbers(values: Any) -> str:
    return " ".join(f"{value:.17g}" for value in values)
