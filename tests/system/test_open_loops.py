"""Accelerations asked for at configurations whose loops are open are told; closed ones and later calls are not."""

import warnings

import numpy as np
import pytest

from catena.mechanism.generators import chain, four_bar, stewart


def words(s, q, f_ext):
    """What forward dynamics warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        s.forward_dynamics(q, np.zeros(s.nv), f_ext=f_ext)
    return [str(w.message) for w in caught if "loops are open" in str(w.message)]


def geared():
    m = chain(2, axes="y")
    first, second = m.joints
    m.add_coupling("gear", {first: 1.0, second: -3.0})
    return m


@pytest.mark.parametrize("build", [four_bar, stewart, geared])
@pytest.mark.parametrize("form", ["one", "list", "batch", "careful"])
def test_open_loops_are_told_at_the_first_call(build, form):
    closed = build().system().assemble()
    for is_open in (False, True):
        s = build().system()
        q = s.integrate(closed, is_open * np.linspace(0.2, 0.3, s.nv), 1.0)
        q = {"one": q, "list": q.tolist(), "batch": np.tile(q, (3, 1)), "careful": q}[form]
        wrench = {next(name for name in s.mechanism.bodies if name != "ground"): np.ones(6)}
        f_ext = wrench if form == "careful" else None
        found = words(s, q, f_ext)
        assert bool(found) == is_open
        if is_open:
            owners = [*s.loops, *s.mechanism.couplings]
            assert any(f"that of {name!r} by 0." in found[0] for name in owners), found
            assert "s.assemble" in found[0]
            assert not words(s, q, f_ext)
