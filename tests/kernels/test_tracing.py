"""Steps of one's own: they compile and run like the shipped ones, and mistakes in them are named."""

import numpy as np
import pytest

from catena.errors import KernelError
from catena.kernels import POSITION, VELOCITY, Algorithm, at_ground, base_to_tip, each_body, tip_to_base
from catena.kernels.evaluation import Evaluator
from catena.mechanism.generators import chain
from catena.spatial.scalars import array, cos
from catena.structure import plan


@pytest.fixture(scope="module")
def evaluator():
    mechanism = chain(3)
    return Evaluator(mechanism, plan(mechanism))


def nothing(ground):
    """No shared fields."""


def counting(ground):
    ground.count = 0.0


@each_body
def reads_what_nobody_wrote(body):
    body.y = body.speed


@base_to_tip
def reads_what_the_parent_keeps_to_itself(body, parent):
    body.mine = 1.0 * body.q
    body.y = parent.mine


@tip_to_base
def writes_what_the_ground_did_not_declare(body, parent):
    parent.found = 1.0


@each_body
def writes_two_numbers(body):
    body.y = array([body.q[0], 2.0 * body.q[0]])


@each_body
def writes_three_numbers(body):
    body.y = array([body.q[0], body.q[0], body.q[0]])


@each_body
def writes_a_known_number(body):
    body.z = 1.0


@each_body
def writes_another_number(body):
    body.z = 2.0


def algorithm(name, *sweeps, ground=nothing, outputs=None):
    return Algorithm(name, ground, sweeps, inputs={"q": POSITION}, outputs=outputs or {})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (algorithm("unknown", reads_what_nobody_wrote), "reads body.speed, which no earlier step wrote"),
        (
            algorithm("private", reads_what_the_parent_keeps_to_itself),
            "reads parent.mine, which no earlier step wrote.*written first by the ground function",
        ),
        (
            algorithm("undeclared", writes_what_the_ground_did_not_declare),
            "writes parent.found, but .*fields that the ground function writes",
        ),
        (
            algorithm("resized", writes_two_numbers, writes_three_numbers),
            "field body.y changed its size from 2 to 3",
        ),
        (
            algorithm("rewritten", writes_a_known_number, writes_another_number),
            "private field body.z was a known number and is written again",
        ),
    ],
    ids=lambda value: value.name if isinstance(value, Algorithm) else "",
)
def test_a_mistake_in_a_step_is_named(evaluator, wrong, message):
    with pytest.raises(KernelError, match=message):
        evaluator.evaluate(wrong, {"q": np.zeros(3)})


@each_body
def scale(body):
    body.y = array([3.0 * cos(x) for x in body.q])


@tip_to_base
def count(body, parent):
    parent.count += body.count + body.q[0]


@base_to_tip
def start(body, parent):
    body.count = body.q[0]


@at_ground
def double(ground):
    ground.twice = 2.0 * ground.count


def test_a_step_on_each_body_gives_a_result_for_each_joint(evaluator):
    mine = algorithm("scaled", scale, outputs={"y": VELOCITY})
    q = np.random.default_rng(0).normal(size=(5, 3))
    np.testing.assert_allclose(evaluator.evaluate(mine, {"q": q})["y"], 3.0 * np.cos(q), rtol=1e-15)


def test_a_sweep_to_the_base_gathers_at_the_ground(evaluator):
    mine = Algorithm("counted", counting, (count, double), {"q": POSITION}, ground_outputs=("twice",))
    q = np.random.default_rng(1).normal(size=(5, 3))
    np.testing.assert_allclose(evaluator.evaluate(mine, {"q": q})["twice"][:, 0], 2.0 * q.sum(1), rtol=1e-14)


def test_a_flow_that_goes_both_ways_is_refused(evaluator):
    mine = Algorithm("lost", counting, (start, count, double), {"q": POSITION}, ground_outputs=("twice",))
    with pytest.raises(KernelError, match="lost writes the flow body.count going to the tip and reads"):
        evaluator.evaluate(mine, {"q": np.zeros(3)})
