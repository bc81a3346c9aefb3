"""A straight beam from its section and material, with the modes that its ends allow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations_with_replacement, permutations, product as product_of
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from catena.bodies.contract import (
    FlexibleBody,
    Floats,
    Particles,
    Points,
    Product,
    Shapes,
    check_second_moments,
    positive,
    ratios,
)
from catena.bodies.points import few_points
from catena.bodies.splines import Basis
from catena.errors import ModelError
from catena.validation import entries, real_array, shown

ENDS = ("clamped", "pinned", "free")
DIRECTIONS = ("y", "z", "x", "rx")
MOST = 30
"""More modes in one direction than this are refused: splines would not hold them."""
LARGE = 5
"""The lowest modes of each bending direction have terms of fourth order; amplitudes of higher ones are small."""

# Stiffnesses [N/m] whose squares and inverses computers can still tell from zero and infinity.
TINY, HUGE = 1e-150, 1e150
LOST = (
    "Beam: its modes are lost in rounding: check length, area, inertia, density and young, whose stiffness and mass "
    "differ by too much, or are too large or small for numbers of a computer."
)


@dataclass(frozen=True, eq=False)
class BeamMode:
    """A mode of a beam: deflection along y or z, extension x, or torsion rx; its frequency, its modal mass, and the
    coefficients of its displacement and of the rotation of its sections."""

    direction: str
    frequency: float
    mass: float
    moved: Floats
    turned: Floats
    basis: Basis
    turned_basis: Basis
    turned_derivative: int

    def displacement(self, x: Floats, derivative: int = 0) -> Floats:
        """Return the displacement, or the angle of torsion, at places (n,)."""
        return self.basis.at(x, derivative) @ self.moved

    def slope(self, x: Floats, derivative: int = 0) -> Floats:
        """Return how far sections turn with the deflection; v' for a slender beam, less where shear takes part."""
        return self.turned_basis.at(x, self.turned_derivative + derivative) @ self.turned


@dataclass(frozen=True)
class Beam(FlexibleBody):
    """A straight beam along x from the origin of the body frame to (length, 0, 0).

    `area` [m^2], `inertia` [m^4] (one second moment of area for both planes, or those about y and about z), `density`
    [kg/m^3] and `young` [N/m^2] are numbers, or a number for each piece between `stations` (the lengths from the origin
    at which sections change). With `shear`, the shear stiffness k G A [N] for both planes or for y and z, sections turn
    and shear by themselves (Timoshenko); without it they stay normal to the axis (Euler and Bernoulli). `torsion` is
    the torsional stiffness G J [N m^2], which only modes "rx" need.

    `modes` is how many modes there are along y and along z, or {direction: number} with the directions "y" and "z"
    (bending), "x" (extension) and "rx" (torsion). `ends` tells what the modes satisfy at the origin and at the far end:
    "clamped", "pinned" or "free", such as "clamped-free". They fix the floating frame too: it is that of the clamped
    end, the line through two pins, or moves as the mean of a free-free beam. A mode is scaled so that its largest
    deflection is 1 m (1 rad for torsion), and `damping` is its damping ratio, one number or one for each mode.

    Modes of a free end carry no force and no moment there, so what hangs on it is felt slowly as modes are added. With
    `interface` two modes of each bending direction (one of "x" and "rx") make room for what the far end does under a
    force and a moment (Craig and Bampton), and a few modes hold a payload to many digits.

    `rotary` tells whether sections have inertia when they turn; without it the beam has what rods have, besides its
    moment about x.
    """

    length: Any
    area: Any
    inertia: Any
    density: Any
    young: Any
    shear: Any = None
    modes_wanted: Any = field(default=2, repr=False)
    ends: str = "clamped-free"
    torsion: Any = None
    damping_ratio: Any = field(default=0.0, repr=False)
    stations: tuple[float, ...] = ()
    rotary: bool | None = None
    interface: bool = False

    def __init__(
        self, length: float, area: ArrayLike, inertia: ArrayLike, density: ArrayLike, young: ArrayLike,
        shear: ArrayLike | None = None, modes: int | Mapping[str, int] = 2, ends: str = "clamped-free",
        torsion: ArrayLike | None = None, damping: ArrayLike = 0.0,
        stations: Sequence[float] = (), rotary: bool | None = None, interface: bool = False,
    ) -> None:  # fmt: skip
        values = {
            "length": positive("Beam", "length", length, "its length in metres"), "area": area, "inertia": inertia,
            "density": density, "young": young, "shear": shear, "modes_wanted": _wanted(modes), "ends": ends,
            "torsion": torsion, "damping_ratio": damping, "stations": _stations(stations),
            "rotary": shear is not None if rotary is None else _yes("rotary", rotary),
            "interface": _yes("interface", interface),
        }  # fmt: skip
        for name, value in values.items():
            object.__setattr__(self, name, value)
        edges = self._edges
        if any(b <= a for a, b in zip(edges[:-1], edges[1:], strict=True)):
            raise ModelError(
                f"Beam: stations {list(self.stations)} must grow from above 0 to below the length {self.length:g}."
            )
        self._sections  # noqa: B018  (sections and ends are checked when a beam is described)
        self._ends  # noqa: B018
        if self.interface:
            self._check_interface()
        given_ratios = ratios("Beam", damping)
        if len(given_ratios) not in (1, self.modes):
            raise ModelError(
                f"Beam: damping has {len(given_ratios)} entries for {self.modes} modes; give one number, or one for "
                f"each."
            )

    def _check_interface(self) -> None:
        """Refuse an interface that cannot be, or that takes more modes than there are."""
        if self._ends[1] != "free" or self._ends[0] == "free":
            raise ModelError(
                f"Beam: an interface is a free far end of a beam that is held at its origin; ends are {self.ends!r}."
            )
        for direction, count in self.modes_wanted.items():
            least = 3 if direction in ("y", "z") else 2
            if count < least:
                raise ModelError(
                    f"Beam: {count} modes along {direction!r} are too few for an interface, which takes {least - 1} of "
                    f"them: give at least {least}, or leave out the interface."
                )

    # What it is made of.

    @property
    def _edges(self) -> tuple[float, ...]:
        return (0.0, *self.stations, self.length)

    @cached_property
    def _ends(self) -> tuple[str, str]:
        parts = tuple(self.ends.split("-")) if isinstance(self.ends, str) else ()
        if len(parts) != 2 or any(part not in ENDS for part in parts):
            raise ModelError(
                f"Beam: ends = {shown(self.ends)} is not understood; give two of clamped, pinned and free: "
                f"'clamped-free'."
            )
        return parts[0], parts[1]

    @cached_property
    def _sections(self) -> dict[str, list[float]]:
        """Return area, second moments and material of the pieces between the stations."""
        pieces = len(self._edges) - 1
        about_y, about_z = self._pair("inertia", self.inertia)
        found = {
            "area": self._each("area", self.area, pieces, "the area of the section in m^2"),
            "I_y": self._each("inertia", about_y, pieces, "the second moment of area in m^4"),
            "I_z": self._each("inertia", about_z, pieces, "the second moment of area in m^4"),
            "density": self._each("density", self.density, pieces, "the density in kg/m^3"),
            "young": self._each("young", self.young, pieces, "Young's modulus in N/m^2"),
        }
        if self.shear is not None:
            along_y, along_z = self._pair("shear", self.shear)
            found["shear_y"] = self._each("shear", along_y, pieces, "the shear stiffness k G A in N")
            found["shear_z"] = self._each("shear", along_z, pieces, "the shear stiffness k G A in N")
        if self.torsion is not None:
            found["torsion"] = self._each(
                "torsion", self.torsion, pieces, "the torsional stiffness G J in N m^2"
            )
        elif "rx" in self.modes_wanted:
            raise ModelError(
                "Beam: modes of torsion 'rx' need the torsional stiffness: give torsion=G J in N m^2."
            )
        for area, I_y, I_z in zip(found["area"], found["I_y"], found["I_z"], strict=True):
            check_second_moments("Beam", area, I_y, I_z)
        return found

    @staticmethod
    def _pair(name: str, value: Any) -> tuple[Any, Any]:
        if isinstance(value, (tuple, list)) and len(value) == 2:
            return value[0], value[1]
        return value, value

    @staticmethod
    def _each(name: str, value: Any, pieces: int, what: str) -> list[float]:
        several = value if isinstance(value, (list, tuple, np.ndarray)) else [value] * pieces
        if isinstance(several, np.ndarray) and several.ndim != 1:
            raise ModelError(f"Beam: {name} = {shown(value)}; give one number, or one for each piece.")
        if len(several) != pieces:
            raise ModelError(
                f"Beam: {name} has {len(several)} entries for {pieces} pieces between stations; give one each."
            )
        return [positive("Beam", name, x, what) for x in several]

    def section(self, x: float) -> dict[str, float]:
        """Return area, second moments I_y and I_z, density and Young's modulus at a place along the beam."""
        basis = Basis(self._edges, 1)
        return {
            name: float(basis.piecewise(values, np.array([x]))[0]) for name, values in self._sections.items()
        }

    def resultants(self, eta: ArrayLike, x: ArrayLike) -> dict[str, Floats]:
        """Return the stress resultants at places x (n,) [m] for amplitudes eta (..., k): bending moments "My" and "Mz"
        [N m], shear forces "Qy" and "Qz", the axial force "N" [N] and the torque "T" [N m], each (..., n).

        They are those of the deformed shape: E I times curvature, its derivative, E A times extension, G J times twist.
        """
        at, amplitudes = np.atleast_1d(np.asarray(x, dtype=np.float64)), np.asarray(eta, dtype=np.float64)
        basis = Basis(self._edges, 1)
        part = {name: basis.piecewise(values, at) for name, values in self._sections.items()}
        found = {
            name: np.zeros((*amplitudes.shape[:-1], len(at))) for name in ("N", "Qy", "Qz", "T", "My", "Mz")
        }
        for j, mode in enumerate(self.shapes_of_modes):
            a = amplitudes[..., j, None]
            if mode.direction == "x":
                found["N"] += a * (part["young"] * part["area"] * mode.displacement(at, 1))
            elif mode.direction == "rx":
                found["T"] += a * (part["torsion"] * mode.displacement(at, 1))
            else:
                y = mode.direction == "y"
                bends = part["young"] * part["I_z" if y else "I_y"]
                # A deflection along z turns sections about -y.
                found["Mz" if y else "My"] += (1.0 if y else -1.0) * a * (bends * mode.slope(at, 1))
                if self.shear is None:
                    sheared = -bends * mode.slope(at, 2)
                else:
                    sheared = part[f"shear_{mode.direction}"] * (mode.displacement(at, 1) - mode.slope(at))
                found["Qy" if y else "Qz"] += a * sheared
        return found

    # Its modes.

    @cached_property
    def shapes_of_modes(self) -> tuple[BeamMode, ...]:
        """Return the modes, direction after direction, the lowest first."""
        return tuple(
            mode
            for direction in DIRECTIONS
            for mode in self._solve(direction, self.modes_wanted.get(direction, 0))
        )

    @property
    def modes(self) -> int:
        return sum(self.modes_wanted.values())

    @cached_property
    def frequencies(self) -> Floats:
        return np.array([mode.frequency for mode in self.shapes_of_modes])

    @cached_property
    def stiffness(self) -> Floats:
        found = np.array([mode.mass * mode.frequency**2 for mode in self.shapes_of_modes])
        if not np.all((found > TINY) & (found < HUGE)):
            raise ModelError(LOST)
        return found

    @cached_property
    def damping(self) -> Floats:
        mass = np.array([mode.mass for mode in self.shapes_of_modes])
        ratio = np.broadcast_to(
            np.atleast_1d(np.asarray(self.damping_ratio, dtype=np.float64)), (self.modes,)
        )
        return 2.0 * ratio * self.frequencies * mass

    def _solve(self, direction: str, count: int) -> list[BeamMode]:
        """Return the lowest modes in a direction by Rayleigh and Ritz."""
        if not count:
            return []
        spans = max(2, -(-(2 * count + 8) // (len(self._edges) - 1)))
        if direction in ("y", "z") and self.shear is not None:
            return self._timoshenko(direction, count, spans)
        basis = Basis(self._edges, spans, slope=direction in ("y", "z"))
        x, w = basis.gauss
        part = {name: basis.piecewise(values, x) for name, values in self._sections.items()}
        N, N1 = basis.at(x), basis.at(x, 1)
        per_length = part["density"] * part["area"]
        if direction in ("y", "z"):
            bends = part["I_z" if direction == "y" else "I_y"]
            N2 = basis.at(x, 2)
            K = N2.T @ ((w * part["young"] * bends)[:, None] * N2)
            M = N.T @ ((w * per_length)[:, None] * N)
            if self.rotary:
                M = M + N1.T @ ((w * part["density"] * bends)[:, None] * N1)
            turned_derivative = 1
        else:
            stiff = part["torsion"] if direction == "rx" else part["young"] * part["area"]
            inert = part["density"] * (part["I_y"] + part["I_z"]) if direction == "rx" else per_length
            K, M = N1.T @ ((w * stiff)[:, None] * N1), N.T @ ((w * inert)[:, None] * N)
            turned_derivative = 0
        free = self._free(basis, direction)
        end = np.array([self.length])
        loads = [basis.at(end)[0], basis.at(end, 1)[0]] if direction in ("y", "z") else [basis.at(end)[0]]
        values, vectors = self._lowest(
            K[np.ix_(free, free)], M[np.ix_(free, free)], count, np.array(loads)[:, free]
        )
        found = []
        for value, vector in zip(values, vectors.T, strict=True):
            full = np.zeros(basis.count)
            full[free] = vector
            scale = self._scale(basis, full)
            turned = full * scale if direction in ("y", "z") else np.zeros_like(full)
            found.append(
                BeamMode(
                    direction, np.sqrt(value), scale**2, full * scale, turned, basis, basis, turned_derivative
                )
            )
        return found

    def _timoshenko(self, direction: str, count: int, spans: int) -> list[BeamMode]:
        """Return bending modes with the deflection and the rotation of sections as functions of their own."""
        basis = Basis(self._edges, spans, slope=False)
        x, w = basis.gauss
        part = {name: basis.piecewise(values, x) for name, values in self._sections.items()}
        bends = part["I_z" if direction == "y" else "I_y"]
        N, N1 = basis.at(x), basis.at(x, 1)
        n = basis.count
        # Shear is v' - turn.
        sheared = np.hstack([N1, -N])
        K = sheared.T @ ((w * part[f"shear_{direction}"])[:, None] * sheared)
        K[n:, n:] += N1.T @ ((w * part["young"] * bends)[:, None] * N1)
        M = np.zeros((2 * n, 2 * n))
        M[:n, :n] = N.T @ ((w * part["density"] * part["area"])[:, None] * N)
        rotary = part["density"] * bends if self.rotary else 1e-9 * part["density"] * bends
        M[n:, n:] = N.T @ ((w * rotary)[:, None] * N)
        held = [
            place + n * which
            for place, end in ((0, self._ends[0]), (n - 1, self._ends[1]))
            for which in ((0, 1) if end == "clamped" else (0,) if end == "pinned" else ())
        ]
        free = np.setdiff1d(np.arange(2 * n), held)
        loads = np.eye(2 * n)[[n - 1, 2 * n - 1]]
        values, vectors = self._lowest(K[np.ix_(free, free)], M[np.ix_(free, free)], count, loads[:, free])
        found = []
        for value, vector in zip(values, vectors.T, strict=True):
            full = np.zeros(2 * n)
            full[free] = vector
            scale = self._scale(basis, full[:n])
            moved, turned = full[:n] * scale, full[n:] * scale
            found.append(BeamMode(direction, np.sqrt(value), scale**2, moved, turned, basis, basis, 0))
        return found

    def _free(self, basis: Basis, direction: str) -> Floats:
        """Return which coefficients are free under the conditions at the ends."""
        held: list[int] = []
        bending = direction in ("y", "z")
        for first, second, end in ((0, 1, self._ends[0]), (basis.count - 1, basis.count - 2, self._ends[1])):
            if end == "clamped":
                held += [first, second] if bending else [first]
            elif end == "pinned" and (bending or direction == "rx" or first == 0):
                # A pin at the far end lets it slide.
                held.append(first)
        return np.setdiff1d(np.arange(basis.count), held)

    def _lowest(self, K: Floats, M: Floats, count: int, loads: Floats) -> tuple[Floats, Floats]:
        """Return the lowest eigenvalues that are no rigid motion, and vectors of modal mass 1; with an interface those
        within the span of what loads (n, m) at it do and of the lowest modes."""
        from scipy.linalg import cho_factor, cho_solve, eigh

        try:
            if not self.interface:
                return self._eigen(K, M, count)
            _, moving = self._eigen(K, M, count - len(loads))
            basis = np.linalg.qr(np.hstack([moving, cho_solve(cho_factor(K), loads.T)]))[0]
            values, vectors = eigh(basis.T @ K @ basis, basis.T @ M @ basis)
            return values, basis @ vectors
        except (np.linalg.LinAlgError, ValueError):
            raise ModelError(LOST) from None

    @staticmethod
    def _eigen(K: Floats, M: Floats, count: int) -> tuple[Floats, Floats]:
        """Return the lowest eigenvalues that are no rigid motion, and vectors of modal mass 1."""
        from scipy.linalg import eigh

        rough = eigh(K, M, eigvals_only=True)
        shift = rough[min(len(rough) - 1, 3)]
        # The lowest are the largest of the inverse problem, which are found to the last digits.
        inverse, vectors = eigh(M, K + shift * M)
        values, vectors = (1.0 / inverse - shift)[::-1], vectors[:, ::-1]
        moving = values > 1e-7 * shift
        values, vectors = values[moving][:count], vectors[:, moving][:, :count]
        return values, vectors * np.sqrt(values + shift)

    def _scale(self, basis: Basis, coefficients: Floats) -> float:
        """Return the factor by which the largest deflection becomes 1, positive towards the far end."""
        x = np.linspace(0.0, self.length, 401)
        values = basis.at(x) @ coefficients
        largest = float(np.abs(values).max())
        outward = values[np.flatnonzero(np.abs(values) > 0.5 * largest)[-1]]
        return float(np.sign(outward)) / largest

    # How it moves.

    def shapes(self, p: Sequence[float]) -> Shapes:
        x, y, z = (float(c) for c in p)
        if not -1e-9 * self.length <= x <= (1.0 + 1e-9) * self.length:
            raise ModelError(
                f"Beam: the point {tuple(float(c) for c in p)} is not on the beam, which goes from x = 0 to x = "
                f"{self.length:g}: place joints and frames along it."
            )
        at = np.array([min(max(x, 0.0), self.length)])
        S, R, B, F = self._fields(at)
        offset = np.array([0.0, y, z])
        return Shapes(S[0] + np.cross(R[0].T, offset).T, R[0], B[0], None if F is None else F[0])

    def particles(self, begin: float = 0.0, end: float | None = None) -> Particles:
        """Return particles along the axis, or around it where sections have inertia, by Gauss points: of the beam, or
        of its part between two places [m]."""
        x, w = self._places(begin, end)
        part = {name: self._quadrature.piecewise(values, x) for name, values in self._sections.items()}
        S, R, B, F = self._fields(x)
        mass = w * part["density"] * part["area"]
        s = np.stack([x, np.zeros_like(x), np.zeros_like(x)], axis=1)
        if not self.rotary:
            return Particles(mass, s, S, B, F)
        found = []
        for axis, name in ((1, "I_z"), (2, "I_y")):
            for sign in (1.0, -1.0):
                offset = np.zeros_like(s)
                offset[:, axis] = sign * np.sqrt(2.0 * part[name] / part["area"])
                turned = np.cross(R.transpose(0, 2, 1), offset[:, None, :]).transpose(0, 2, 1)
                found.append((mass / 4.0, s + offset, S + turned, B))
        masses, places, shapes, bent = (np.concatenate([f[i] for f in found]) for i in range(4))
        return Particles(
            masses, places, shapes, bent, None if F is None else np.concatenate([F] * len(found))
        )

    def points(self) -> Points:
        return self._points

    @cached_property
    def _points(self) -> Points:
        return few_points(self.particles(), 1.0 / np.sqrt(self.stiffness))

    @property
    def turning_inertia(self) -> Floats:
        return self.turning_between(0.0, None)

    def turning_between(self, begin: float, end: float | None) -> Floats:
        """Return the rotational inertia (3, 3) that is not in the particles of the part between two places."""
        if self.rotary:
            return np.zeros((3, 3))
        x, w = self._places(begin, end)
        part = {name: self._quadrature.piecewise(values, x) for name, values in self._sections.items()}
        return np.diag([float(w @ (part["density"] * (part["I_y"] + part["I_z"]))), 0.0, 0.0])

    @cached_property
    def products(self) -> tuple[Product, ...]:
        """Return the products of four amplitudes that a slender beam has terms of: even in either direction, of the
        lowest modes. A beam with shear has none."""
        if self.shear is not None:
            return ()
        which = self._directions
        large = [j for j, d in enumerate(which) if d in ("y", "z") and j - which.index(d) < LARGE]
        some = combinations_with_replacement(large, 4)
        return tuple(p for p in some if sum(which[j] == "y" for j in p) % 2 == 0)

    def _of_fourth_order(self, pairs: Floats) -> Floats:
        """Return the coefficients (n, products) of (eta^T P eta)^2 for symmetric matrices P (n, k, k)."""
        found = np.zeros((len(pairs), len(self.products)))
        for n, (a, b, c, d) in enumerate(self.products):
            orders = len(set(permutations((a, b, c, d))))
            halves = (((a, b), (c, d)), ((a, c), (b, d)), ((a, d), (b, c)))
            found[:, n] = orders / 3.0 * sum(pairs[:, i, j] * pairs[:, k, m] for (i, j), (k, m) in halves)
        return found

    @cached_property
    def hardening(self) -> dict[Product, float]:
        """Return what the curvature of a slender beam has beyond v'': it is v'' / sqrt(1 - v'^2) along the axis, which
        keeps its length."""
        if self.shear is not None:
            return {}
        x, w = self._quadrature.gauss
        part = {name: self._quadrature.piecewise(values, x) for name, values in self._sections.items()}
        slopes, curvatures = (self._displacements(x, derivative) for derivative in (1, 2))
        bends = {"y": np.sqrt(part["young"] * part["I_z"]), "z": np.sqrt(part["young"] * part["I_y"])}
        product = np.zeros((len(x), self.modes, self.modes))
        large = sorted({i for some in self.products for i in some})
        for i, j in product_of(large, large):
            if self._directions[i] == self._directions[j]:
                product[:, i, j] = bends[self._directions[i]] * slopes[:, i] * curvatures[:, j]
        product = 0.5 * (product + product.transpose(0, 2, 1))
        found = 0.5 * w @ self._of_fourth_order(product)
        return dict(zip(self.products, found.tolist(), strict=True))

    def reach(self) -> float:
        return float(self.length)

    def outline(self, count: int = 33) -> list[Floats]:
        x = np.linspace(0.0, self.length, count)
        return [np.stack([x, np.zeros_like(x), np.zeros_like(x)], axis=1)]

    def breadths(self, p: Sequence[float]) -> tuple[float, float]:
        """Return the sides along y and z [m] that a rectangle with the same second moments per area has."""
        part = self.section(min(max(float(p[0]), 0.0), self.length))
        y, z = (float(np.sqrt(12.0 * part[name] / part["area"])) for name in ("I_z", "I_y"))
        return y, z

    def _places(self, begin: float, end: float | None) -> tuple[Floats, Floats]:
        """Return places (n,) and weights (n,) that integrate along the beam, or between two places of it."""
        if begin == 0.0 and end is None:
            return self._quadrature.gauss
        last = self.length if end is None else end
        inner = np.unique(self._quadrature.knots)
        edges = np.concatenate([[begin], inner[(inner > begin) & (inner < last)], [last]])
        x, w = np.polynomial.legendre.leggauss(12)
        half, middle = np.diff(edges)[:, None] / 2.0, (edges[1:] + edges[:-1])[:, None] / 2.0
        return (middle + half * x).ravel(), (half * w).ravel()

    @cached_property
    def _quadrature(self) -> Basis:
        most = max(self.modes_wanted.values(), default=0)
        return Basis(self._edges, max(2, -(-(2 * most + 8) // (len(self._edges) - 1))), slope=False)

    def _fields(self, x: Floats) -> tuple[Floats, Floats, Floats, Floats | None]:
        """Return S (n, 3, k), R (n, 3, k), B (n, 3, k, k) and F (n, 3, products) on the axis.

        The axis keeps its length, so its slope along x is sqrt(1 - v'^2) = 1 - v'^2 / 2 - v'^4 / 8 - ...
        """
        n, k = len(x), self.modes
        S, R, B = np.zeros((n, 3, k)), np.zeros((n, 3, k)), np.zeros((n, 3, k, k))
        moved = self._displacements(x)
        for j, mode in enumerate(self.shapes_of_modes):
            if mode.direction == "rx":
                R[:, 0, j] = moved[:, j]
            else:
                S[:, "xyz".index(mode.direction), j] = moved[:, j]
            if mode.direction == "y":
                R[:, 2, j] = mode.slope(x)
            elif mode.direction == "z":
                R[:, 1, j] = -mode.slope(x)
        B[:, 0] = -self._along(x, self._products_of_slopes)
        if not self.products:
            return S, R, B, None
        F = np.zeros((n, 3, len(self.products)))
        F[:, 0] = -0.125 * self._along(x, self._fourth_powers_of_slopes)
        return S, R, B, F

    @cached_property
    def _directions(self) -> tuple[str, ...]:
        """Return the direction of each mode."""
        return tuple(mode.direction for mode in self.shapes_of_modes)

    def _displacements(self, x: Floats, derivative: int = 0) -> Floats:
        """Return the displacements (n, k) of all modes at places (n,), or derivatives of those that bend the beam."""
        found, together = np.zeros((len(x), self.modes)), dict[int, list[int]]()
        for j, mode in enumerate(self.shapes_of_modes):
            if not derivative or mode.direction in ("y", "z"):
                together.setdefault(id(mode.basis), []).append(j)
        for some in together.values():
            modes = [self.shapes_of_modes[j] for j in some]
            found[:, some] = modes[0].basis.at(x, derivative) @ np.stack(
                [mode.moved for mode in modes], axis=1
            )
        return found

    def _slopes(self, at: Floats) -> Floats:
        """Return the slopes (n, 2, k) of modes along y and z at places (n,)."""
        slopes = self._displacements(at, 1)
        return np.stack([np.where([d == own for d in self._directions], slopes, 0.0) for own in "yz"], axis=1)

    def _products_of_slopes(self, places: Floats, weights: Floats) -> Floats:
        """Return the sums (n, k, k) of the products of the slopes of modes over places (n, e) with weights (n, e)."""
        slopes = self._slopes(places.ravel()).reshape(len(places), -1, self.modes)
        found: Floats = np.matmul(
            (slopes * np.repeat(weights, 2, axis=1)[:, :, None]).transpose(0, 2, 1), slopes
        )
        return found

    def _fourth_powers_of_slopes(self, places: Floats, weights: Floats) -> Floats:
        """Return the same for the squares of these products (n, products), by products of four amplitudes."""
        slopes = self._slopes(places.ravel())
        count = 1 + max(max(product) for product in self.products)
        pairs = np.matmul(slopes[:, :, :count].transpose(0, 2, 1), slopes[:, :, :count])
        squares = self._of_fourth_order(pairs).reshape(*places.shape, -1)
        found: Floats = np.matmul(weights[:, None, :], squares)[:, 0]
        return found

    def _along(self, x: Floats, summed: Callable[[Floats, Floats], Floats]) -> Floats:
        """Return the integrals (n, ...) of a function along the axis up to places x (n,), counted from the held end, or
        so that the mean of a free-free beam is zero. `summed` returns sums (n, ...) of the function over places (n, e)
        with weights (n, e)."""
        gauss, w = np.polynomial.legendre.leggauss(20)
        edges = np.unique(self._quadrature.knots)
        places = (edges[1:] + edges[:-1])[:, None] / 2.0 + np.diff(edges)[:, None] / 2.0 * gauss
        weights = np.diff(edges)[:, None] / 2.0 * w

        whole = summed(places, weights)
        before = np.concatenate([np.zeros((1, *whole.shape[1:])), np.cumsum(whole, axis=0)])

        def up_to(at: Floats) -> Floats:
            span = np.clip(np.searchsorted(edges, at, side="right") - 1, 0, len(edges) - 2)
            half = (at - edges[span]) / 2.0
            inner = edges[span][:, None] + half[:, None] * (1.0 + gauss)
            found: Floats = before[span] + summed(inner, half[:, None] * w)
            return found

        found = up_to(x)
        if self._ends == ("free", "free"):
            g, gw = self._quadrature.gauss
            part = {n: self._quadrature.piecewise(v, g) for n, v in self._sections.items()}
            mass = gw * part["density"] * part["area"]
            found = found - np.tensordot(mass, up_to(g), axes=1) / mass.sum()
        elif self._ends[0] == "free":
            found = found - up_to(np.array([self.length]))
        return found


def _yes(name: str, value: Any) -> bool:
    if not isinstance(value, bool | np.bool_ | int):
        raise ModelError(f"Beam: {name} = {shown(value)}; give True or False.")
    return bool(value)


def _stations(positions: Any) -> tuple[float, ...]:
    """Return where sections change, checked."""
    try:
        found = real_array(positions if isinstance(positions, np.ndarray) else list(entries(positions)))
    except ValueError:
        found = np.zeros((0, 0))
    if found.ndim != 1 or not np.isfinite(found).all():
        raise ModelError(f"Beam: stations = {shown(positions)}; give lengths from the origin in metres.")
    return tuple(found.tolist())


def _wanted(modes: Any) -> dict[str, int]:
    """Return how many modes there are in each direction, checked."""
    if isinstance(modes, Mapping):
        wanted = dict(modes)
    else:
        wanted = {"y": modes, "z": modes}
    for direction, count in wanted.items():
        if direction not in DIRECTIONS:
            raise ModelError(
                f"Beam: modes along {direction!r} are not known; give some of {', '.join(DIRECTIONS)}."
            )
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or not 0 <= count <= MOST:
            raise ModelError(
                f"Beam: modes[{direction!r}] = {shown(count)}; give a whole number from 0 to {MOST}."
            )
    ordered = {d: int(wanted[d]) for d in DIRECTIONS if wanted.get(d)}
    if not ordered:
        raise ModelError("Beam: it has no modes at all, so it is rigid: add a rigid body, or give modes.")
    return ordered
