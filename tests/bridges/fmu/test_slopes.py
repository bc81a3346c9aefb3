"""Directional derivatives against differences of the FMU's own derivatives, and against those of the system."""

import numpy as np
import pytest

import catena as ct

from .conftest import START
from .test_motion import base_and_arm

fmpy = pytest.importorskip("fmpy")


class Exchange:
    """An instance of model exchange after its initialisation, with the same calls in both versions."""

    def __init__(self, path):
        self.description = fmpy.read_model_description(str(path))
        self.two = self.description.fmiVersion == "2.0"
        folder = fmpy.extract(str(path))
        self.fmu = fmpy.instantiate_fmu(
            folder, self.description, fmi_type="ModelExchange", logger=lambda *said: None
        )
        if self.two:
            self.fmu.setupExperiment()
        self.fmu.enterInitializationMode()
        self.fmu.exitInitializationMode()
        self.reference = {v.name: v.valueReference for v in self.description.modelVariables}
        self.states = [d.variable.derivative.valueReference for d in self.description.derivatives]
        self.rates = [d.variable.valueReference for d in self.description.derivatives]
        (self.fmu.newDiscreteStates if self.two else self.fmu.updateDiscreteStates)()
        self.fmu.enterContinuousTimeMode()

    def get(self, references):
        return np.array((self.fmu.getReal if self.two else self.fmu.getFloat64)(list(references)))

    def put(self, reference, value):
        (self.fmu.setReal if self.two else self.fmu.setFloat64)([reference], [value])

    def put_states(self, x):
        self.fmu.setContinuousStates((fmpy.c_double * len(x))(*x), len(x))

    def slopes(self, unknowns, known):
        return np.array(self.fmu.getDirectionalDerivative(list(unknowns), [known], [1.0]))

    def differences(self, unknowns, known, h=1e-5):
        """Central differences by a state or by another variable."""
        x, found = self.get(self.states), []
        for side in (h, -h):
            if known in self.states:
                self.put_states(x + side * (np.array(self.states) == known))
                found.append(self.get(unknowns))
                self.put_states(x)
            else:
                value = self.get([known])[0]
                self.put(known, value + side)
                found.append(self.get(unknowns))
                self.put(known, value)
        return (found[0] - found[1]) / (2.0 * h)


def check(one, others, outputs):
    unknowns = [*one.rates, *outputs]
    for known in [*one.states, *others]:
        exact, nearly = one.slopes(unknowns, known), one.differences(unknowns, known)
        assert np.abs(exact - nearly).max() <= 1e-6 * max(1.0, np.abs(nearly).max()), known


def test_slopes_of_a_four_bar_with_the_feedback_of_its_loop(four_bar):
    m, path = four_bar
    one = Exchange(path)
    others = [one.reference[n] for n in ("A.tau", "C.tau", "coupler.force.x", "crank.mass", "gravity.z")]
    outputs = [one.reference[n] for n in ("A.q", "A.a", "C.q", "C.v", "energy")]
    check(one, others, outputs)
    s = m.system()
    q = s.assemble(START[0])
    _, _, by_force = s.forward_dynamics_derivatives(q, s.velocity(q, START[1]), np.zeros(s.nv))
    found = one.slopes(one.rates[s.nq :], one.reference["A.tau"])
    assert np.abs(found - by_force[:, 0]).max() <= 1e-9


def test_slopes_of_a_flying_base(export):
    s = base_and_arm().system()
    v = np.random.default_rng(1).normal(size=s.nv)
    path = export(
        s, velocity=v, inputs=["base.wrench"], outputs=["lower.position", "lower.velocity"], derivatives=True,
        kinds="model-exchange",
    )  # fmt: skip
    one = Exchange(path)
    outputs = [one.reference[f"lower.{what}.{axis}"] for what in ("position", "velocity") for axis in "xyz"]
    check(one, [one.reference["base.force.y"]], outputs)


def test_without_them_they_are_refused(export):
    s = ct.generators.four_bar().system()
    one = Exchange(export(s, outputs=["A.q"], kinds="model-exchange"))
    assert not one.description.modelExchange.providesDirectionalDerivative
    with pytest.raises(Exception, match="DirectionalDerivative|status"):
        one.slopes(one.rates, one.states[0])
