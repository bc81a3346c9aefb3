"""Random mechanisms that share nothing with the shipped generators.

Bodies are placed in space first, and joints are then put between frames computed from where the bodies are, each at a
random position of its own. So every loop is closed at a configuration that is not the neutral one, whatever joints it
has, and the positions of all joints are known without assembling anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

import catena as ct
from catena import Pose

# Every ordered choice of motions is code of its own; these stand for all.
SDOF = (
    ("rx",), ("dy",), ("ry", "rz"), ("dz", "rx"), ("ry", "rz", "dx"), ("rx", "ry", "rz"), ("dx", "rz", "dy", "rx"),
)  # fmt: skip
STYLES = ("tree", "loops", "planar", "platform", "ring", "coincident")
SIZES = (1.0, 1.0, 1.0, 1e-3, 20.0)


@dataclass
class Built:
    """A mechanism with the pose of each body and the position of each joint in the configuration it was built in."""

    mechanism: ct.Mechanism
    style: str
    size: float
    poses: dict[str, Pose] = field(default_factory=dict)
    positions: dict[str, np.ndarray] = field(default_factory=dict)
    weightless: bool = False


def built(seed: int) -> Built:
    """The mechanism of a seed."""
    random = np.random.default_rng(seed)
    style = str(random.choice(STYLES))
    size = float(random.choice(SIZES))
    gravity = random.normal(size=3) * 6.0 if random.random() < 0.9 else np.zeros(3)
    made = Built(ct.Mechanism(f"seed{seed}", gravity=gravity), style, size)
    made.poses["ground"] = Pose()
    maker = _Maker(random, made)
    getattr(maker, style)()
    maker.finish()
    return made


class _Maker:
    """The making of one mechanism: `random` decides, `made` grows."""

    def __init__(self, random: np.random.Generator, made: Built) -> None:
        self.random, self.made, self.mechanism = random, made, made.mechanism
        self.spread = float(random.choice([0.0, 0.3, 3.0]))
        self.rubs = bool(random.random() < 0.3)
        self.floats = bool(random.random() < 0.3)
        self.thin = float(random.choice([0.0, 0.0, 0.3]))
        self.tilt = self.pose(1.0)

    # Styles.

    def tree(self) -> None:
        """Any joints, no loops."""
        for k in range(int(self.random.integers(1, 9))):
            self.hang(f"b{k}", self.any_body(), self.kind(("Fixed",) if k % 3 else ()))

    def loops(self) -> None:
        """A tree with more joints between its bodies, of any kind."""
        for k in range(int(self.random.integers(2, 8))):
            self.hang(f"b{k}", self.any_body(), self.kind())
        for k in range(int(self.random.integers(1, 4))):
            a, b = self.random.choice(list(self.made.poses), size=2, replace=False)
            self.join(f"loop{k}", str(a), str(b), self.kind(("Fixed",) if self.random.random() < 0.9 else ()))

    def planar(self) -> None:
        """Loops in a plane, most of whose constraints are redundant."""
        count = int(self.random.integers(3, 7))
        for k in range(count):
            self.hang(f"b{k}", "ground" if k == 0 else self.any_body(), self.in_plane(), flat=True)
        for k in range(int(self.random.integers(1, 3))):
            a, b = self.random.choice(list(self.made.poses), size=2, replace=False)
            self.join(f"loop{k}", str(a), str(b), self.in_plane(), flat=True)

    def platform(self) -> None:
        """Legs between ground and one body."""
        self.floats = False
        self.place("platform")
        for k in range(int(self.random.integers(2, 5))):
            chain = [self.kind(("Fixed", "Free", "Planar")) for _ in range(int(self.random.integers(2, 4)))]
            last = "ground"
            for i, kind in enumerate(chain[:-1]):
                self.hang(f"leg{k}_{i}", last, kind)
                last = f"leg{k}_{i}"
            self.join(f"foot{k}", last, "platform", chain[-1])
        if self.random.random() < 0.3:
            self.join("float", "ground", "platform", ct.Free())

    def ring(self) -> None:
        """One long loop of joints with few degrees of freedom."""
        count = int(self.random.integers(4, 9))
        kinds = ("Revolute", "Prismatic", "Helical", "Universal", "Cylindrical", "Spherical")
        for k in range(count):
            last = "ground" if k == 0 else f"b{k - 1}"
            self.hang(f"b{k}", last, self.named(str(self.random.choice(kinds))))
        self.join("loop", f"b{count - 1}", "ground", self.named(str(self.random.choice(kinds))))

    def coincident(self) -> None:
        """Joints that meet in a point, or would if there were no rounding."""
        kinds = ("Spherical", "Universal", "Revolute", "Cylindrical", "Helical")
        at = self.random.uniform(-1.0, 1.0, 3) * self.made.size
        self.hang("rotor", "ground", self.named(str(self.random.choice(kinds))), at=at)
        for k in range(int(self.random.integers(1, 4))):
            # Adding and taking away leaves rounding or nothing.
            off = at + self.made.size * 0.1 * k - self.made.size * 0.1 * k
            if self.random.random() < 0.5:
                self.hang(f"b{k}", "rotor", self.kind(("Free",)), at=off)
                self.join(f"loop{k}", f"b{k}", "ground", self.named(str(self.random.choice(kinds))), at=off)
            else:
                self.join(f"loop{k}", "rotor", "ground", self.named(str(self.random.choice(kinds))), at=off)

    # Parts.

    def any_body(self) -> str:
        names = list(self.made.poses)
        return str(names[int(self.random.integers(max(0, len(names) - 4), len(names)))])

    def body(self, name: str) -> None:
        """A body whose mass, size and shape vary: a lump, a rod, a point, or nothing at all."""
        random, size = self.random, self.made.size
        mass = float(10.0 ** random.uniform(-self.spread, self.spread) * size**2)
        shape = random.random()
        com = random.uniform(-0.3, 0.3, 3) * size
        if shape < self.thin * 0.5:
            self.made.weightless = True
            self.mechanism.add_body(name)
        elif shape < self.thin * 0.75:
            self.mechanism.add_body(name, mass, com)
        elif shape < self.thin:
            length = (random.uniform(0.2, 2.0) * size) ** 2
            thickness = float(random.choice([0.0, 1e-8, 1e-4])) * length
            self.mechanism.add_body(name, mass, com, mass / 12.0 * np.array([thickness, length, length]))
        else:
            points = random.normal(size=(3, 3)) * 0.2 * size
            second = mass * (points @ points.T + 1e-4 * size**2 * np.eye(3))
            self.mechanism.add_body(name, mass, com, np.trace(second) * np.eye(3) - second)

    def place(self, name: str) -> None:
        """A body somewhere."""
        self.body(name)
        self.made.poses[name] = self.pose(2.0)

    def hang(
        self, name: str, near: str, kind: ct.JointKind, flat: bool = False, at: np.ndarray | None = None
    ) -> None:
        """A body on another one by a joint, declared from either side; the point `at` in ground is where it is."""
        self.body(name)
        if self.floats and near == "ground" and len(self.made.poses) == 1:
            kind = ct.Free()
        q, motion = self.position(kind)
        on_near, on_new = self.frame(near, flat, at), self.pose(1.0, flat)
        joint = f"{near}-{name}"
        if self.random.random() < 0.5:
            self.connect(joint, near, name, kind, on_near, on_new, q)
            self.made.poses[name] = self.made.poses[near] * on_near * motion * on_new.inverse()
        else:
            self.connect(joint, name, near, kind, on_new, on_near, q)
            self.made.poses[name] = self.made.poses[near] * on_near * motion.inverse() * on_new.inverse()

    def join(
        self, joint: str, a: str, b: str, kind: ct.JointKind, flat: bool = False, at: np.ndarray | None = None
    ) -> None:
        """A joint between two bodies that are placed already."""
        q, motion = self.position(kind)
        on_a = self.frame(a, flat, at)
        on_b = self.made.poses[b].inverse() * self.made.poses[a] * on_a * motion
        self.connect(joint, a, b, kind, on_a, on_b, q)

    def connect(
        self,
        name: str,
        parent: str,
        child: str,
        kind: ct.JointKind,
        in_parent: Pose,
        in_child: Pose,
        q: np.ndarray,
    ) -> None:
        size = self.made.size
        effort = size**4 * 10.0 ** float(self.random.uniform(-2.0, 1.0)) if self.rubs else 0.0
        # Coulomb friction of a joint with little inertia is stiff by nature.
        coulomb = 0.1 * effort if self.spread < 1.0 and self.random.random() < 0.5 else 0.0
        self.mechanism.add_joint(
            name, parent, child, kind, in_parent, in_child, damping=effort, friction=coulomb
        )
        self.made.positions[name] = q

    def finish(self) -> None:
        """Springs, loads, and locks where the joints stand."""
        random, made = self.random, self.made
        moving = [n for n, j in self.mechanism.joints.items() if j.kind.nv]
        for k in range(int(random.choice([0, 0, 1, 2]))):
            stiffness = made.size**3 * 10.0 ** float(random.uniform(-1.0, 2.0))
            name = str(random.choice(moving)) if moving else ""
            if moving and random.random() < 0.5:
                self.mechanism.add_spring(f"spring{k}", name, stiffness, damping=0.01 * stiffness)
            elif len(made.poses) > 2:
                a, b = random.choice(list(made.poses), size=2, replace=False)
                self.mechanism.add_spring_between(f"spring{k}", str(a), str(b), stiffness, made.size)
        if random.random() < 0.2:
            last = list(made.poses)[-1]
            self.mechanism.add_wrench(
                "load", last, random.normal(size=3) * made.size**4, random.normal(size=3) * made.size**3
            )
        if random.random() < 0.25 and moving:
            for name in random.choice(moving, size=int(random.integers(1, 3))):
                if not self.mechanism.joints[str(name)].locked:
                    self.mechanism = self.mechanism.lock(str(name), made.positions[str(name)])
        made.mechanism = self.mechanism

    # Numbers.

    def pose(self, far: float, flat: bool = False) -> Pose:
        """A random pose, in the plane of x and y if `flat`."""
        size = self.made.size
        if flat:
            p = np.array([*self.random.uniform(-far, far, 2) * size, 0.0])
            return Pose(p=p, rpy=(0.0, 0.0, self.random.uniform(-3.0, 3.0)))
        quat = self.random.normal(size=4)
        return Pose(p=self.random.uniform(-far, far, 3) * size, quat=quat / np.linalg.norm(quat))

    def frame(self, body: str, flat: bool, at: np.ndarray | None) -> Pose:
        """A frame on a body, at the point `at` of ground where there is one."""
        pose = self.pose(1.0, flat)
        if at is None:
            return self.tilt * pose if flat and body == "ground" else pose
        return Pose(p=self.made.poses[body].inverse() * at, R=pose.R)

    def position(self, kind: ct.JointKind) -> tuple[np.ndarray, Pose]:
        """A random position of a joint and the pose of its child side in its parent side there."""
        step = self.random.uniform(-0.9, 0.9, kind.nv)
        S = np.asarray(kind.motion_space(kind.neutral()).array, dtype=float)
        slides = np.linalg.norm(S[:3], axis=0) == 0.0 if kind.nv else np.zeros(0, dtype=bool)
        step = np.where(slides, step * self.made.size, step)
        q = np.asarray(kind.integrate(kind.neutral(), step), dtype=float)
        return q, kind.transform(q).pose() if kind.nq else Pose()

    def axis(self) -> str | tuple[float, ...]:
        if self.random.random() < 0.4:
            return str(self.random.choice(["x", "y", "z", "-x", "-y", "-z"]))
        return tuple(float(x) for x in self.random.normal(size=3))

    def kind(self, without: tuple[str, ...] = ()) -> ct.JointKind:
        """A joint kind of any name but these; those with few degrees of freedom are more frequent, as in machines."""
        names = [
            "Revolute", "Revolute", "Revolute", "Prismatic", "Helical", "Cylindrical", "Universal", "Spherical",
            "Planar", "Sdof", "Sdof", "Fixed", "Free",
        ]  # fmt: skip
        return self.named(str(self.random.choice([n for n in names if n not in without])))

    def in_plane(self) -> ct.JointKind:
        name = str(self.random.choice(["Revolute", "Revolute", "Revolute", "Prismatic", "Planar"]))
        if name == "Prismatic":
            angle = float(self.random.uniform(0.0, 6.0))
            return ct.Prismatic((np.cos(angle), np.sin(angle), 0.0))
        return ct.Revolute("z") if name == "Revolute" else ct.Planar("z")

    def named(self, name: str) -> ct.JointKind:
        random = self.random
        if name == "Helical":
            return ct.Helical(self.axis(), float(random.uniform(-0.3, 0.3)) * self.made.size)
        if name == "Universal":
            first = random.normal(size=3)
            across = np.cross(first, random.normal(size=3))
            return ct.Universal(tuple(first.tolist()), tuple(across.tolist()))
        if name == "Sdof":
            return ct.Sdof(*SDOF[int(random.integers(len(SDOF)))])
        if name in ("Fixed", "Spherical", "Free"):
            return getattr(ct, name)()
        return getattr(ct, name)(self.axis())
