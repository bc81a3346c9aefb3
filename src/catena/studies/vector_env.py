"""Many environments for learning in one batch, after the vector API of gymnasium: actions in, observations and rewards
out, and environments that end begin again by themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from catena.errors import StateError
from catena.mechanism.validation import known
from catena.simulation import Contact, Stepper, Stop
from catena.system import System
from catena.validation import is_positive, shown

if TYPE_CHECKING:
    from gymnasium.spaces import Box

    Base: Any = object
    AutoresetMode: Any = None
else:
    try:
        from gymnasium.vector import AutoresetMode, VectorEnv as Base
    except ImportError:
        # All but the spaces, and what gymnasium has besides for its own, is there without it.
        AutoresetMode, Base = None, object

Start = Callable[[np.random.Generator, int], tuple[ArrayLike, ArrayLike]]
"""Gives q (n, nq) and v (n, nv) to begin with, by random numbers."""
OfBatch = Callable[..., ArrayLike]
"""A function of states q (n, nq), v (n, nv) and actions (n, joints) of a batch."""


class VectorEnv(Base):  # type: ignore[misc]
    """So many copies of a mechanism that move in lanes, a `gymnasium.vector.VectorEnv` where gymnasium is installed.

    `start(random, n)` gives q (n, nq) and v (n, nv) to begin with. `observe(q, v)` gives observations (n, k), q and v
    one behind the other unless given; `reward(q, v, action)` rewards (n,); `over(q, v)` which have failed or arrived
    (n,), none unless given. Actions (n, joints), cut off at plus and minus `limit`, are the forces at `joints`, times
    `scale`, held over `substeps` steps of `step` seconds. After `horizon` actions an environment is cut off.
    `parameters(random, n)` gives numbers of the mechanism, {"pole.mass": (n,)}, anew whenever environments begin.
    `contacts` move in lanes with integrator="time_stepping".

    An environment that ended begins again with the next action, which counts for nothing then ("next step" in the words
    of gymnasium); `reset(mask)` begins some at once.
    """

    def __init__(
        self,
        system: System,
        count: int,
        start: Start,
        reward: OfBatch,
        joints: Sequence[str],
        *,
        observe: OfBatch | None = None,
        over: OfBatch | None = None,
        step: float = 1e-2,
        substeps: int = 1,
        integrator: str = "rk4",
        scale: float = 1.0,
        limit: float | None = None,
        contacts: Sequence[Contact | Stop] = (),
        horizon: int | None = None,
        parameters: Callable[[np.random.Generator, int], Mapping[str, ArrayLike]] | None = None,
        seed: int | None = None,
    ) -> None:
        for name, number in (
            ("count", count),
            ("substeps", substeps),
            ("horizon", 1 if horizon is None else horizon),
        ):
            if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 1:
                raise StateError(f"VectorEnv: {name} is {shown(number)}; give a whole number, 1 or more.")
        if limit is not None and not is_positive(limit):
            raise StateError(
                f"VectorEnv: limit is {shown(limit)}; give the largest action, a positive number."
            )
        for name in joints:
            known("joint", name, system.joints, "VectorEnv")
        self.num_envs, self.system, self.joints = int(count), system, tuple(joints)
        self._start, self._reward, self._observe, self._over = start, reward, observe, over
        self._step, self._substeps, self._integrator, self._scale = (
            float(step),
            int(substeps),
            integrator,
            float(scale),
        )
        self._horizon, self._parameters, self._contacts = horizon, parameters, contacts
        self._limit = np.inf if limit is None else float(limit)
        self.metadata = {"autoreset_mode": AutoresetMode and AutoresetMode.NEXT_STEP}
        self._columns = np.concatenate([np.arange(system.nv)[system.slice_v(name)] for name in joints])
        self.np_random = np.random.default_rng(seed)
        self.elapsed = np.zeros(self.num_envs, dtype=int)
        self._ended = np.zeros(self.num_envs, dtype=bool)
        self._numbers: dict[str, np.ndarray] = {}
        self._stepper: Stepper | None = None
        self.q, self.v = np.zeros((self.num_envs, system.nq)), np.zeros((self.num_envs, system.nv))

    @property
    def single_action_space(self) -> Box:
        """The actions of one environment, as a space of gymnasium."""
        return _box(self._limit, (len(self._columns),))

    @property
    def action_space(self) -> Box:
        """The actions of all environments, as a space of gymnasium."""
        return _box(self._limit, (self.num_envs, len(self._columns)))

    @property
    def single_observation_space(self) -> Box:
        """The observations of one environment, as a space of gymnasium."""
        return _box(np.inf, self._observed().shape[1:])

    @property
    def observation_space(self) -> Box:
        """The observations of all environments, as a space of gymnasium."""
        return _box(np.inf, self._observed().shape)

    def reset(
        self,
        mask: ArrayLike | None = None,
        *,
        seed: int | None = None,
        options: Mapping[str, ArrayLike] | None = None,
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Begin all environments, or those of a mask (n,), and return the observations of all."""
        if seed is not None:
            self.np_random = np.random.default_rng(seed)
        chosen = (options or {}).get("reset_mask", mask)
        which = np.ones(self.num_envs, dtype=bool) if chosen is None else np.asarray(chosen, dtype=bool)
        if which.shape != (self.num_envs,):
            raise StateError(f"VectorEnv: the mask has shape {which.shape}; give ({self.num_envs},).")
        self._begin(which)
        return self._observed(), {}

    def _begin(self, which: np.ndarray) -> None:
        count = int(which.sum())
        if not count:
            return
        q, v = (np.asarray(x, dtype=np.float64) for x in self._start(self.np_random, count))
        self.q[which], self.v[which] = q, v
        if self._parameters is not None:
            for name, x in self._parameters(self.np_random, count).items():
                rows = np.asarray(x, dtype=np.float64)
                if name not in self._numbers:
                    self._numbers[name] = np.zeros((self.num_envs, *rows.shape[1:]))
                    self._numbers[name][:] = rows[0]
                self._numbers[name][which] = rows
        self.elapsed[which] = 0
        self._ended[which] = False
        if self._stepper is None or self._parameters is not None:
            self._stepper = Stepper(
                self.system, self.q, self.v, step=self._step, integrator=self._integrator,
                parameters=self._numbers or None, contacts=self._contacts,
            )  # fmt: skip
        else:
            self._stepper.reset(self.q, self.v)

    def step(
        self, action: ArrayLike, substeps: int | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        """Act (n, joints), and return observations, rewards (n,), which ended by themselves (n,), which were cut off
        (n,), and further information."""
        if self._stepper is None:
            raise StateError("VectorEnv: call reset() before the first step.")
        actions = np.asarray(action, dtype=np.float64).reshape(self.num_envs, -1)
        if actions.shape[1] != len(self._columns):
            raise StateError(
                f"VectorEnv: actions have shape {np.shape(action)}; give ({self.num_envs}, {len(self._columns)})."
            )
        actions = np.clip(actions, -self._limit, self._limit)
        begun = self._ended.copy()
        self._begin(begun)
        tau = np.zeros((self.num_envs, self.system.nv))
        tau[:, self._columns] = self._scale * np.where(begun[:, None], 0.0, actions)
        going = ~begun
        before = self.q.copy(), self.v.copy()
        for _ in range(self._substeps if substeps is None else int(substeps)):
            q, v = self._stepper.step(tau)
        # Those that have just begun stay where they begin.
        self.q[:] = np.where(going[:, None], q, before[0])
        self.v[:] = np.where(going[:, None], v, before[1])
        if begun.any():
            self._stepper.reset(self.q, self.v)
        self.elapsed += going
        reward = np.where(going, np.asarray(self._reward(self.q, self.v, actions), dtype=np.float64), 0.0)
        over = np.zeros(self.num_envs, dtype=bool)
        if self._over is not None:
            over = going & np.asarray(self._over(self.q, self.v), dtype=bool)
        cut = np.zeros(self.num_envs, dtype=bool)
        if self._horizon is not None:
            cut = going & ~over & (self.elapsed >= self._horizon)
        self._ended = over | cut
        return self._observed(), reward, over, cut, {}

    def _observed(self) -> np.ndarray:
        if self._observe is None:
            return np.concatenate([self.q, self.v], axis=-1)
        return np.asarray(self._observe(self.q, self.v), dtype=np.float64)

    def close(self, **_: Any) -> None:
        """Do nothing: there is nothing to close."""


def _box(high: float, shape: tuple[int, ...]) -> Box:
    try:
        from gymnasium.spaces import Box
    except ImportError:
        raise StateError("Spaces need gymnasium: pip install gymnasium.") from None
    return Box(-high, high, shape, np.float64)
