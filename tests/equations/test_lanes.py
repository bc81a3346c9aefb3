"""Graphs compiled into lanes against their evaluation, and specialised systems against general ones."""

import subprocess
import sys

import numpy as np
import pytest

import catena as ct
from catena.equations import graph_of, plan_in_numbers, program_of, unroll, unrolled_graph
from catena.equations.specialising import ALGORITHMS, Order
from catena.equations.unrolling import new_symbols
from catena.kernels import cache, target
from catena.kernels.driver import NOT_FINITE_RESULT
from catena.mechanism.generators import arm7, four_bar, random_mechanism
from catena.spatial.scalars import absolute, array, atan2, cos, floor, less, sign, sin, sqrt, where

WAIT = 300.0


def test_every_operation_of_a_graph_runs_in_lanes(agree):
    x = new_symbols("x", 3)
    a, b, c = x
    values = [
        a + b, a - b, a * b, a / b, -c, sin(a), cos(b), sqrt(c), atan2(a, b), absolute(b), floor(a), sign(b),
        where(less(a, b), a * c, b), a, 2.5, where(less(b, a), 1.0, 0.0), a**3,
    ]  # fmt: skip
    graph = graph_of("everything", {"x": x}, {"y": array(values)})
    random = np.random.default_rng(0).uniform(0.1, 2.0, (11, 3)) * [1.0, -1.0, 1.0]
    status, found = program_of(graph).run({"x": random}, len(random))
    assert status == 0
    agree(found["y"], graph.evaluate({"x": random})["y"], 1e-14)


@pytest.mark.parametrize("lanes", [2, 4])
def test_pieces_of_a_graph_pass_values_on(mixed, agree, lanes):
    """A graph of many pieces, with other lanes than the processor's too."""
    system = mixed(1, bodies=6).system()
    graph = unrolled_graph(
        unroll(ALGORITHMS["articulated_body"], plan_in_numbers(system.plan), ("q", "qd", "tau"))
    )
    assert len(graph.operations) > 1500
    random = np.random.default_rng(1)
    q = system.integrate(system.neutral(), random.normal(size=(7, system.nv)))
    v, tau = random.normal(size=(2, 7, system.nv))
    _, found = program_of(graph, lanes).run({"q": q, "qd": v, "tau": tau}, 7)
    agree(found["qdd"], system.forward_dynamics(q, v, tau), 1e-11)


@pytest.mark.parametrize("lanes", [2, 4, 8])
def test_results_that_follow_each_other_are_stored_in_groups(lanes):
    """Runs of every length, from one number to a few groups of eight, in batches that end within a block."""
    if lanes > target().lanes:
        pytest.skip(f"this processor has {target().lanes} lanes")
    x = new_symbols("x", 21)
    random = np.random.default_rng(0)
    for length in (1, 3, 4, 7, 8, 12, 15, 16, 21):
        program = program_of(graph_of("run", {"x": x}, {"y": 2.0 * x[:length]}), lanes)
        given = random.normal(size=(lanes + 1, 21))
        _, found = program.run({"x": given}, len(given), 1)
        np.testing.assert_array_equal(found["y"], 2.0 * given[:, :length])
        given[-1, 0] = np.nan
        assert program.run({"x": given}, len(given), 1)[0] & NOT_FINITE_RESULT


def test_a_specialised_system_gives_the_same_answers(agree):
    system = arm7().system()
    fast = system.specialise("forward_dynamics", "inverse_dynamics", "mass_matrix", "bias_force")
    random = np.random.default_rng(2)
    q, v, tau = random.normal(size=(3, 9, 7))
    # Before and after it is ready; batches, single states, and inputs that are rarely there.
    for _ in range(2):
        agree(fast.forward_dynamics(q, v, tau), system.forward_dynamics(q, v, tau), 1e-13)
        agree(fast.forward_dynamics(q[0], v[0], tau[0]), system.forward_dynamics(q[0], v[0], tau[0]), 1e-13)
        agree(fast.forward_dynamics(q, v), system.forward_dynamics(q, v), 1e-13)
        agree(fast.inverse_dynamics(q, v, tau), system.inverse_dynamics(q, v, tau), 1e-13)
        agree(fast.mass_matrix(q), system.mass_matrix(q), 1e-13)
        agree(fast.bias_force(q, v), system.bias_force(q, v), 1e-13)
        tip = list(system.mechanism.bodies)[-1]
        wrench = {tip: np.ones(6)}
        agree(
            fast.forward_dynamics(q, v, tau, f_ext=wrench),
            system.forward_dynamics(q, v, tau, f_ext=wrench),
            1e-13,
        )
        assert fast.variants.specialiser.wait(WAIT)
    assert fast.variants.specialiser.is_ready
    assert set(fast.variants.specialiser.seconds) == {
        "articulated_body",
        "newton_euler",
        "composite_body",
    }


def test_a_specialised_system_with_loops_gives_the_same_answers(agree, closed_states_of):
    system = four_bar().system()
    fast = system.specialise()
    assert fast.variants.specialiser.wait(WAIT)
    q, v, tau = closed_states_of(system, 0, 5)
    agree(fast.forward_dynamics(q, v, tau), system.forward_dynamics(q, v, tau), 1e-13)
    agree(fast.forward_dynamics(q[0], v[0], tau[0]), system.forward_dynamics(q[0], v[0], tau[0]), 1e-13)


def test_a_specialised_system_complains_as_a_general_one_does():
    system = arm7().system()
    fast = system.specialise()
    assert fast.variants.specialiser.wait(WAIT)
    q = np.zeros(7)
    with pytest.raises(ct.StateError, match="joint"):
        fast.forward_dynamics(np.where(np.arange(7) == 2, np.nan, q), q, q)
    with pytest.raises(ct.UnknownNameError, match="inverse_dynamics"):
        system.specialise("inverse_dynamic")
    system.mechanism.add_body("late", 1.0)
    with pytest.raises(ct.StaleSystemError):
        fast.forward_dynamics(q, q, q)


def test_what_was_specialised_is_kept_on_disk(tmp_path, monkeypatch):
    monkeypatch.setenv("CATENA_CACHE", str(tmp_path))
    system = random_mechanism(5, 2, ["Revolute"]).system()
    fast = system.specialise()
    # Another process has it to make, and nobody waits.
    assert not fast.variants.specialiser.is_ready
    q, v, tau = np.random.default_rng(0).normal(size=(3, system.nv))
    general = fast.forward_dynamics(q, v, tau)
    assert fast.variants.specialiser.wait(WAIT) and fast.variants.specialiser.is_ready
    np.testing.assert_allclose(fast.forward_dynamics(q, v, tau), general, rtol=1e-12)
    order = Order("articulated_body", system.plan, frozenset({"f_ext", "a_base"}), target().lanes)
    entry = order.entry()
    assert entry is not None and cache.read(entry) is not None
    before = ct.compilations()
    again = system.specialise()
    assert again.variants.specialiser.wait(WAIT) and ct.compilations() == before
    heavier = random_mechanism(5, 2, ["Revolute"])
    heavier.gravity = (0.0, 0.0, -1.0)
    other = Order("articulated_body", heavier.system().plan, order.absent, order.lanes)
    assert other.entry() != entry


@pytest.mark.parametrize("name", ["pickle", "numpy", "catena", "sitecustomize"])
def test_the_process_that_specialises_imports_nothing_from_the_current_folder(name, tmp_path, monkeypatch):
    """Somebody looks at a stranger's models in their folder, where modules lie as well."""
    monkeypatch.setenv("CATENA_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir(mode=0o700)
    (tmp_path / f"{name}.py").write_text(
        "from pathlib import Path\nPath(__file__).with_suffix('.ran').write_text('')\n"
    )
    monkeypatch.chdir(tmp_path)
    # What an interactive session has as its first entry.
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    fast = random_mechanism(6, 1, ["Revolute"]).system().specialise("forward_dynamics")
    assert fast.variants.specialiser.wait(WAIT)
    assert not (tmp_path / f"{name}.ran").exists()


def test_a_kind_from_a_prompt_is_specialised_in_this_process():
    """Such a kind cannot be sent to another process; the program ends although nobody waits."""
    script = """
import numpy as np, catena as ct
from dataclasses import dataclass
from catena.spatial import Transform
@dataclass(frozen=True)
class Turn(ct.JointKind):
    nq = 1
    nv = 1
    def transform(self, q):
        return Transform.rotation((0.0, 0.0, 1.0), q[0])
m = ct.Mechanism("typed")
m.add_body("b", 1.0, (0.1, 0.0, 0.0), 0.2)
m.add_joint("j", "ground", "b", Turn())
s = m.system()
fast = s.specialise()
assert fast.variants.specialiser.wait(600.0)
print(float(fast.forward_dynamics([0.1], [0.2], [0.3])[0]), float(s.forward_dynamics([0.1], [0.2], [0.3])[0]))
"""
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=900)
    assert answer.returncode == 0, answer.stderr
    ours, theirs = answer.stdout.split()
    assert float(ours) == pytest.approx(float(theirs), rel=1e-14)
