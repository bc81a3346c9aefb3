"""The states a run has passed: for each state of a batch its own times."""

from __future__ import annotations

import numpy as np

Part = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


class Nodes:
    """Times, positions, velocities and control forces of a number of states, growing as they move on. Where control
    forces are `held` over steps, what is added with a node is the force that led to it."""

    def __init__(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray, held: bool) -> None:
        self.states, self.held = len(q), held
        self.ended = np.zeros(self.states, dtype=bool)
        self._parts: list[Part] = []
        self.add(np.arange(self.states), np.zeros(self.states), q.copy(), v.copy(), tau.copy())

    @property
    def mark(self) -> int:
        """A number that stands for what has been added so far."""
        return len(self._parts)

    def add(self, who: np.ndarray, t: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> None:
        """Append nodes of the states `who` (n,), in order of time for each of them."""
        if self.ended.any():
            going = ~self.ended[who]
            who, t, q, v, tau = who[going], t[going], q[going], v[going], tau[going]
        self._parts.append((who, t, q, v, tau))

    def since(self, mark: int, state: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """t (n,), q (n, nq), v (n, nv) of one state from the last node before the mark on, and the control forces (n,
        nv) from each of them on; those of the last one are not known yet."""
        parts: list[tuple[np.ndarray, ...]] = []
        for k in range(len(self._parts) - 1, -1, -1):
            who, t, q, v, tau = self._parts[k]
            own = np.flatnonzero(who == state)
            if k < mark and len(own):
                own = own[-1:]
            parts.append((t[own], q[own], v[own], tau[own]))
            if k < mark and len(own):
                break
        t, q, v, tau = (np.concatenate(column) for column in zip(*reversed(parts), strict=True))
        return t, q, v, np.append(tau[1:], tau[-1:], axis=0) if self.held else tau

    def end(self, state: int, t_end: float, q: np.ndarray, v: np.ndarray) -> None:
        """End the motion of one state at the time t_end with the state q (nq,), v (nv,)."""
        for k, (who, t, q_all, v_all, tau) in enumerate(self._parts):
            if np.any((who == state) & (t >= t_end)):
                force = tau[who == state][-1:]
                keep = (who != state) | (t < t_end)
                self._parts[k] = (who[keep], t[keep], q_all[keep], v_all[keep], tau[keep])
        self._parts.append((np.array([state]), np.array([t_end]), q[None], v[None], force))
        self.ended[state] = True

    def all(self, tau_now: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """t (states, nodes), q, v, and the control force tau that acts from each node on (`tau_now` (states, nv) from
        the last); states with fewer nodes repeat their last."""
        who, t, q, v, tau = (np.concatenate(column) for column in zip(*self._parts, strict=True))
        order = np.lexsort((t, who))
        who, t, q, v, tau = (x[order] for x in (who, t, q, v, tau))
        edges = np.searchsorted(who, np.arange(self.states + 1))
        if self.held:
            tau = np.roll(tau, -1, axis=0)
            tau[edges[1:] - 1] = tau_now
        counts = np.diff(edges)
        index = edges[:-1, None] + np.minimum(np.arange(int(counts.max())), counts[:, None] - 1)
        return t[index], q[index], v[index], tau[index]
