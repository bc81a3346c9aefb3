"""What joints and tools should follow."""

from catena.errors import renamed
from catena.simulation.references.as_polynomial import as_polynomial
from catena.simulation.references.constant import Constant, constant
from catena.simulation.references.function import Function, function
from catena.simulation.references.joint_path import JointPath
from catena.simulation.references.piecewise import PiecewisePolynomial
from catena.simulation.references.polynomial import cubic, quintic
from catena.simulation.references.pose_path import PosePath
from catena.simulation.references.protocol import Reference, ReferenceMotion, is_reference
from catena.simulation.references.rotation import OrientationPath
from catena.simulation.references.splines import spline
from catena.simulation.references.task_path import TaskPath

__all__ = [
    "Constant",
    "Function",
    "JointPath",
    "ReferenceMotion",
    "PiecewisePolynomial",
    "OrientationPath",
    "PosePath",
    "Reference",
    "is_reference",
    "TaskPath",
    "as_polynomial",
    "constant",
    "cubic",
    "function",
    "quintic",
    "spline",
]

__getattr__ = renamed("references", {"Motion": "ReferenceMotion"})
