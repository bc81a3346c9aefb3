"""Gradients through JAX and PyTorch against differences; each is skipped by name where it is not installed."""

import numpy as np
import pytest

import catena as ct
from benchmarks.states import closed_states, random_states
from catena.bridges import ambient
from catena.mechanism.generators import four_bar, random_mechanism


@pytest.fixture(scope="module")
def states():
    s = random_mechanism(2, 4, ["Revolute", "Spherical"]).system()
    return s, *random_states(s, 3)[:3]


def along(s, q, v, tau, d, h=1e-5):
    """The derivative of the sum of squares of vdot along steps d (nv,) of all states."""

    def at(x):
        return np.sum(s.forward_dynamics(s.integrate(q, np.broadcast_to(x * d, v.shape)), v, tau) ** 2)

    return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)


def test_gradients_by_entries_of_q(states, agree):
    s, q, v, tau = states
    assert s.nq > s.nv
    d = np.linspace(-1.0, 1.0, s.nv)
    vdot = s.forward_dynamics(q, v, tau)
    by_q, by_v, by_tau = ambient.pullback(s, "forward_dynamics", q, v, tau, 2 * vdot)
    assert by_q.shape == q.shape and by_v.shape == v.shape and by_tau.shape == v.shape
    agree(np.sum(by_q * s.rate(q, np.broadcast_to(d, v.shape))), along(s, q, v, tau, d), 1e-7)


def test_jax(states, agree):
    jax = pytest.importorskip("jax", reason="JAX is not installed: pip install 'catena-dynamics[jax]'")
    jax.config.update("jax_enable_x64", True)
    from catena.bridges.jax import dynamics

    s, q, v, tau = states
    f = dynamics(s)
    agree(f(q, v, tau), s.forward_dynamics(q, v, tau), 1e-14)
    expected = ambient.pullback(s, "forward_dynamics", q, v, tau, 2 * s.forward_dynamics(q, v, tau))
    found = jax.grad(lambda *x: (f(*x) ** 2).sum(), argnums=(0, 1, 2))(q, v, tau)
    each = jax.jit(jax.vmap(jax.grad(lambda *x: (f(*x) ** 2).sum(), argnums=(0, 1, 2))))(q, v, tau)
    for a, b, c in zip(expected, found, each):
        agree(b, a, 1e-12)
        agree(c, a, 1e-12)


def test_torch(states, agree):
    torch = pytest.importorskip(
        "torch", reason="PyTorch is not installed: pip install 'catena-dynamics[torch]'"
    )
    from catena.bridges.torch import dynamics

    s, q, v, tau = states
    f = dynamics(s)
    given = [torch.tensor(x, requires_grad=True) for x in (q, v, tau)]
    vdot = f(*given)
    (vdot**2).sum().backward()
    expected = ambient.pullback(s, "forward_dynamics", q, v, tau, 2 * s.forward_dynamics(q, v, tau))
    for a, b in zip(expected, given):
        agree(b.grad.numpy(), a, 1e-12)


@pytest.fixture(scope="module")
def slides():
    """A tree whose v is dq/dt, so that differences of entries of q are those of steps; two states."""
    s = random_mechanism(5, 4, ["Revolute", "Prismatic"]).system()
    return s, *random_states(s, 2)[:3]


@pytest.mark.parametrize("name", ["forward_dynamics", "inverse_dynamics"])
def test_torch_checks_gradients_itself(slides, name):
    torch = pytest.importorskip(
        "torch", reason="PyTorch is not installed: pip install 'catena-dynamics[torch]'"
    )
    from catena.bridges.torch import dynamics

    s, q, v, tau = slides
    given = [torch.tensor(x, requires_grad=True) for x in (q, v, tau)]
    assert torch.autograd.gradcheck(dynamics(s, name), given, eps=1e-6, atol=1e-5, rtol=1e-6)
    # One row of forces for all states, whose gradients are summed up.
    given[2] = torch.tensor(tau[0], requires_grad=True)
    assert torch.autograd.gradcheck(dynamics(s, name), given, eps=1e-6, atol=1e-5, rtol=1e-6)


def test_torch_in_single_precision(slides, agree):
    torch = pytest.importorskip(
        "torch", reason="PyTorch is not installed: pip install 'catena-dynamics[torch]'"
    )
    from catena.bridges.torch import forward_dynamics

    s, q, v, tau = slides
    given = [torch.tensor(x, dtype=torch.float32, requires_grad=True) for x in (q, v, tau)]
    vdot = forward_dynamics(s, *given)
    vdot.sum().backward()
    assert vdot.dtype == torch.float32 and all(x.grad.dtype == torch.float32 for x in given)
    expected = ambient.pullback(s, "forward_dynamics", q, v, tau, np.ones_like(v))
    for x, gradient in zip(given, expected):
        agree(x.grad.numpy(), gradient, 1e-4)


@pytest.mark.parametrize("name", ["forward_dynamics", "inverse_dynamics"])
def test_jax_checks_gradients_itself(slides, name):
    jax = pytest.importorskip("jax", reason="JAX is not installed: pip install 'catena-dynamics[jax]'")
    jax.config.update("jax_enable_x64", True)
    from jax.test_util import check_grads

    from catena.bridges.jax import dynamics

    s, *given = slides
    check_grads(jax.jit(dynamics(s, name)), given, order=1, modes=["rev"], atol=1e-5, rtol=1e-5, eps=1e-6)


@pytest.mark.parametrize("package", ["jax", "torch"])
def test_loops_are_respected(package, agree):
    there = pytest.importorskip(
        package, reason=f"{package} is not installed: pip install 'catena-dynamics[{package}]'"
    )
    s = four_bar().system()
    q, v, tau, _ = closed_states(s, 3)
    g = np.linspace(-1.0, 1.0, s.nv)
    expected = [g @ d for d in s.forward_dynamics_derivatives(q, v, tau)]
    if package == "torch":
        from catena.bridges.torch import forward_dynamics

        given = [there.tensor(x, requires_grad=True) for x in (q, v, tau)]
        (forward_dynamics(s, *given) @ there.tensor(g)).sum().backward()
        found = [x.grad.numpy() for x in given]
    else:
        there.config.update("jax_enable_x64", True)
        from catena.bridges.jax import forward_dynamics

        found = there.grad(lambda *x: (forward_dynamics(s, *x) @ g).sum(), argnums=(0, 1, 2))(q, v, tau)
    for a, b in zip(found, expected):
        agree(np.asarray(a), b, 1e-12)


FITTED = ("crank.mass", "gravity", "A.damping")


@pytest.mark.parametrize("package", ["jax", "torch"])
def test_gradients_by_parameters(package, agree):
    """By numbers of the mechanism at other values than its own, loops respected, against differences."""
    there = pytest.importorskip(
        package, reason=f"{package} is not installed: pip install 'catena-dynamics[{package}]'"
    )
    s = four_bar().system()
    q, v, tau, _ = closed_states(s, 3)
    p = np.array([1.7, 0.1, -0.2, -5.0, 0.3])
    g = np.linspace(-1.0, 1.0, s.nv)

    def total(p):
        given = {"crank.mass": p[0], "gravity": p[1:4], "A.damping": p[4]}
        return np.sum(s.forward_dynamics(q, v, tau, parameters=given) @ g)

    h = 1e-4
    expected = [(total(p + h * e) - total(p - h * e)) / (2 * h) for e in np.eye(5)]
    if package == "torch":
        from catena.bridges.torch import dynamics

        given = [there.tensor(x, requires_grad=True) for x in (q, v, tau, p)]
        value = (dynamics(s, parameters=FITTED)(*given) @ there.tensor(g)).sum()
        value.backward()
        value, found = float(value.detach()), given[3].grad.numpy()
    else:
        there.config.update("jax_enable_x64", True)
        from catena.bridges.jax import dynamics

        f = dynamics(s, parameters=FITTED)
        value, found = there.jit(there.value_and_grad(lambda p: (f(q, v, tau, p) @ g).sum()))(p)
    agree(float(value), total(p), 1e-12)
    agree(np.asarray(found), expected, 1e-7)
    with pytest.raises(ct.UnknownNameError, match="cranc"):
        dynamics(s, parameters=["cranc.mass"])
    with pytest.raises(TypeError, match="4 "):
        dynamics(s, parameters=FITTED)(*([q, v, tau] if package == "jax" else given[:3]))


def test_jax_broadcasts(slides, agree):
    jax = pytest.importorskip("jax", reason="JAX is not installed: pip install 'catena-dynamics[jax]'")
    jax.config.update("jax_enable_x64", True)
    from catena.bridges.jax import dynamics

    s, q, v, tau = slides
    f = dynamics(s)
    agree(f(q, v, tau[0]), s.forward_dynamics(q, v, tau[0]), 1e-14)
    one = jax.grad(lambda x: f(q, v, x).sum())(tau[0])
    agree(one, s.forward_dynamics_derivatives(q, v, tau[0])[2].sum(axis=(0, 1)), 1e-12)


def test_what_has_no_derivatives_is_refused():
    with pytest.raises(ct.StateError, match="trees only"):
        ambient.bridged(four_bar().system(), "inverse_dynamics", ())


def test_unknown_functions_are_named(states):
    with pytest.raises(ct.CatenaError, match="forward_dynamics"):
        ambient.bridged(states[0], "backward_dynamics", ())
