"""Writing a mechanism as MJCF: bodies in bodies, joints of several freedoms as several joints, loops as equalities.

MuJoCo holds equality constraints by forces that give way, so a loop that is exact here is nearly closed there. Loops
may be spherical, fixed or revolute, the last by two points on the axis; other kinds of joints, and those that have
something to say, go into the tree.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from catena.errors import FormatError, warn
from catena.forces import PointSpring
from catena.formats.findings import NamedParts
from catena.formats.markup import quoted
from catena.formats.mjcf.keyframes import StateOf
from catena.formats.mjcf.names import LARGEST, SMALLEST, free_name
from catena.formats.mjcf.part_values import (
    SERVOS,
    Geoms,
    inertial,
    joint_values,
    lifts_at_mass_centres,
    needs_balance,
)
from catena.formats.mjcf.poses import attributes_text, number_text, numbers_text, polynomial_text, pose_text
from catena.formats.trees import Branch, grow, motion_name
from catena.joints import Fixed, Free, Revolute, Spherical
from catena.joints.contract import BALL, FREE, HINGE, SLIDE, SimpleMotion
from catena.mechanism import (
    GROUND,
    Body,
    Joint,
    LinearCoupling,
    Mechanism,
    PolynomialCoupling,
)
from catena.mechanism.locking import fixed_where_locked
from catena.mechanism.mechanism import HOME, NOWHERE
from catena.spatial import Pose

APART = 0.1
"""Metres between the two points that hold an axis."""
ORDER = (Fixed, Revolute, Spherical, Free)
"""Kinds that may close a loop, those that are better in the tree first."""
LEAST = 1e-300
"""A width of a range that stands for none."""
DEGREE = 4
"""The highest power in an equality between joints."""


def write(mechanism: Mechanism, path: Path) -> dict[str, str]:
    """Return the MJCF text."""
    lost = NamedParts()
    fixed, untold = fixed_where_locked(mechanism)
    locked = [joint.name for joint in mechanism.joints.values() if joint.locked]
    if locked:
        lost.add("locks, which are written as fixed joints, of the joints", *locked)
    if untold:
        lost.add("couplings by curves to joints that are locked", *untold)
    text = _MjcfWriter(fixed, path, lost).text()
    if lost:
        warn(f"{path}: MJCF gets no {lost}: save a .toml file to keep that")
    return {"": text}


class _MjcfWriter:
    """Collects the parts of the file of a mechanism without locked joints; what it cannot say goes to `lost`."""

    def __init__(self, mechanism: Mechanism, path: Path, lost: NamedParts) -> None:
        self.mechanism, self.path, self.lost = mechanism, path, lost
        self.values = joint_values(mechanism, lost)
        self._named = {actuator.joint for actuator in mechanism.actuators.values()}
        self._named |= {name for coupling in mechanism.couplings.values() for name in coupling.joints}
        branches, self.loops = grow(mechanism, str(path), self._rank)
        self.branches: dict[str, list[Branch]] = {name: [] for name in mechanism.bodies}
        for branch in branches:
            self._require_known(branch)
            self.branches[branch.parent].append(branch)
        self.by_joint = {branch.joint.name: branch for branch in branches}
        self.sites: dict[str, list[str]] = {name: [] for name in mechanism.bodies}
        self.geoms = Geoms(mechanism, path.absolute().parent)
        self.tendons: list[str] = []
        self.servos: list[str] = []
        self._site_names: set[str] = set()
        self.lifts = lifts_at_mass_centres(mechanism)
        forces = mechanism.force_elements.items()
        self.springs = {name: (f.frames, f.kind) for name, f in forces if isinstance(f.kind, PointSpring)}

    def _rank(self, joint: Joint) -> tuple[int, bool]:
        """Joints that cannot close a loop in MuJoCo go into the tree first, and of others those of which there is
        something to say."""
        order = next((k + 1 for k, kind in enumerate(ORDER) if type(joint.kind) is kind), 0)
        says = self.values[joint.name].has_any or joint.limits is not None or joint.name in self._named
        return order, not says

    def _require_known(self, branch: Branch) -> None:
        joint = branch.joint
        if branch.motions is None:
            kind = type(joint.kind).__name__
            raise FormatError(
                f"{self.path}: joint {joint.name!r} is {kind}, which MuJoCo has not: save a .toml file"
            )
        if branch.parent != GROUND and any(motion.type == FREE for motion in branch.motions):
            raise FormatError(
                f"{self.path}: joint {joint.name!r} is free between two moving bodies, which MuJoCo has not: "
                "tie one of them to ground"
            )

    def text(self) -> str:
        for frame in self.mechanism.frames.values():
            self._site(frame.body, frame.name, frame.pose)
        equalities = self._equalities()
        self._add_springs_between()
        world = self._body_content(self.mechanism.bodies[GROUND], 2)
        world += self._children(GROUND, 2)
        assets = [
            f'    <mesh name="{name}" file={quoted(file)} scale="{numbers_text(scale)}"/>'
            for (file, scale), name in self.geoms.meshes.items()
        ]
        actuators = self._actuators()
        keys = self._keyframes(len(actuators))
        self._note_lost()
        name = quoted(self.mechanism.name)
        lines = [
            f"<mujoco model={name}>",
            f'  <compiler angle="radian" autolimits="true" inertiafromgeom="false"{self._bounds()}/>',
        ]
        lines.append(f'  <option gravity="{numbers_text(self.mechanism.gravity)}"/>')
        for tag, content in (
            ("asset", assets),
            ("worldbody", world),
            ("tendon", self.tendons),
            ("equality", equalities),
            ("actuator", actuators),
            ("keyframe", keys),
        ):
            if content or tag == "worldbody":
                lines += [f"  <{tag}>", *content, f"  </{tag}>"]
        return "\n".join([*lines, "</mujoco>\n"])

    def _bounds(self) -> str:
        """Return what lets MuJoCo take thin rods, points and bodies without mass, and inertias that no body has."""
        bodies = [body for body in self.mechanism.bodies.values() if body.name != GROUND]
        odd = [body.name for body in bodies if needs_balance(body)]
        if odd:
            self.lost.add(
                "inertias that no body has, in the place of which it gets the mean moment, of the bodies",
                *odd,
            )
        balance = ' balanceinertia="true"' if odd else ""
        return f' boundmass="{number_text(SMALLEST)}" boundinertia="{number_text(SMALLEST)}"{balance}'

    def _children(self, parent: str, depth: int) -> list[str]:
        lines: list[str] = []
        # A list of what is open, because chains may be longer than Python can nest calls.
        open_: list[Any] = [(branch, depth) for branch in reversed(self.branches[parent])]
        while open_:
            item = open_.pop()
            if isinstance(item, str):
                lines.append(item)
                continue
            branch, level = item
            indent = "  " * level
            lift = self._lift(branch.child)
            lines.append(f"{indent}<body name={quoted(branch.child)}{pose_text(self._place(branch))}{lift}>")
            lines += [
                f"{indent}  <joint name={quoted(motion_name(branch, motion))}{self._joint_options(branch, motion)}/>"
                for motion in branch.motions
            ]
            lines += self._body_content(self.mechanism.bodies[branch.child], level + 1)
            open_.append(f"{indent}</body>")
            open_ += [(inner, level + 1) for inner in reversed(self.branches[branch.child])]
        return lines

    def _lift(self, body: str) -> str:
        """Return how much of the weight of a body is compensated."""
        lifts = [force for force, at in self.lifts.items() if at == body]
        if not lifts:
            return ""
        mass = sum(getattr(self.mechanism.forces[name].kind, "mass", 0.0) for name in lifts)
        return f' gravcomp="{number_text(mass / self.mechanism.bodies[body].mass)}"'

    def _place(self, branch: Branch) -> Pose:
        """Return where a body is in its parent: a free one where the motion starts, any other with its joints at
        zero."""
        joint = branch.joint
        if joint.kind.is_floating:
            start = self.mechanism.initial.q.get(joint.name, joint.kind.neutral())
            placed = joint.in_parent * joint.kind.transform(start).pose() * joint.in_child.inverse()
            return placed if joint.parent == branch.parent else placed.inverse()
        return branch.in_parent * branch.in_child.inverse()

    def _joint_options(self, branch: Branch, motion: SimpleMotion) -> str:
        joint, k = branch.joint, motion.component
        values = self.values[joint.name]
        options: dict[str, str] = {"type": motion.type}
        if motion.type in (HINGE, SLIDE):
            frame = branch.in_child
            options |= {"pos": numbers_text(frame.p), "axis": numbers_text(frame.R @ motion.axis)}
            if joint.limits is not None and np.isfinite(joint.limits[k]).any():
                options["range"] = numbers_text(np.clip(joint.limits[k], -LARGEST, LARGEST))
            if values.stiffness[k].any():
                options |= {
                    "stiffness": polynomial_text(values.stiffness[k]),
                    "springref": number_text(values.rest[k]),
                }
            return attributes_text(options | self._dynamics(joint, slice(k, k + 1)))
        turned = self._is_turned(branch)
        if motion.type == BALL:
            options["pos"] = numbers_text(branch.in_child.p)
        if joint.limits is not None and np.isfinite(joint.limits).any():
            self.lost.add("limits of spherical and free joints", joint.name)
        if values.stiffness.any():
            if motion.type == BALL and _is_even(values.stiffness) and not values.stiffness[:, 1:].any():
                options["stiffness"] = number_text(values.stiffness[0, 0])
            else:
                self.lost.add("springs by axis of spherical joints, and springs of free joints", joint.name)
        return attributes_text(options | self._dynamics(joint, slice(None), turned))

    def _is_turned(self, branch: Branch) -> bool:
        """Return whether a free body has other dampers in MuJoCo, which sees it from its own frame, in axes of the
        world."""
        joint = branch.joint
        if not joint.kind.is_floating:
            return False
        bent = self.values[joint.name].damping[:, 1:].any()
        return bool(joint.parent != branch.parent or joint.in_child.p.any() or bent)

    def _dynamics(self, joint: Joint, rows: slice, turned: bool = False) -> dict[str, str]:
        """Damping, friction and rotors of a joint, which MuJoCo knows once for all freedoms of a motion."""
        values, found = self.values[joint.name], {}
        for key, word, numbers in (
            ("damping", "damping", values.damping[rows]),
            ("frictionloss", "friction", values.friction[rows]),
            ("armature", "armature", values.armature[rows]),
        ):
            if not numbers.any():
                continue
            if turned or not _is_even(numbers):
                self.lost.add(f"{word} by axis of spherical and free joints", joint.name)
            elif np.ndim(numbers[0]):
                found[key] = polynomial_text(numbers[0])
            else:
                found[key] = number_text(numbers[0])
        return found

    def _body_content(self, body: Body, level: int) -> list[str]:
        indent = "  " * level
        lines = []
        if body.flexible is not None:
            self.lost.add("modes of flexible bodies, which are written as rigid ones,", body.name)
        if body.name != GROUND and (body.mass or body.inertia.any()):
            lines.append(indent + inertial(self.path, body))
        for shape in body.visuals:
            touches = shape in body.collisions
            lines.append(indent + self.geoms.text(shape, "" if touches else ' contype="0" conaffinity="0"'))
        hidden = [shape for shape in body.collisions if shape not in body.visuals]
        lines += [indent + self.geoms.text(shape, ' group="3"') for shape in hidden]
        return lines + [indent + site for site in self.sites[body.name]]

    def _site(self, body: str, name: str, pose: Pose) -> None:
        self._site_names.add(name)
        self.sites[body].append(f"<site name={quoted(name)}{pose_text(pose)}/>")

    def _equalities(self) -> list[str]:
        lines: list[str] = []
        for joint in self.loops:
            lines += self._loop(joint)
        for coupling in self.mechanism.couplings.values():
            lines += self._coupling(coupling)
        return lines

    def _loop(self, joint: Joint) -> list[str]:
        if joint.kind.is_floating:
            self._tell_bare(joint)
            return []
        offsets: list[Any] = [np.zeros(3)]
        tag = "connect"
        motions = joint.kind.simple_motions
        if not joint.kind.nv:
            tag = "weld"
        elif motions and joint.kind.consists_of(HINGE):
            offsets = [np.zeros(3), APART * motions[0].axis]
        elif not joint.kind.consists_of(BALL):
            raise FormatError(
                f"{self.path}: joint {joint.name!r} closes a loop and is {type(joint.kind).__name__}, which MuJoCo has "
                "not: save a .toml file"
            )
        self._tell_bare(joint)
        lines = []
        for k, offset in enumerate(offsets):
            names = [self._name_of_site(f"{joint.name} {side} {k + 1}") for side in ("parent", "child")]
            self._site(joint.parent, names[0], joint.in_parent * Pose(p=offset))
            self._site(joint.child, names[1], joint.in_child * Pose(p=offset))
            called = joint.name if len(offsets) == 1 else f"{joint.name} {k + 1}"
            ends = " ".join(f"site{j + 1}={quoted(name)}" for j, name in enumerate(names))
            lines.append(f"    <{tag} name={quoted(called)} {ends}/>")
        return lines

    def _tell_bare(self, joint: Joint) -> None:
        """Say what a joint loses that becomes an equality."""
        if self.values[joint.name].has_any:
            self.lost.add(
                "springs, servos, damping, friction and armature of joints that close loops", joint.name
            )
        if joint.limits is not None:
            self.lost.add("limits of joints that close loops", joint.name)

    def _coupling(self, coupling: Any) -> list[str]:
        joints = coupling.joints
        if any(joint not in self.by_joint for joint in joints):
            self.lost.add("couplings of joints that close loops", coupling.name)
            return []
        names = [
            motion_name(branch, branch.motions[0])
            for branch in map(self.by_joint.__getitem__, joints)
            if branch.motions
        ]
        if isinstance(coupling, LinearCoupling) and len(joints) > 2:
            return self._tendon_coupling(coupling, names)
        if isinstance(coupling, PolynomialCoupling) and len(coupling.polynomial) <= DEGREE + 1:
            numbers = list(coupling.polynomial)
        elif isinstance(coupling, LinearCoupling):
            own, *others = coupling.coefficients.values()
            numbers = [coupling.offset / own, *(-other / own for other in others)]
        else:
            self.lost.add("couplings by curves or of high degree", coupling.name)
            return []
        ends = " ".join(f"joint{k + 1}={quoted(name)}" for k, name in enumerate(names))
        padded = numbers + [0.0] * (DEGREE + 1 - len(numbers))
        return [f'    <joint name={quoted(coupling.name)} {ends} polycoef="{numbers_text(padded)}"/>']

    def _tendon_coupling(self, coupling: LinearCoupling, names: list[str]) -> list[str]:
        """Return a sum over more than two joints: the length of a tendon that runs over them."""
        tendon = quoted(coupling.name)
        self.tendons.append(f"    <fixed name={tendon}>")
        for name, factor in zip(names, coupling.coefficients.values(), strict=True):
            self.tendons.append(f'      <joint joint={quoted(name)} coef="{number_text(factor)}"/>')
        self.tendons.append("    </fixed>")
        numbers = [coupling.offset, *[0.0] * DEGREE]
        return [f'    <tendon name={tendon} tendon1={tendon} polycoef="{numbers_text(numbers)}"/>']

    def _add_springs_between(self) -> None:
        """Springs along a line over frames are tendons over sites."""
        taken = set(self.mechanism.couplings)
        for spring, (frames, kind) in self.springs.items():
            ends = [self._site_of(frame) for frame in frames or ()]
            name = free_name(spring, taken)
            taken.add(name)
            numbers = {
                "stiffness": number_text(kind.stiffness),
                "springlength": number_text(kind.rest_length),
                "damping": number_text(kind.damping),
            }
            sites = "".join(f"<site site={quoted(end)}/>" for end in ends)
            self.tendons.append(
                f"    <spatial name={quoted(name)}{attributes_text(numbers)}>{sites}</spatial>"
            )

    def _site_of(self, frame: str) -> str:
        """Return the site of a frame; the one of a body is made when it is needed."""
        if frame not in self.mechanism.bodies:
            return frame
        name = self._name_of_site(f"{frame} origin")
        self._site(frame, name, Pose())
        return name

    def _name_of_site(self, name: str) -> str:
        return free_name(name, self.mechanism.frames, self._site_names)

    def _actuators(self) -> list[str]:
        lines: list[str] = []
        m = self.mechanism
        servos = [(joint, *pair) for joint, values in self.values.items() for pair in values.servos.items()]
        for joint, name, servo in servos:
            lines += self._servo(joint, name, servo)
        for actuator in m.actuators.values():
            if any(name == actuator.name and joint == actuator.joint for joint, name, _ in servos):
                continue
            if np.isfinite(actuator.no_load_speed).any():
                self.lost.add("no-load speeds of the actuators", actuator.name)
            for k, component in enumerate(actuator.components):
                driven = self._driven(actuator.joint, component)
                if driven is None:
                    self.lost.add("actuators of joints that close loops or have a quaternion", actuator.name)
                    continue
                name = actuator.name if len(actuator.components) == 1 else f"{actuator.name} {k + 1}"
                limits = actuator.limits[k]
                is_bound = np.isfinite(limits).any()
                bound = f' ctrlrange="{numbers_text(np.clip(limits, -LARGEST, LARGEST))}"' if is_bound else ""
                gear = number_text(actuator.gear[k])
                lines.append(f'    <motor name={quoted(name)} joint={quoted(driven)} gear="{gear}"{bound}/>')
        return lines + self._plain_motors(bool(lines))

    def _plain_motors(self, are_others: bool) -> list[str]:
        """Motors of joints that are driven without limits: where a file has any, joints without one are not driven."""
        m = self.mechanism
        moving = [joint for joint in m.joints.values() if joint.dof and not joint.kind.is_floating]
        if not are_others and all(joint.actuated for joint in moving):
            return []
        taken = {*m.actuators, *(name for values in self.values.values() for name in values.servos)}
        driven = {(a.joint, component) for a in m.actuators.values() for component in a.components}
        lines = []
        for joint in moving:
            for component in range(joint.kind.nv) if joint.actuated else ():
                name = self._driven(joint.name, component)
                if name is None or (joint.name, component) in driven:
                    continue
                called = free_name(name, taken)
                taken.add(called)
                lines.append(f"    <motor name={quoted(called)} joint={quoted(name)}/>")
        return lines

    def _servo(self, joint: str, name: str, servo: Any) -> list[str]:
        driven = self._driven(joint, servo.component)
        if driven is None:
            self.lost.add(SERVOS, name)
            return []
        options = {
            "gear": number_text(servo.gear),
            "gaintype": "affine",
            "gainprm": numbers_text(servo.gain),
            "biastype": "affine",
            "biasprm": numbers_text(servo.bias),
        }
        kept = self._kept_signal(name)
        if servo.signal != kept:
            # A keyframe does not tell it: that the range has no other value does.
            beyond = servo.signal * 1e-9 if servo.signal else -LEAST * np.sign(kept)
            options["ctrlrange"] = numbers_text(sorted((servo.signal, servo.signal + beyond)))
        if servo.limits:
            options["forcerange"] = numbers_text(servo.limits)
        self.servos.append(name)
        return [f"    <general name={quoted(name)} joint={quoted(driven)}{attributes_text(options)}/>"]

    def _kept_signal(self, servo: str) -> float:
        """Return the signal of a servo in the keyframe that motions start from."""
        m = self.mechanism
        begin = m.states.get(HOME) or next(iter(m.states.values()), NOWHERE)
        return float(begin.signals.get(servo, 0.0))

    def _keyframes(self, actuators: int) -> list[str]:
        """Return the states with a name. The servos are the first of the actuators."""
        lines, m = [], self.mechanism
        order = list(self._in_order())
        follows = bool(self.loops or m.couplings)
        for name, state in m.states.items():
            if any(joint.name in state.q or joint.name in state.v for joint in self.loops):
                self.lost.add("positions of joints that close loops in the states", name)
            written = {branch.joint.name for branch in order if branch.motions}
            if follows and not written <= set(state.q):
                self.lost.add("states that leave joints to the loops", name)
                continue
            numbers = StateOf(state)
            ctrl = [float(state.signals.get(servo, 0.0)) for servo in self.servos]
            options = {
                "qpos": numbers_text(x for branch in order for x in numbers.qpos(branch)),
                "qvel": numbers_text(x for branch in order for x in numbers.qvel(branch)),
            }
            if any(ctrl):
                options["ctrl"] = numbers_text([*ctrl, *[0.0] * (actuators - len(ctrl))])
            lines.append(f"    <key name={quoted(name)}{attributes_text(options)}/>")
        return lines

    def _in_order(self) -> Iterator[Branch]:
        """The branches as they stand in the file."""
        open_ = list(reversed(self.branches[GROUND]))
        while open_:
            branch = open_.pop()
            yield branch
            open_ += reversed(self.branches[branch.child])

    def _driven(self, joint: str, component: int) -> str | None:
        """Return what the file calls the motion of a component of a joint, None if it is none of one freedom in the
        tree."""
        branch = self.by_joint.get(joint)
        motions = () if branch is None else branch.motions or ()
        found = [one for one in motions if one.type in (HINGE, SLIDE) and one.component == component]
        return motion_name(branch, found[0]) if branch is not None and found else None

    def _note_lost(self) -> None:
        m = self.mechanism
        known = self.springs.keys() | self.lifts.keys()
        between = [f.name for f in m.forces.values() if f.at_joint is None and f.name not in known]
        if m.wrenches or between:
            self.lost.add("wrenches and forces between frames", *m.wrenches, *between)
        if m.sensors:
            self.lost.add("sensors", *m.sensors)
        free = {joint.name for joint in m.joints.values() if joint.kind.is_floating}
        is_named = any(m.initial is state for state in m.states.values())
        starts = [name for name in {**m.initial.q, **m.initial.v} if name not in free or name in m.initial.v]
        if starts and not is_named:
            self.lost.add("initial states of the joints", *starts)
        for joint in m.joints.values():
            if joint.velocity_limit is not None:
                self.lost.add("limits of speed of the joints", joint.name)
            if joint.load_friction is not None:
                self.lost.add("friction by load of the joints", joint.name)
            if joint.static_friction is not None:
                self.lost.add("friction at rest beyond that of slips of the joints", joint.name)
            if joint.limit_stiffness is not None:
                self.lost.add("elastic stops of the joints", joint.name)


def _is_even(numbers: Any) -> bool:
    """Return whether all rows are the same."""
    return bool((numbers == numbers[0]).all())
