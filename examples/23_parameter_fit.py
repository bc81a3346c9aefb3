"""Masses and friction of an arm from a recorded motion, by gradients: sensitivities of the run for a least-squares fit,
the regressor for a linear one, and the same dynamics inside JAX and PyTorch where they are installed.

Usage: python examples/23_parameter_fit.py [folder for the pictures; default: out/23_parameter_fit]
"""

import importlib.util
import sys

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import least_squares, minimize

import catena as ct
from catena.view import Course
from pictures import Pictures

BLUE, ORANGE = "#4477aa", "#e07b2e"
DURATION, INTERVALS, NOISE = 2.0, 80, 2e-3
NAMES = ("load.mass", "elbow.damping")
TRUE, GUESS = np.array([1.6, 0.35]), np.array([0.8, 0.05])


def arm(mass: float, damping: float) -> ct.Mechanism:
    """Two links that swing, with a load on the second."""
    m = ct.Mechanism("arm", gravity=(0, 0, -9.81))
    m.add_body("link", mass=1.0, com=(0, 0, -0.4), inertia=(0.05, 0.05, 0.002))
    m.add_body("load", mass=mass, com=(0, 0, -0.5), inertia=(0.06, 0.06, 0.002))
    m.add_joint("shoulder", "ground", "link", ct.Revolute("y"), damping=0.05)
    m.add_joint("elbow", "link", "load", ct.Revolute("y"), in_parent=ct.Pose(p=(0, 0, -0.8)), damping=damping)
    return m


def main(arguments: list[str]) -> None:
    out = Pictures(__file__, arguments)
    q, v = np.array([1.2, -0.5]), np.array([0.0, 1.0])
    truth = ct.sensitivities(arm(*TRUE).system(), q, v, DURATION, intervals=INTERVALS)
    random = np.random.default_rng(0)
    recorded = truth.q + NOISE * random.standard_normal(truth.q.shape)

    # A run and its derivatives by both parameters, at all samples, for each step of the fit.
    def motion(p: np.ndarray) -> ct.simulation.Sensitivities:
        return ct.sensitivities(arm(*p).system(), q, v, DURATION, parameters=NAMES, intervals=INTERVALS)

    def misfit(p: np.ndarray) -> np.ndarray:
        return (motion(p).q - recorded).ravel()

    def slope(p: np.ndarray) -> np.ndarray:
        by = motion(p).by_parameter
        return np.concatenate([by[name][:, :2] for name in NAMES], axis=-1).reshape(-1, 2)

    fit = least_squares(misfit, GUESS, jac=slope)
    for name, found, true in zip(NAMES, fit.x, TRUE):
        print(f"{name}: {found:.4f} from a guess of {GUESS[NAMES.index(name)]:.2f}, true {true:.4f}")
    print(
        f"in {fit.nfev} runs; what is left is {np.sqrt(np.mean(fit.fun**2)) * 1e3:.2f} mrad, "
        f"the noise {NOISE * 1e3:.2f}"
    )

    # Where accelerations and forces are known, inertias are a linear fit.
    s = arm(*TRUE).system()
    states = random.standard_normal((3, 40, 2))
    Y = s.regressor(*states)
    tau = s.inverse_dynamics(*states) - states[1] * s.plan.damping
    known = np.linalg.lstsq(Y.reshape(-1, Y.shape[-1]), tau.ravel(), rcond=1e-10)[0]
    print(
        f"of 20 inertial numbers, {np.linalg.matrix_rank(Y.reshape(-1, Y.shape[-1]))} combinations show in the forces;"
    )
    print(f"with them the forces of other motions are off by {predicted(s, known, random):.0e} N m")

    for package in ("jax", "torch"):
        if importlib.util.find_spec(package):
            found = fitted_through(package, s)
            print(f"through {package}, from accelerations: " + ", ".join(
                f"{name} {x:.4f}" for name, x in zip(NAMES, found, strict=True)
            ))  # fmt: skip
        else:
            print(f"{package} is not installed")

    figure = Figure(figsize=(7, 3.2), layout="constrained")
    axes = figure.subplots()
    for k, joint in enumerate(("shoulder", "elbow")):
        axes.plot(truth.t, recorded[:, k], ".", color="#b8c0c8", markersize=3)
        axes.plot(truth.t, motion(GUESS).q[:, k], "--", color=ORANGE, linewidth=1)
        axes.plot(truth.t, motion(fit.x).q[:, k], color=BLUE, label=joint)
    axes.set(xlabel="t [s]", ylabel="angle [rad]", title="recorded (dots), guessed (dashed), fitted")
    out.figure(figure, "fit.png")
    out.film(Course(s, truth.q, truth.t))


def predicted(s: ct.System, numbers: np.ndarray, random: np.random.Generator) -> float:
    states = random.standard_normal((3, 10, 2))
    tau = s.inverse_dynamics(*states) - states[1] * s.plan.damping
    return float(np.max(np.abs(s.regressor(*states) @ numbers - tau)))


def fitted_through(package: str, true: ct.System) -> np.ndarray:
    """The parameters from the accelerations of 100 states, by an optimiser that gets its gradients through another
    package; what the other package adds to the misfit, it differentiates itself."""
    q, v, tau = np.random.default_rng(1).standard_normal((3, 100, 2))
    measured = true.forward_dynamics(q, v, tau)
    s = arm(*GUESS).system()
    if package == "jax":
        import jax

        from catena.bridges.jax import dynamics

        jax.config.update("jax_enable_x64", True)
        f = dynamics(s, parameters=NAMES)

        # Logarithms, because both parameters are positive.
        def misfit(logarithms: jax.Array) -> jax.Array:
            return ((f(q, v, tau, jax.numpy.exp(logarithms)) - measured) ** 2).mean()

        found = minimize(jax.value_and_grad(misfit), np.log(GUESS), jac=True, method="BFGS")
        return np.exp(found.x)
    import torch

    from catena.bridges.torch import dynamics

    f = dynamics(s, parameters=NAMES)
    logarithms = torch.tensor(np.log(GUESS), requires_grad=True)
    steps = torch.optim.LBFGS(
        [logarithms], max_iter=60, line_search_fn="strong_wolfe", tolerance_change=1e-12
    )
    given = [torch.tensor(x) for x in (q, v, tau)]

    def closure() -> torch.Tensor:
        steps.zero_grad()
        loss = ((f(*given, logarithms.exp()) - torch.tensor(measured)) ** 2).mean()
        loss.backward()
        return loss

    steps.step(closure)
    return logarithms.detach().exp().numpy()


if __name__ == "__main__":
    main(sys.argv[1:])
