"""Small vibrations about a state at rest: eigenfrequencies, damping ratios and shapes."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from catena.errors import StateError
from catena.hooks import hook
from catena.system.linearisation import Linearisation

if TYPE_CHECKING:
    from catena.system.system import System
    from catena.view.course import Course


@dataclass(frozen=True, eq=False)
class Modes:
    """The modes of a mechanism at q (nq,), slowest first.

    `eigenvalues` (k,) [1/s], `frequencies` (k,) [rad/s] their absolute values, `damping_ratios` (k,) (1 and more where
    nothing swings, negative where a motion grows), `shapes` (nv, k) complex, in all velocity components, the largest
    entry 1. A pair of conjugate eigenvalues is one mode, and so is a real eigenvalue.
    """

    system: "System"
    q: np.ndarray
    eigenvalues: np.ndarray
    shapes: np.ndarray

    @property
    def frequencies(self) -> np.ndarray:
        """Return the undamped angular frequencies [rad/s]."""
        return np.abs(self.eigenvalues)

    @property
    def hertz(self) -> np.ndarray:
        """Return the undamped frequencies [1/s]."""
        return self.frequencies / (2.0 * np.pi)

    @property
    def damping_ratios(self) -> np.ndarray:
        """Return the damping ratios -Re / |eigenvalue|, zero for an eigenvalue of zero."""
        size = self.frequencies
        return np.divide(-self.eigenvalues.real, size, out=np.zeros_like(size), where=size > 0.0) + 0.0

    def positions(self, mode: int, amplitude: float = 0.2, phases: Any = 0.0) -> np.ndarray:
        """Return the configurations (..., nq) in which the mode swings, for phases (...) [rad]: q (+) amplitude
        Re(shape e^(i phase)), with loops closed. The amplitude is that of the component that moves most."""
        turn = np.exp(1j * np.asarray(phases, dtype=float))[..., None]
        q = self.system.integrate(self.q, amplitude * (self.shapes[:, mode] * turn).real)
        return self.system.project(q, held=[]) if self.system.constrained else q

    def course(self, mode: int, amplitude: float = 0.2, samples: int = 49) -> "Course":
        """Return one swing of a mode as something to play: `course(0).view()`, `save_html`, `save_video`."""
        return hook("course")(
            self.system, self.positions(mode, amplitude, np.linspace(0.0, 2.0 * np.pi, samples))
        )

    def __str__(self) -> str:
        lines = ["mode  frequency [Hz]  damping ratio"]
        for k, (f, ratio) in enumerate(zip(self.hertz, self.damping_ratios, strict=True)):
            lines.append(f"{k:4d}  {f:14.6g}  {ratio:13.4g}")
        return "\n".join(lines)


def modes(system: "System", q: np.ndarray, linear: Linearisation) -> Modes:
    """Return the modes of a linear system at rest."""
    d = linear.A.shape[0] // 2
    K, C = -linear.A[d:, :d], -linear.A[d:, d:]
    if not np.any(C):
        squares, vectors = np.linalg.eig(K)
        values = np.where(
            squares.real >= 0.0, 1j * np.sqrt(np.abs(squares.real)), np.sqrt(np.abs(squares.real))
        )
    else:
        values, whole = np.linalg.eig(linear.A)
        chosen = values.imag >= 0.0
        values, vectors = values[chosen], whole[:d, chosen]
    order = np.argsort(np.abs(values), kind="stable")
    shapes = linear.E @ vectors[:, order]
    if shapes.size:
        largest = shapes[np.argmax(np.abs(shapes), axis=0), np.arange(shapes.shape[1])]
        shapes = shapes / largest
    return Modes(system, q, np.asarray(values[order], dtype=complex), shapes.astype(complex))


def require_rest(linear: Linearisation, system: "System") -> None:
    """Raise a StateError where the mechanism does not stay at rest, because modes belong to an equilibrium."""
    scale = np.linalg.norm(system.mechanism.gravity)
    H = system.mass_matrix(system.neutral()) if system.nv else np.zeros((0, 0))
    size = scale * np.sqrt(np.trace(H)) if H.size else 0.0
    if np.linalg.norm(linear.vdot) > 1e-3 * max(size, 1.0):
        raise StateError(
            f"{system.mechanism.name!r} does not stay at this q: its joints accelerate by up to "
            f"{np.max(np.abs(linear.vdot)):.3g}. Modes belong to an equilibrium, which s.equilibrium(q) finds."
        )
