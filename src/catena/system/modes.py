"""The modes of a mechanism as users see them: frequencies, damping ratios, and configurations in which they swing."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from catena.errors import StateError
from catena.hooks import hook
from catena.questions.linearisation import Linearisation, eigenmodes, rests

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
        return self.system.project(q, held=[]) if self.system.mechanics.constrained else q

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
    """Return the modes of a linear system at rest; raise where it does not rest, because modes belong to an
    equilibrium."""
    H = system.mass_matrix(system.neutral()) if system.nv else np.zeros((0, 0))
    if not rests(linear, np.asarray(system.mechanism.gravity), H):
        raise StateError(
            f"{system.mechanism.name!r} does not stay at this q: its joints accelerate by up to "
            f"{np.max(np.abs(linear.vdot)):.3g}. Modes belong to an equilibrium, which s.equilibrium(q) finds."
        )
    return Modes(system, q, *eigenmodes(linear))
