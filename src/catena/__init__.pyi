"""The public names, and where each of them lives. They are imported when they are first used."""

from . import forces as forces
from .dynamics.closed.diagnosis import (
    Diagnosis as Diagnosis,
)
from .dynamics.closed.tip_contact import (
    Support as Support,
)
from .dynamics.closed.tip_contact import (
    TipContact as TipContact,
)
from .errors import (
    CatenaError as CatenaError,
)
from .errors import (
    CatenaWarning as CatenaWarning,
)
from .errors import (
    EquationsError as EquationsError,
)
from .errors import (
    FormatError as FormatError,
)
from .errors import (
    KernelError as KernelError,
)
from .errors import (
    LoopError as LoopError,
)
from .errors import (
    ModelError as ModelError,
)
from .errors import (
    PlanError as PlanError,
)
from .errors import (
    SimulationError as SimulationError,
)
from .errors import (
    SingularDynamicsError as SingularDynamicsError,
)
from .errors import (
    StaleSystemError as StaleSystemError,
)
from .errors import (
    StateError as StateError,
)
from .errors import (
    UnknownNameError as UnknownNameError,
)
from .forces import (
    ForceKind as ForceKind,
)
from .forces import (
    FrameForce as FrameForce,
)
from .forces import (
    JointForce as JointForce,
)
from .formats import (
    load as load,
)
from .formats import (
    save as save,
)
from .joints import (
    Cylindrical as Cylindrical,
)
from .joints import (
    Fixed as Fixed,
)
from .joints import (
    Free as Free,
)
from .joints import (
    Helical as Helical,
)
from .joints import (
    JointKind as JointKind,
)
from .joints import (
    Planar as Planar,
)
from .joints import (
    Prismatic as Prismatic,
)
from .joints import (
    Revolute as Revolute,
)
from .joints import (
    Sdof as Sdof,
)
from .joints import (
    Spherical as Spherical,
)
from .joints import (
    Universal as Universal,
)
from .kernels import (
    compilations as compilations,
)
from .kernels import (
    plain_numbers as plain_numbers,
)
from .kernels import (
    set_threads as set_threads,
)
from .kernels import (
    threads as threads,
)
from .mechanism import (
    Mechanism as Mechanism,
)
from .mechanism import (
    generators as generators,
)
from .mechanism import (
    notations as notations,
)
from .simulation import (
    Baumgarte as Baumgarte,
)
from .simulation import (
    Corrective as Corrective,
)
from .simulation import (
    Event as Event,
)
from .simulation import (
    ExternalWrench as ExternalWrench,
)
from .simulation import (
    Found as Found,
)
from .simulation import (
    Projection as Projection,
)
from .simulation import (
    SegmentedTrajectory as SegmentedTrajectory,
)
from .simulation import (
    Stepper as Stepper,
)
from .simulation import (
    Trajectory as Trajectory,
)
from .simulation import (
    control as control,
)
from .simulation import (
    load_run as load_run,
)
from .simulation import (
    references as references,
)
from .simulation import (
    simulate as simulate,
)
from .simulation.control import (
    PID as PID,
)
from .simulation.control import (
    ComputedTorque as ComputedTorque,
)
from .simulation.control import (
    Feedforward as Feedforward,
)
from .simulation.control import (
    GravityCompensation as GravityCompensation,
)
from .simulation.control import (
    SymbolicControl as SymbolicControl,
)
from .simulation.control import (
    TaskSpace as TaskSpace,
)
from .simulation.control import (
    sampled as sampled,
)
from .simulation.control import (
    symbols as symbols,
)
from .simulation.references import (
    JointPath as JointPath,
)
from .simulation.references import (
    PosePath as PosePath,
)
from .simulation.references import (
    TaskPath as TaskPath,
)
from .simulation.references import (
    constant as constant,
)
from .simulation.references import (
    cubic as cubic,
)
from .simulation.references import (
    quintic as quintic,
)
from .simulation.references import (
    spline as spline,
)
from .simulation.references import (
    turning as turning,
)
from .simulation.references import (
    turns as turns,
)
from .spatial import (
    Pose as Pose,
)
from .system import (
    System as System,
)

__version__: str
__all__: list[str]
