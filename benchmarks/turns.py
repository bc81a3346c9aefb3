"""One side of `against`: reads lines [case, repeats] and answers with the processor time of a call. It knows the public
names that old commits have too, and nothing else of this one."""

import gc
import json
import sys
import warnings
from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np

import catena as ct

Call = Callable[[], Any]


def cart_pole() -> ct.Mechanism:
    """A pole on a cart."""
    m = ct.Mechanism("cart-pole")
    m.add_body("cart", mass=1.0)
    m.add_body("pole", mass=0.2, com=(0, 0, 0.5), inertia=(0.01, 0.01, 0.001))
    m.add_joint("rail", "ground", "cart", ct.Prismatic("x"))
    m.add_joint("hinge", "cart", "pole", ct.Revolute("y"))
    return m


def thrown() -> ct.Mechanism:
    """A ball over a floor."""
    m = ct.Mechanism("ball")
    m.gravity = (0.0, 0.0, -9.81)
    m.add_body("ball", mass=0.3, inertia=0.01)
    m.add_joint("flight", "ground", "ball", ct.Sdof("dx", "dz"))
    return m


MECHANISMS: dict[str, Callable[[], ct.Mechanism]] = {
    "cart-pole": cart_pole,
    "arm7": lambda: ct.generators.arm7(),
    "four-bar": lambda: ct.generators.four_bar(),
    "stewart": lambda: ct.generators.stewart(),
    "walker": lambda: ct.generators.walker(0),
}


def moving(name: str) -> tuple[ct.System, np.ndarray, np.ndarray]:
    """A system and a state of it, with loops closed."""
    s = MECHANISMS[name]().system()
    q = s.assemble() if s.loops else s.neutral()
    v = 0.3 * np.cos(np.arange(s.nv))
    return s, q, (s.project(q, v)[1] if s.loops else v)


def single(name: str) -> Call:
    """Accelerations of one state."""
    s, q, v = moving(name)
    tau = np.zeros(s.nv)
    return lambda: s.forward_dynamics(q, v, tau)


def inverse(name: str) -> Call:
    """Forces of one state."""
    s, q, v = moving(name)
    vdot = np.zeros(s.nv)
    return lambda: s.inverse_dynamics(q, v, vdot)


def batch(name: str, states: int) -> Call:
    """Accelerations of many states."""
    s, q, v = moving(name)
    many = [np.repeat(x[None], states, axis=0) for x in (q, v, np.zeros(s.nv))]
    return lambda: s.forward_dynamics(*many)


def run(name: str, duration: float, **options: Any) -> Call:
    """A run of one state."""
    s, q, v = moving(name)
    return lambda: ct.simulate(s, q, v, duration, progress=False, **options)


def controlled(name: str) -> Call:
    """A run under a function that gives no forces."""
    s, q, v = moving(name)
    return lambda: ct.simulate(s, q, v, 0.1, control=lambda t, q, v: np.zeros(s.nv), progress=False)


def law() -> Call:
    """A run under a sampled controller that is compiled."""
    s, q, v = moving("arm7")
    pid = ct.PID(s, dict.fromkeys(s.joints, 0.1), kp=20.0, ki=1.0, kd=2.0, rate=1000.0)
    return lambda: ct.simulate(s, q, v, 0.2, control=pid, integrator="rk4", step=1e-3, progress=False)


def bouncing() -> Call:
    """A ball that bounces on a floor."""
    s = thrown().system()
    q, v = np.array([0.0, 0.2]), np.array([0.5, 0.0])
    contacts = [ct.Contact("ball", friction=0.4, restitution=0.5)]
    return lambda: ct.simulate(s, q, v, 0.5, contacts=contacts, progress=False)


def rollout(name: str, states: int, **options: Any) -> Call:
    """A run of many states that keeps the last."""
    s, q, v = moving(name)
    many = [np.repeat(x[None], states, axis=0) for x in (q, v)]
    return lambda: ct.simulate(s, *many, 0.5, samples=2, check=False, progress=False, **options)


def steps(name: str) -> Call:
    """Single steps, as a loop of control takes them."""
    s, q, v = moving(name)
    stepper = ct.Stepper(s, q, v, step=1e-4)
    tau = np.zeros(s.nv)

    def call() -> None:
        for _ in range(100):
            stepper.step(tau)

    return call


FIXED: dict[str, Any] = {"integrator": "rk4", "step": 1e-3}
CASES: dict[str, Callable[[], Call]] = {
    **{f"call forward {x}": lambda x=x: single(x) for x in MECHANISMS},
    "call inverse arm7": lambda: inverse("arm7"),
    "batch 4096 arm7": lambda: batch("arm7", 4096),
    "batch 1024 four-bar": lambda: batch("four-bar", 1024),
    "batch 256 stewart": lambda: batch("stewart", 256),
    **{f"short run {x}": lambda x=x: run(x, 1e-3, integrator="rk4", step=1e-3) for x in MECHANISMS},
    "run arm7": lambda: run("arm7", 0.5),
    "run four-bar": lambda: run("four-bar", 0.5),
    "run stewart": lambda: run("stewart", 0.05),
    "run arm7 rk4": lambda: run("arm7", 0.5, **FIXED),
    "run arm7 samples": lambda: run("arm7", 0.5, samples=101),
    "run arm7 function": lambda: controlled("arm7"),
    "run arm7 law": law,
    "run ball contact": bouncing,
    "rollout 1024 cart-pole": lambda: rollout("cart-pole", 1024, **FIXED),
    "rollout 256 arm7": lambda: rollout("arm7", 256, **FIXED),
    "rollout 64 four-bar": lambda: rollout("four-bar", 64),
    "stepper arm7": lambda: steps("arm7"),
    "stepper four-bar": lambda: steps("four-bar"),
}  # type: ignore[misc]


def answer(case: str, repeats: int, made: dict[str, Call]) -> dict[str, Any]:
    """The seconds of a call, or why there are none."""
    try:
        if case not in made:
            made[case] = CASES[case]()
        call = made[case]
        gc.collect()
        start = process_time()
        for _ in range(repeats):
            call()
        return {"seconds": (process_time() - start) / repeats}
    except Exception as error:
        return {"fault": f"{type(error).__name__}: {error}"}


def main() -> None:
    """Answer until nobody asks any more."""
    if sys.argv[1:] == ["--names"]:
        print("\n".join(CASES))
        return
    warnings.simplefilter("ignore")
    ct.set_threads(1)
    gc.disable()
    made: dict[str, Call] = {}
    for line in sys.stdin:
        print(json.dumps(answer(*json.loads(line), made)), flush=True)


if __name__ == "__main__":
    main()
