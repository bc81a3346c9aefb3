"""The public names, and where each of them lives. They are imported when they are first used."""

from . import forces as forces
from .bodies import (
    Beam as Beam,
    BeamFrame as BeamFrame,
    FiniteElements as FiniteElements,
    FlexibleBody as FlexibleBody,
    Member as Member,
)
from .bridges.conventions import (
    Coordinates as Coordinates,
    JointState as JointState,
    drake_coordinates as drake_coordinates,
    from_mujoco_qpos as from_mujoco_qpos,
    from_mujoco_qvel as from_mujoco_qvel,
    from_pinocchio_q as from_pinocchio_q,
    from_pinocchio_v as from_pinocchio_v,
    joint_state as joint_state,
    mujoco_coordinates as mujoco_coordinates,
    pinocchio_coordinates as pinocchio_coordinates,
    to_mujoco_qpos as to_mujoco_qpos,
    to_mujoco_qvel as to_mujoco_qvel,
    to_pinocchio_q as to_pinocchio_q,
    to_pinocchio_v as to_pinocchio_v,
)
from .bridges.fmu import (
    export_fmu as export_fmu,
)
from .changing import (
    Configuration as Configuration,
    Transfer as Transfer,
    transfer as transfer,
)
from .dynamics.contacts.tip_contact import (
    Support as Support,
    TipContact as TipContact,
)
from .errors import (
    CatenaError as CatenaError,
    CatenaWarning as CatenaWarning,
    EquationsError as EquationsError,
    FormatError as FormatError,
    FormulaError as FormulaError,
    KernelError as KernelError,
    LoopError as LoopError,
    ModelError as ModelError,
    PlanError as PlanError,
    RenamedError as RenamedError,
    SimulationError as SimulationError,
    SingularDynamicsError as SingularDynamicsError,
    StaleSystemError as StaleSystemError,
    StateError as StateError,
    UnknownNameError as UnknownNameError,
)
from .flying import (
    FreeFlyer as FreeFlyer,
    identify_inertia as identify_inertia,
)
from .forces import (
    BearingFriction as BearingFriction,
    ForceKind as ForceKind,
    FrameForce as FrameForce,
    JointForce as JointForce,
    SlideFriction as SlideFriction,
)
from .formats import (
    convert as convert,
    load as load,
    save as save,
)
from .joints import (
    Cylindrical as Cylindrical,
    Fixed as Fixed,
    Free as Free,
    Helical as Helical,
    JointKind as JointKind,
    Planar as Planar,
    Prismatic as Prismatic,
    Revolute as Revolute,
    Sdof as Sdof,
    Spherical as Spherical,
    Universal as Universal,
)
from .kernels import (
    compilations as compilations,
    plain_numbers as plain_numbers,
    set_threads as set_threads,
    threads as threads,
)
from .mechanism import (
    Linkage as Linkage,
    Mechanism as Mechanism,
    generators as generators,
    nodal as nodal,
    notations as notations,
    profiles as profiles,
    segmented as segmented,
    shapes as shapes,
)
from .planning import (
    Excitation as Excitation,
    MotionPhase as MotionPhase,
    MotionPlan as MotionPlan,
    PhasedPlan as PhasedPlan,
    RankedStructure as RankedStructure,
    StructureRanking as StructureRanking,
    plan_excitation as plan_excitation,
    plan_motion as plan_motion,
    plan_motions as plan_motions,
    rank_structures as rank_structures,
)
from .questions.diagnosis import (
    Diagnosis as Diagnosis,
)
from .simulation import (
    IMU as IMU,
    Baumgarte as Baumgarte,
    Change as Change,
    Contact as Contact,
    Corrective as Corrective,
    Described as Described,
    Encoder as Encoder,
    Event as Event,
    EventHit as EventHit,
    ExternalWrench as ExternalWrench,
    ForceSensor as ForceSensor,
    Gauge as Gauge,
    HeightField as HeightField,
    Instant as Instant,
    PerStructure as PerStructure,
    Plot as Plot,
    Projection as Projection,
    Scenario as Scenario,
    Segment as Segment,
    Sensed as Sensed,
    Sensor as Sensor,
    Stepper as Stepper,
    Stop as Stop,
    Trajectory as Trajectory,
    Transition as Transition,
    at_limit as at_limit,
    at_time as at_time,
    contacts_of as contacts_of,
    control as control,
    formula_control as formula_control,
    load_run as load_run,
    references as references,
    sensitivities as sensitivities,
    sensors_of as sensors_of,
    simulate as simulate,
    warm as warm,
)
from .simulation.control import (
    PID as PID,
    ComputedTorque as ComputedTorque,
    Feedforward as Feedforward,
    GravityCompensation as GravityCompensation,
    ServoSignals as ServoSignals,
    SymbolicControl as SymbolicControl,
    TaskSpace as TaskSpace,
    sampled as sampled,
    symbols as symbols,
)
from .simulation.references import (
    JointPath as JointPath,
    OrientationPath as OrientationPath,
    PosePath as PosePath,
    TaskPath as TaskPath,
    constant as constant,
    cubic as cubic,
    quintic as quintic,
    spline as spline,
)
from .spatial import (
    Pose as Pose,
)
from .structure import (
    Interconnection as Interconnection,
    connectivity_before as connectivity_before,
    interconnection as interconnection,
)
from .studies import (
    Study as Study,
    batched as batched,
    correlated as correlated,
    distributed as distributed,
    grid as grid,
    halton as halton,
    latin as latin,
    normal as normal,
    sobol as sobol,
    study as study,
    uniform as uniform,
)
from .studies.vector_env import (
    VectorEnv as VectorEnv,
)
from .system import (
    BiasParts as BiasParts,
    ChainQuantities as ChainQuantities,
    JointBases as JointBases,
    JointWrench as JointWrench,
    OperationalDynamics as OperationalDynamics,
    System as System,
    VelocityTransformation as VelocityTransformation,
    bias_parts as bias_parts,
    branches as branches,
    chain_quantities as chain_quantities,
    check as check,
    compare_plans as compare_plans,
    connectivity as connectivity,
    contact_dynamics as contact_dynamics,
    contact_velocity as contact_velocity,
    energy_derivatives as energy_derivatives,
    inertial_parameters as inertial_parameters,
    jacobian_rate as jacobian_rate,
    joint_bases as joint_bases,
    joint_wrench as joint_wrench,
    moving_base_wrenches as moving_base_wrenches,
    operational_dynamics as operational_dynamics,
    reach as reach,
    velocity_transformation as velocity_transformation,
)
from .view.line_drawing import save_drawing as save_drawing

__version__: str
__all__: list[str]
