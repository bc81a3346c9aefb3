"""Random mechanisms of an independent builder: all ways to compute their motion agree, and none is refused or endless.

Errors are parts of the largest acceleration. Where they are not small, the same equations are solved again with masses
and forces that differ by a tiny part, which shows how many digits the mechanism itself costs.
"""

from __future__ import annotations

import os
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import catena as ct
from catena import Pose
from catena.spatial import Transform
from tests.fuzz.builder import Built, built
from tests.fuzz.watching import faults

# What may be lost of the accelerations, and how many times more than the mechanism itself loses.
AGREE, LOST = 1e-7, 1e4
EPS = float(np.finfo(float).eps)
# Singular values of the loops between these parts of the largest belong to configurations that are nearly singular,
# where each formulation decides for itself what is redundant.
COUNTS, ROUNDING = 1e-5, 1e-11
# Part of the inertia that a motion of all bodies would have; below the first it moves none, above the second some.
NO_INERTIA, INERTIA = 1e-13, 1e-9
# The largest eigenvalue times step with which the classical Runge-Kutta method is stable, with what eigenvalues change
# by on the way; and the eigenvalue [1/s] with which a tenth of a second takes a million explicit steps.
STABLE, STIFF = 2.0, 2e7
# An adaptive run goes on for no longer than this many times its shortest time scale where it begins, or stands still.
LONGEST = 1e5
# A run is told to hardly get on if so many careful steps would be left.
ENDLESS = 5e4


class Subject:
    """One plan of a built mechanism, in the configuration it was built in."""

    def __init__(self, made: Built, **plan: Any) -> None:
        self.made, self.system = made, made.mechanism.system(**plan)
        self.q = np.concatenate([np.zeros(0), *(self.position(name) for name in self.system.joints)])

    def kind(self, joint: str) -> ct.JointKind:
        return ct.Free() if joint.startswith("root:") else self.made.mechanism.joints[joint].kind

    def position(self, joint: str) -> np.ndarray:
        if joint.startswith("root:"):
            pose = self.made.poses[joint.removeprefix("root:")]
            return np.concatenate([pose.p, pose.quat])
        return self.made.positions[joint]

    def motion_space(self, joint: str) -> np.ndarray:
        return np.asarray(self.kind(joint).motion_space(self.position(joint)).array, dtype=float)

    @property
    def units(self) -> np.ndarray:
        """A radian, or the size of the mechanism, for each velocity component."""
        units = np.ones(self.system.nv)
        for name in self.system.joints:
            turns = np.linalg.norm(self.motion_space(name)[:3], axis=0) > 1e-12
            units[self.system.slice_v(name)] = np.where(turns, 1.0, self.made.size)
        return units

    def carried(self, twists: dict[str, np.ndarray]) -> np.ndarray:
        """The velocities (nv,) at which all bodies have these twists."""
        v = np.zeros(self.system.nv)
        size = np.array([1.0] * 3 + [1.0 / self.made.size] * 3)
        for name in self.system.joints:
            joint = self.made.mechanism.joints.get(name)
            if joint is None:
                v[self.system.slice_v(name)] = twists[name.removeprefix("root:")]
                continue
            X = joint.kind.transform(self.made.positions[name])
            on_parent = Transform.from_pose(joint.in_parent).motion_matrix() @ twists[joint.parent]
            on_child = Transform.from_pose(joint.in_child).motion_matrix() @ twists[joint.child]
            relative = on_child - X.motion_matrix() @ on_parent
            S = size[:, None] * self.motion_space(name)
            v[self.system.slice_v(name)] = np.linalg.lstsq(S, size * relative, rcond=None)[0]
        return v

    def opening(self) -> np.ndarray:
        """The velocities (rows, nv) at which loops open for unit velocities, in radians and sizes of the mechanism."""
        size = np.array([1.0] * 3 + [1.0 / self.made.size] * 3)[:, None]
        rows = [np.zeros((0, self.system.nv))]
        for name in self.system.loops:
            joint = self.made.mechanism.joints[name]
            X = joint.kind.transform(self.made.positions[name]).motion_matrix()
            J_parent, J_child = (
                Transform.from_pose(pose).motion_matrix() @ self.system.jacobian(self.q, body)
                for pose, body in ((joint.in_parent, joint.parent), (joint.in_child, joint.child))
            )
            S = size * self.motion_space(name)
            relative = size * (J_child - X @ J_parent) * self.units
            rows.append(relative - S @ np.linalg.lstsq(S, relative, rcond=None)[0])
        return np.concatenate(rows)

    def jacobians(self) -> np.ndarray:
        """The Jacobians (bodies, 6, nv) of all bodies, with lengths in parts of the mechanism's size."""
        rows = np.array([self.system.jacobian(self.q, body) for body in self.made.poses])
        return rows * (np.array([1.0] * 3 + [1.0 / self.made.size] * 3))[:, None]

    def accelerations(self, v: np.ndarray, vdot: np.ndarray) -> np.ndarray:
        """The accelerations (bodies, 6) of all bodies, in parts of the mechanism's size."""
        bias = np.array([self.system.bias_acceleration(self.q, v, body) for body in self.made.poses])
        return self.jacobians() @ vdot + bias * np.array([1.0] * 3 + [1.0 / self.made.size] * 3)


class Case:
    """The checks of one mechanism, which add to `wrong`."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng([seed, 1])
        self.wrong: list[str] = []
        self.doing = "building"
        self.made = built(seed)
        self.subject = Subject(self.made)

    def run(self) -> list[str]:
        subject, system, random = self.subject, self.subject.system, self.random
        if not system.nv:
            return []
        self.look()
        self.scale = 10.0 * np.diag(system.mass_matrix(subject.q))
        self.tau = random.normal(size=system.nv) * self.scale
        forces = system.forces.loads(subject.q, self.v)
        self.f_ext = forces.f_ext if random.random() < 0.5 else None
        self.diagnose()
        if not self.moves_inertia:
            self.without_inertia()
            return self.wrong
        auto, kkt = self.attempt("auto"), self.attempt("kkt")
        if auto is None or kkt is None:
            return self.wrong
        bodies = subject.accelerations(self.v, kkt)
        # Nothing is compared with less than gravity, or than what the efforts are made for.
        floor = max(float(np.abs(self.made.mechanism.gravity).max()) / self.made.size, 1.0)
        self.size = max(float(np.abs(bodies).max()), floor)
        self.rounding = self.summed(subject, self.v, self.tau)
        self.same("auto and kkt", subject.accelerations(self.v, auto), bodies)
        self.in_lanes(bodies)
        self.there_and_back(auto)
        self.reactions(auto)
        self.other_plans()
        self.simulate()
        return self.wrong

    def look(self) -> None:
        """What the loops leave free, and whether all of it moves some inertia."""
        subject, system = self.subject, self.subject.system
        units = subject.units
        sigma, Vt = np.linalg.svd(subject.opening())[1:]
        most = sigma.max(initial=1.0)
        free = Vt[int((sigma > 1e-8 * most).sum()) :].T
        self.mobility = free.shape[1]
        self.ambiguous = bool(((sigma > ROUNDING * most) & (sigma < COUNTS * most)).any())
        self.v = units * (free @ self.random.normal(size=free.shape[1]))
        moving = subject.jacobians() @ (units[:, None] * free)
        whole = np.einsum("bij,bik->jk", moving, moving)
        mass = sum(body.mass for body in self.made.mechanism.bodies.values()) * self.made.size**2
        H = free.T @ (units[:, None] * system.mass_matrix(subject.q) * units) @ free
        values, vectors = np.linalg.eigh(whole)
        kept = values > 1e-12 * values.max(initial=0.0)
        root = vectors[:, kept] / np.sqrt(values[kept])
        least = np.linalg.eigvalsh(root.T @ H @ root).min(initial=np.inf) / (mass or 1.0)
        self.moves_inertia = bool(kept.all() and least > INERTIA)
        self.least = least

    def diagnose(self) -> None:
        self.doing = "diagnosis"
        try:
            found = self.subject.system.diagnose(self.subject.q).mobility
        except ct.CatenaError as error:
            self.wrong.append(f"diagnose refuses: {type(error).__name__}: {error}")
            return
        if found != self.mobility and not self.ambiguous:
            self.wrong.append(
                f"diagnose finds mobility {found}, the velocities that open no loop are {self.mobility}"
            )

    def without_inertia(self) -> None:
        """Motions that move no inertia at all are refused in words; next to none may be taken for either."""
        for method in ("auto", "kkt"):
            self.doing = f"forward dynamics without inertia by {method}"
            try:
                vdot = self.forward(self.subject, self.v, self.tau, method)
            except ct.CatenaError:
                continue
            if self.least < NO_INERTIA:
                self.wrong.append(f"{self.doing} gives {np.abs(vdot).max():.2g}")

    def attempt(self, method: str) -> np.ndarray | None:
        self.doing = f"forward dynamics by {method}"
        try:
            return self.forward(self.subject, self.v, self.tau, method)
        except ct.CatenaError as error:
            self.wrong.append(f"{method} refuses: {type(error).__name__}: {error}")
            return None

    def in_lanes(self, bodies: np.ndarray) -> None:
        """The second of two states is solved in lanes wherever that can be vouched for; the first of a mechanism with
        massless bodies never is."""
        self.doing = "forward dynamics of two states"
        given = [np.stack([x, x]) for x in (self.subject.q, self.v, self.tau)]
        f_ext = self.f_ext and {body: np.stack([f, f]) for body, f in self.f_ext.items()}
        vdot = self.subject.system.forward_dynamics(*given, f_ext=f_ext)
        self.same("two states and kkt", self.subject.accelerations(self.v, vdot[1]), bodies)

    def forward(self, subject: Subject, v: np.ndarray, tau: np.ndarray, method: str = "auto") -> np.ndarray:
        vdot = subject.system.forward_dynamics(subject.q, v, tau, method=method, f_ext=self.f_ext)
        if not np.isfinite(vdot).all():
            self.wrong.append(f"{self.doing}: the accelerations are not finite")
        return vdot

    def same(self, what: str, ours: np.ndarray, theirs: np.ndarray, rounding: float = 0.0) -> None:
        """Complain about accelerations that differ by more than what the mechanism costs, and than the rounding of what
        was summed up on either side. Nearly singular configurations are left out: what is redundant there is for each
        formulation to decide."""
        if self.ambiguous:
            return
        size = max(self.size, float(np.abs(theirs).max()))
        error = max(float(np.abs(ours - theirs).max()) - LOST * max(rounding, self.rounding), 0.0) / size
        if not error < AGREE and not error < LOST * EPS * self.conditioning():
            self.wrong.append(f"{what} differ by {error:.2g} (condition {self.conditioning():.2g})")

    def summed(self, subject: Subject, v: np.ndarray, tau: np.ndarray) -> float:
        """The rounding of the accelerations that all bodies would have without loops, of which loops leave little."""
        system = subject.system
        rest = tau - system.bias_force(subject.q, v, f_ext=self.f_ext)
        alone = np.linalg.lstsq(system.mass_matrix(subject.q), rest, rcond=None)[0]
        return EPS * float(np.abs(subject.accelerations(v, alone)).max())

    def conditioning(self) -> float:
        """How many times the part by which masses and forces change the accelerations change by."""
        part, changed = 1e-9, self.made.mechanism.copy()
        random = np.random.default_rng(0)
        for body in list(self.made.mechanism.bodies.values())[1:]:
            factor = 1.0 + part * random.choice([-1.0, 1.0])
            changed.replace_body(replace(body, mass=body.mass * factor, inertia=body.inertia * factor))
        tau = self.tau * (1.0 + part * random.choice([-1.0, 1.0], size=self.tau.shape))
        vdot = changed.system().forward_dynamics(self.subject.q, self.v, tau, method="kkt", f_ext=self.f_ext)
        bodies = self.subject.accelerations(self.v, vdot)
        before = self.subject.accelerations(self.v, self.forward(self.subject, self.v, self.tau, "kkt"))
        return float(np.abs(bodies - before).max()) / self.size / part

    def there_and_back(self, vdot: np.ndarray) -> None:
        self.doing = "inverse dynamics"
        subject = self.subject
        try:
            tau = subject.system.inverse_dynamics(subject.q, self.v, vdot, f_ext=self.f_ext)
        except ct.CatenaError as error:
            self.wrong.append(f"inverse dynamics refuses what forward dynamics gave: {error}")
            return
        again = self.forward(subject, self.v, tau)
        self.same(
            "forward after inverse dynamics",
            subject.accelerations(self.v, again),
            subject.accelerations(self.v, vdot),
        )

    def reactions(self, vdot: np.ndarray) -> None:
        """The wrenches on each body are its mass times its acceleration."""
        self.doing = "reactions"
        subject, mechanism, size = self.subject, self.made.mechanism, self.made.size
        found = subject.system.reactions(subject.q, self.v, self.tau, f_ext=self.f_ext)
        if not all(np.isfinite(wrench).all() for wrench in found.values()):
            self.wrong.append("reactions are not finite")
            return
        arms = np.array([1.0 / size] * 3 + [1.0] * 3)
        left = {body: np.zeros(6) for body in self.made.poses}
        largest = 0.0
        for name, wrench in found.items():
            joint = mechanism.joints[name]
            motion = joint.kind.transform(self.made.positions[name]).pose() if joint.kind.nq else Pose()
            on_child = Transform.from_pose(joint.in_child).inverse().force_matrix() @ wrench
            on_parent = Transform.from_pose(joint.in_parent * motion).inverse().force_matrix() @ wrench
            left[joint.child] += on_child
            left[joint.parent] -= on_parent
            largest = max(largest, *(float(np.abs(arms * w).max()) for w in (on_child, on_parent)))
        accelerations = subject.accelerations(self.v, vdot)
        # Forces of the mechanism between frames; those at joints pass through the joints.
        own = subject.system.forces.loads(subject.q, self.v).between
        for k, (name, pose) in enumerate(self.made.poses.items()):
            body = mechanism.bodies[name]
            if name == "ground":
                continue
            spin, move = np.split(subject.system.twist(subject.q, self.v, name), 2)
            turn, shift = np.split(accelerations[k] * np.array([1.0] * 3 + [size] * 3), 2)
            # The acceleration of the mass centre, less gravity, in body axes.
            centre = shift + np.cross(spin, move) + np.cross(turn, body.com)
            centre = centre + np.cross(spin, np.cross(spin, body.com)) - pose.R.T @ mechanism.gravity
            moment = body.inertia @ turn + np.cross(spin, body.inertia @ spin)
            taken = np.concatenate([moment + np.cross(body.com, body.mass * centre), body.mass * centre])
            acting = [given[name] for given in (self.f_ext or {}, own) if name in given]
            left[name] += sum(acting, -taken)
            largest = max(largest, float(np.abs(arms * taken).max()))
        error = max(float(np.abs(arms * w).max()) for n, w in left.items() if n != "ground")
        if not error <= AGREE * largest:
            self.wrong.append(f"reactions leave {error / largest:.2g} of the largest wrench unbalanced")

    def other_plans(self) -> None:
        subject, system = self.subject, self.subject.system
        roots = self.random.choice(list(self.made.poses)[1:], size=2)
        cuts = self.random.choice(list(self.made.positions), size=2)
        twists = {body: system.twist(subject.q, self.v, body) for body in self.made.poses}
        for plan in [{"root": str(root)} for root in roots] + [{"cut": [str(cut)]} for cut in cuts]:
            self.doing = f"planning with {plan}"
            try:
                other = Subject(self.made, **plan)
            except ct.PlanError:
                continue
            self.doing = f"forward dynamics with {plan}"
            # Only joints that are in both trees can be given efforts.
            tau, theirs = np.zeros(system.nv), np.zeros(other.system.nv)
            for name in set(system.joints) & set(other.system.joints):
                tau[system.slice_v(name)] = self.tau[system.slice_v(name)]
                theirs[other.system.slice_v(name)] = self.tau[system.slice_v(name)]
            v = other.carried(twists)
            try:
                vdot = self.forward(other, v, theirs)
            except ct.CatenaError as error:
                self.wrong.append(f"{self.doing} refuses: {type(error).__name__}: {error}")
                continue
            expected = subject.accelerations(self.v, self.forward(subject, self.v, tau))
            rounding = self.summed(other, v, theirs)
            self.same(f"plans with and without {plan}", other.accelerations(v, vdot), expected, rounding)

    def simulate(self) -> None:
        """A short run, with nothing, a function that gives nothing, or a torque that jumps at 1 kHz."""
        system, random, size = self.subject.system, self.random, self.made.size
        way = str(random.choice(["free", "free", "function", "bang-bang", "rk4", "batch"]))
        self.doing = f"simulation ({way})"
        options: dict[str, Any] = {"rtol": 1e-8, "atol": 1e-10, "progress": False}
        duration = 0.1 * float(np.sqrt(size))
        q, v = self.subject.q, self.v
        if way == "function":
            options["control"] = lambda t, q, v: np.zeros(system.nv)
            duration *= 0.3
        elif way == "bang-bang":
            jumps = 0.1 * self.scale * random.normal(size=system.nv)
            options["control"] = ct.sampled(lambda t, q, v: jumps * (-1.0) ** round(t * 1e3), rate=1e3)
        elif way == "rk4":
            options |= {"integrator": "rk4", "step": duration / 100.0}
        elif way == "batch":
            q, v = np.tile(q, (3, 1)), np.stack([v, 0.5 * v, 0.0 * v])
        if way != "rk4":
            # What is stiff by nature takes as many explicit steps as it takes; friction is so where it stands still.
            stiffest = max(self.stiffest(self.subject.q, speed * self.v) for speed in (0.0, 1.0))
            duration = min(duration, LONGEST / stiffest)
        try:
            run = ct.simulate(system, q, v, duration, **options)
        except ct.CatenaError as error:
            if not self.excuses(error, duration, options.get("step")):
                self.wrong.append(f"{self.doing} refuses: {type(error).__name__}: {error}")
            return
        if not (np.isfinite(run.q).all() and np.isfinite(run.v).all()):
            self.wrong.append(f"{self.doing} is not finite")
        if way != "rk4" and not run.audit().ok:
            self.wrong.append(f"{self.doing} is audited: {' '.join(str(run.audit()).split())}")
        if not run.closure_error < 1e-6 * max(1.0, size):
            self.wrong.append(f"{self.doing} opens the loops by {run.closure_error:.2g}")

    def excuses(self, error: ct.CatenaError, duration: float, step: float | None) -> bool:
        """Whether the mechanism itself is too stiff for an explicit method: some eigenvalue of its motion, where some
        state began or ended, or was with fixed steps, is beyond the range in which these are stable, or so large that
        steps as short would never come to the end."""
        run = getattr(error, "trajectory", None)
        if run is None:
            return False
        if "as in gimbal lock" in str(error):
            return True
        looked_at = slice(None) if step else [0, -1]
        largest = 0.0
        for q, v in zip(
            *(x[..., looked_at, :].reshape(-1, x.shape[-1]) for x in (run.q, run.v)), strict=True
        ):
            if np.isfinite(q).all() and np.isfinite(v).all() and np.abs(v).max() < 1e6:
                largest = max(largest, self.stiffest(q, v))
        if step:
            return largest * step > STABLE
        left, hardly = duration - float(run.t[-1]), "hardly gets on" in str(error)
        if largest > STIFF or (hardly and largest * left > ENDLESS):
            return True
        return hardly and run.q.ndim == 3 and self.excuses_alone(error, left)

    def excuses_alone(self, error: Any, left: float) -> bool:
        """Whether the state that a batch was given up for comes to such an end alone. The batch kept some samples; from
        the last one on it has all steps."""
        state = int(str(error).partition(" in state ")[2].split()[0])
        q, v = error.trajectory.q[state, -1], error.trajectory.v[state, -1]
        try:
            ct.simulate(self.subject.system, q, v, left, rtol=1e-8, atol=1e-10, progress=False)
        except ct.SimulationError as alone:
            return self.excuses(alone, left, None)
        return False

    def stiffest(self, q: np.ndarray, v: np.ndarray) -> float:
        """The largest eigenvalue [1/s] of the motion about a state, or a small one where there is none to be told."""
        try:
            A = self.subject.system.linearise(q, v).A
        except ct.CatenaError:
            return 1.0
        return max(1.0, float(np.abs(np.linalg.eigvals(A)).max(initial=0.0)))


def check(seed: int) -> list[str]:
    """What is wrong with the mechanism of a seed."""
    warnings.simplefilter("ignore")
    check.doing = "building"  # type: ignore[attr-defined]
    case = Case(seed)
    try:
        return case.run()
    except np.linalg.LinAlgError as error:
        return [*case.wrong, f"{case.doing} ends in a bare LinAlgError: {error}"]
    finally:
        check.doing = case.doing  # type: ignore[attr-defined]


def test_some_mechanisms():
    assert not faults("test_mechanisms", range(6))


@pytest.mark.slow
def test_mechanisms():
    assert not faults("test_mechanisms", range(200), os.cpu_count() or 1)


@pytest.mark.fuzz
@pytest.mark.parametrize("first", range(200, 3200, 500))
def test_many_mechanisms(first):
    assert not faults("test_mechanisms", range(first, first + 500), os.cpu_count() or 1)
