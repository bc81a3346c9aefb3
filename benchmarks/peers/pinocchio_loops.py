"""A mechanism with loops in Pinocchio: a model of the spanning tree and the rigid constraints that close it."""

from dataclasses import dataclass
from typing import Any

import pinocchio as pin

from benchmarks.peers.coordinates import Coordinates
from benchmarks.peers.links import links
from benchmarks.peers.loops import holds, spanning_tree
from benchmarks.peers.pinocchio_model import to_pinocchio


@dataclass(frozen=True)
class PinocchioLoops:
    """The model of the tree, the constraints with their data, and the translation of coordinates."""

    model: pin.Model
    constraints: Any
    datas: Any
    to: Coordinates


def pinocchio_loops(system: Any, planar: bool = False, baumgarte: float = 0.0) -> PinocchioLoops:
    """Points and welds in place of the loop joints (see `holds`). With a rate `baumgarte` [1/s] errors of position and
    velocity are fed back so that they decay with it, critically damped."""
    tree = spanning_tree(system)
    model, to = to_pinocchio(tree)
    index = [0, *(model.getJointId(link.joint) for link in links(tree))]
    types = {"point": pin.ContactType.CONTACT_3D, "weld": pin.ContactType.CONTACT_6D}
    constraints, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for hold in holds(system, planar):
        one, two = (pin.SE3(pose[:3, :3], pose[:3, 3]) for pose in (hold.pose1, hold.pose2))
        ends = index[hold.link1 + 1], one, index[hold.link2 + 1], two
        constraint = pin.RigidConstraintModel(types[hold.kind], model, *ends, pin.LOCAL)
        if baumgarte:
            gains = pin.BaumgarteCorrectorParameters(baumgarte**2, 2.0 * baumgarte)
            constraint.setBaumgarteCorrectorParameters(gains)
        constraints.append(constraint)
        datas.append(constraint.createData())
    return PinocchioLoops(model, constraints, datas, to)
