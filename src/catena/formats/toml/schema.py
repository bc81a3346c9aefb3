"""The words of the native model file: its tables and their keys, in the order they are written."""

from __future__ import annotations

FORMAT = 1
"""The number of this version of the format; a file that asks for a later one is refused."""

ONCE = ("mechanism", "parameters", "ground", "linkage", "initial", "states")
"""Tables that stand once, in single brackets."""

PARTS = ("body", "chain", "joint", "frame", "actuator", "spring", "wrench", "force", "coupling", "sensor")
"""Tables that stand once for each part, in double brackets; parts are added in this order."""

MANY = ("include", "repeat", *PARTS)
"""All tables in double brackets."""

RUN_ONCE = ("run", "view")
"""Tables that stand once and say how a mechanism is simulated and shown, see `simulation.scenario.file`."""

RUN_MANY = ("drive", "controller", "contact", "stop", "tip_contact", "event", "change", "plot")
"""Tables of a run, one for each thing that acts or happens. A [[wrench]] that changes belongs to the run as well."""

STUDY = "study"
"""The table that says how a run is varied, see `studies.file`; whoever saves a scenario leaves it as it is."""

KEYS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "mechanism": (("name",), ("gravity",)),
    "ground": ((), ("visual", "collision")),
    "linkage": (("fixed", "bars"), ("sketch", "slides", "density", "at")),
    "body": (
        ("name",),
        (
            "mass",
            "com",
            "inertia",
            "density",
            "physical",
            "visual",
            "collision",
            "beam",
            "beam_frame",
            "finite_elements",
            "locked_modes",
        ),
    ),
    "chain": (
        ("notation",),
        (
            "rows",
            "gammas",
            "phis",
            "masses",
            "coms",
            "inertias",
            "dampings",
            "frictions",
            "on",
            "base",
            "tool",
            "tip",
            "prefix",
        ),
    ),
    "joint": (
        ("name", "kind", "parent", "child"),
        (
            "in_parent",
            "in_child",
            "damping",
            "friction",
            "limits",
            "limit_stiffness",
            "limit_damping",
            "actuated",
            "locked_at",
            "armature",
            "velocity_limit",
            "static_friction",
            "stribeck_velocity",
            "load_friction",
        ),
    ),
    "bearing friction": (("mu", "radius"), ("span", "thrust_radius", "static_mu")),
    "slide friction": (("mu",), ("length", "width", "static_mu")),
    "frame": (("name", "body"), ("pose",)),
    "actuator": (("name", "joint"), ("components", "gear", "limits", "no_load_speed")),
    "spring at a joint": (("name", "joint"), ("stiffness", "rest", "damping")),
    "spring between frames": (("name", "between"), ("stiffness", "rest_length", "damping")),
    "wrench": (("name", "frame"), ("moment", "force", "axes")),
    "force": (("name", "kind"), ("joint", "between")),
    "coupling": (
        ("name",),
        ("coefficients", "offset", "joint", "of", "polynomial", "formula", "x", "y", "beyond"),
    ),
    "sensor": (("name", "kind", "at"), ("frame", "component")),
    "include": (("file",), ("prefix", "on", "at")),
    "repeat": ((), ("index", "count", "values", "let", *PARTS, "include", "initial")),
    "initial": ((), ("q", "v")),
    "state": ((), ("q", "v", "signals")),
}
"""The keys of each table: those it must have and those it may have. A joint and a force have those of their kind
besides."""

BEAM: tuple[tuple[str, ...], tuple[str, ...]] = (
    ("length", "area", "inertia", "density", "young", "modes"),
    ("shear", "torsion", "ends", "damping", "stations", "rotary", "interface"),
)
"""The keys of the table `beam` of a flexible body."""

BEAM_FRAME: tuple[tuple[str, ...], tuple[str, ...]] = (
    ("nodes", "members", "interfaces", "modes"),
    ("damping", "masses"),
)
"""The keys of the table `beam_frame` of a flexible body."""

MEMBER: tuple[tuple[str, ...], tuple[str, ...]] = (
    ("a", "b", "area", "inertia", "density", "young"),
    ("shear", "torsion", "up", "elements"),
)
"""The keys of a member of a frame of beams."""

FINITE_ELEMENTS: tuple[tuple[str, ...], tuple[str, ...]] = (
    ("mass", "stiffness", "nodes", "interfaces", "modes"),
    ("damping", "stiffening"),
)
"""The keys of the table `finite_elements` of a flexible body."""

SLIDE = ("along", "through", "mass")
"""The keys of a slide of a linkage."""

SHAPES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "box": (("size",), ()),
    "sphere": (("radius",), ()),
    "ellipsoid": (("radii",), ()),
    "cylinder": (("radius", "length"), ()),
    "capsule": (("radius", "length"), ()),
    "mesh": (("path",), ("scale",)),
}
"""The keys of each shape, besides `shape`, `pose`, `colour` and `name`."""

POSE = ("p", "quat", "rpy", "R")
"""The keys of a pose, of which at most one of the last three is given."""
