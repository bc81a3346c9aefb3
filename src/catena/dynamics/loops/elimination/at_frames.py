"""What multipliers do while their loop holds a floating frame, whose modes have rows besides (`flexible`)."""

from typing import Any

from catena.dynamics.loops.elimination.blocks import Symmetric
from catena.dynamics.loops.elimination.refinement import feel_again, press_again
from catena.dynamics.loops.elimination.steps import feel, mix_link, press
from catena.kernels import OnCall, on_call


@on_call
def press_frame(multiplier: Any, link: Any, body: Any) -> None:
    """What the loop's chain adds to the inertia of the frame and of its modes."""
    press.step(multiplier, link, body)
    W, K, Km = multiplier.W.matrix(), link.K.array, link.Km
    body.E = body.E + K @ W @ Km.T
    body.Mm += Symmetric.from_matrix(Km @ W @ Km.T)
    body.pm = body.pm + Km @ multiplier.w


@on_call
def feel_frame(multiplier: Any, link: Any, body: Any) -> None:
    """The part of the multiplier that depends on the frame and its modes."""
    felt = link.K.T * body.a + link.Km.T @ body.am
    multiplier.lam = multiplier.lam + multiplier.W.matrix() @ felt


@on_call
def press_frame_again(multiplier: Any, link: Any, body: Any) -> None:
    """What the loop passes on to the frame and its modes."""
    body.p += link.K * multiplier.w
    body.pm = body.pm + link.Km @ multiplier.w


@on_call
def feel_frame_again(multiplier: Any, link: Any, body: Any) -> None:
    """The part of the correction that depends on the frame and its modes."""
    felt = link.K.T * body.da + link.Km.T @ body.dam
    multiplier.lam = multiplier.lam + multiplier.W.matrix() @ felt


@on_call
def mix_link_of_frame(multiplier: Any, link: Any, pair: Any, above: Any) -> None:
    """What another loop, coupled to this one, holds of the frame and its modes."""
    mixed = multiplier.W.matrix() @ pair.K
    above.K += link.K * mixed
    above.Km = above.Km + link.Km @ mixed


AT_FRAMES: dict[OnCall, OnCall] = {
    press: press_frame, feel: feel_frame, press_again: press_frame_again, feel_again: feel_frame_again,
    mix_link: mix_link_of_frame,
}  # fmt: skip
"""The steps of multipliers that do more at floating frames, and those that do."""
