"""What is wrong with a model file is said with the file, the line and what to do: every kind of fault."""

import re

import pytest

import catena as ct
from catena.formats.source import Source
from catena.formats.toml import read

GOOD = """\
format = 1

[mechanism]
name = "arm"
gravity = [0, 0, -9.81]

[[body]]
name = "upper"
mass = 1.0
com = [0.5, 0, 0]
inertia = [0.01, 0.1, 0.1]

[[body]]
name = "lower"
mass = 2

[[joint]]
name = "shoulder"
kind = "spherical"
parent = "ground"
child = "upper"

[[joint]]
name = "elbow"
kind = "revolute"
axis = "y"
parent = "upper"
child = "lower"
in_parent = { p = [1, 0, 0], rpy = [0, 0, 0.5] }
damping = 0.1
limits = [-2, 2]
limit_stiffness = 100

[[frame]]
name = "tool"
body = "lower"
pose = { p = [0, 0, 1] }

[[actuator]]
name = "motor"
joint = "elbow"
components = [0]
limits = 5

[[spring]]
name = "coil"
joint = "elbow"
stiffness = 3

[[spring]]
name = "cable"
between = ["ground", "tool"]
stiffness = 10
rest_length = 0.5

[[wrench]]
name = "load"
frame = "tool"
force = [0, 0, -5]

[initial.q]
elbow = 0.3
[initial.v]
elbow = 1
"""


def test_the_text_that_is_spoiled_below_is_good():
    m = read(GOOD, Source("arm.toml"))
    assert list(m.joints) == ["shoulder", "elbow"] and m.joints["elbow"].limit_stiffness == 100.0
    assert m.system().nv == 4


# What is replaced in the good text, by what, and the message; the fault is on the line marked by "#!".
FAULTS = [
    # Not TOML at all.
    ("mass = 1.0", "mass = #!", "this is not TOML: invalid value in column 8"),
    (
        "mass = 1.0",
        "mass 1.0 #!",
        "this is not TOML: expected '=' after a key in a key/value pair in column 6",
    ),
    ("mass = 1.0", "mass = 1.0\nmass = 2.0 #!", "this is not TOML: cannot overwrite a value"),
    ('name = "load"', 'name = "load #!', "this is not TOML: illegal character '\\n'"),
    (
        "[initial.v]\nelbow = 1",
        "[initial.v]\nelbow = [ #!",
        "this is not TOML: invalid value where the file ends",
    ),
    # Tables.
    (
        '[[body]]\nname = "lower"',
        '[[bodies]] #!\nname = "lower"',
        "unknown key 'bodies': did you mean 'body'?",
    ),
    ("[[wrench]]", "[wrench] #!", "'wrench' must be in double brackets: write [[wrench]] above each of them"),
    ("[initial.v]", "[[initial.v]] #!", "initial: v is [{'elbow': 1}], an array: give a table"),
    ("format = 1", "joints = [] #!", "unknown key 'joints': did you mean 'joint'?"),
    ("format = 1", "format = 2 #!", "format is 2, this Catena knows 1: read it with a newer Catena"),
    ("format = 1", 'format = "1" #!', "format is '1': give format = 1"),
    ("[mechanism]", "[[mechanism]] #!", "'mechanism' must be one table: write [mechanism]"),
    ("[initial.q]", "[initial.x] #!", "initial: unknown key 'x': there are q, v"),
    # Mechanism.
    ('name = "arm"', "#", "mechanism: the key 'name' is missing: name must be given", "[mechanism]"),
    ('name = "arm"', "name = 3 #!", "mechanism: name is 3, a number: give a string in quotes"),
    ('name = "arm"', 'name = "" #!', "mechanism '': a mechanism needs a name, found ''"),
    ("gravity = [0, 0, -9.81]", "gravity = 9.81 #!", "mechanism 'arm': gravity has shape (): give 3 numbers"),
    ("gravity = [0, 0, -9.81]", "gravity = [0, 0, nan] #!", "mechanism 'arm': gravity is [0.0, 0.0, nan]"),
    # Bodies.
    ('name = "upper"\n', "", "body 1: the key 'name' is missing", "[[body]]"),
    ('name = "lower"', 'name = "upper" #!', "body 'upper': the name is taken by a body"),
    ('name = "lower"', 'name = "ground" #!', "body 'ground': every mechanism has its ground already"),
    ("mass = 1.0", "mas = 1.0 #!", "body 'upper': unknown key 'mas': did you mean 'mass'?"),
    (
        "mass = 1.0",
        "colour = 1.0 #!",
        "body 'upper': unknown key 'colour': there are name, mass, com, inertia",
    ),
    ("mass = 1.0", "mass = -1.0 #!", "body 'upper': mass is -1.0: a mass cannot be negative"),
    ("mass = 1.0", 'mass = "heavy" #!', "body 'upper': mass is 'heavy', a string: give numbers"),
    ("mass = 1.0", "mass = true #!", "body 'upper': mass is True, a boolean: give numbers"),
    ("mass = 1.0", "mass = 2020-01-01 #!", "body 'upper': mass is datetime.date(2020, 1, 1), a date or time"),
    ("mass = 1.0", "mass = 1" + "0" * 400 + " #!", "body 'upper': mass has a number of 401 digits"),
    ("com = [0.5, 0, 0]", "com = [0.5, 0] #!", "body 'upper': com has shape (2,): give 3 numbers"),
    ("com = [0.5, 0, 0]", "com = [0.5, 0, \n'z'] #!", "body 'upper': com is 'z', a string: give numbers"),
    (
        "com = [0.5, 0, 0]",
        "com = [[0.5], 0, 0] #!",
        "body 'upper': com is [[0.5], 0.0, 0.0], which are not numbers",
    ),
    (
        "inertia = [0.01, 0.1, 0.1]",
        "inertia = [0.01, 0.1, 0.5] #!",
        "body 'upper': the principal moments 0.01, 0.1, 0.5 break the triangle inequality",
    ),
    # Joints.
    (
        'kind = "revolute"\n',
        "",
        "joint 'elbow': the key 'kind' is missing: name, kind, parent, child",
        "[[joint]]",
    ),
    ('kind = "revolute"', 'knid = "revolute" #!', "joint 'elbow': unknown key 'knid': did you mean 'kind'"),
    (
        'kind = "revolute"',
        'kind = "Revolute" #!',
        "no kind of joint is named 'Revolute': did you mean 'revolute'?",
    ),
    (
        'kind = "revolute"',
        'kind = "hinge" #!',
        "no kind of joint is named 'hinge': there are fixed, revolute",
    ),
    ('kind = "revolute"', "kind = 1 #!", "joint 'elbow': kind is 1, a number: give a string in quotes"),
    ('child = "lower"\n', "", "joint 'elbow': the key 'child' is missing", "[[joint]]"),
    ('axis = "y"', 'axis = "w" #!', "joint 'elbow': Revolute: axis 'w' is not known"),
    ('axis = "y"', "axis = [0, 0, 0] #!", "joint 'elbow': Revolute: axis (0, 0, 0) has no direction"),
    ('axis = "y"', "axis = false #!", "joint 'elbow': axis is False, a boolean: give numbers"),
    (
        'axis = "y"',
        "pitch = 0.1 #!",
        "joint 'elbow': unknown key 'pitch': there are name, kind, parent, child, axis",
    ),
    ('kind = "spherical"', 'kind = "sdof"', "joint 'shoulder': the key 'motions' is missing", "[[joint]]"),
    ('kind = "spherical"', 'kind = "sdof"\nmotions = ["rx", "qq"] #!', "Sdof: motion 'qq' is not known"),
    (
        'kind = "spherical"',
        'kind = "sdof"\nmotions = ["rx", 3] #!',
        "motions holds 3: give names in quotes",
    ),
    (
        'kind = "spherical"',
        'kind = "sdof"\nmotions = "rx" #!',
        "motions is 'rx', a string: give an array",
    ),
    (
        'parent = "upper"',
        'parent = "uper" #!',
        "joint 'elbow': no body or frame is named 'uper': did you mean 'upper'",
    ),
    (
        'child = "lower"',
        'child = "tol" #!',
        "joint 'elbow': no body or frame is named 'tol': did you mean 'tool'",
    ),
    ('parent = "upper"', 'parent = "lower" #!', "joint 'elbow': parent and child are both 'lower'"),
    ('name = "elbow"', 'name = "shoulder" #!', "joint 'shoulder': the name is taken by another joint"),
    (
        "rpy = [0, 0, 0.5]",
        "quat = [2, 0, 0, 0] } #!\n#",
        "joint 'elbow': in_parent: quat = [2.0, 0.0, 0.0, 0.0] has length",
    ),
    ("rpy = [0, 0, 0.5]", "rpy = [0, 0] } #!\n#", "joint 'elbow': in_parent: rpy has shape (2,)"),
    (
        "rpy = [0, 0, 0.5]",
        "yaw = 0.5 } #!\n#",
        "joint 'elbow': in_parent: unknown key 'yaw': there are p, quat, rpy, R",
    ),
    (
        "rpy = [0, 0, 0.5]",
        "rpy = [0, 0, 0.5], quat = [1, 0, 0, 0] } #!\n#",
        "joint 'elbow': in_parent: got quat and rpy together",
    ),
    (
        "in_parent = {",
        "in_parent = [1, 0, 0] #!\n# {",
        "in_parent is [1, 0, 0], an array: give a table, in_parent = {",
    ),
    ("damping = 0.1", "damping = -0.1 #!", "joint 'elbow': damping is -0.1: give zero or more"),
    ("damping = 0.1", "damping = [1, 2] #!", "joint 'elbow': damping has shape (2,): give one number, or 1"),
    ("limits = [-2, 2]", "limits = [2, -2] #!", "joint 'elbow': limits [[2.0, -2.0]] have low above high"),
    ("limits = [-2, 2]\n", "", "joint 'elbow': limit_stiffness needs limits", "limit_stiffness"),
    (
        "damping = 0.1",
        'actuated = "yes" #!',
        "joint 'elbow': actuated is 'yes', a string: give true or false",
    ),
    (
        "damping = 0.1",
        "locked_at = [1, 2] #!",
        "joint 'elbow': the locked position has shape (2,): give 1 number",
    ),
    (
        'kind = "spherical"',
        'kind = "spherical"\nlocked_at = [2, 0, 0, 0] #!',
        "joint 'shoulder': the quaternion",
    ),
    (
        "damping = 0.1",
        "locked_at = 0.5\n#",
        "initial q: joint 'elbow': it has an initial q but is locked",
        "elbow = 0.3",
    ),
    # Frames.
    ('body = "lower"', 'body = "lowr" #!', "frame 'tool': no body is named 'lowr': did you mean 'lower'"),
    ('name = "tool"', 'name = "upper" #!', "frame 'upper': the name is taken by a body"),
    (
        "pose = { p = [0, 0, 1] }",
        "pose = { p = 1 } #!",
        "frame 'tool': pose: p has shape (); it must have shape (3,)",
    ),
    # Actuators.
    (
        'joint = "elbow"\ncomp',
        'joint = "elbo" #!\ncomp',
        "actuator 'motor': no joint is named 'elbo': did you mean",
    ),
    (
        "components = [0]",
        "components = [1] #!",
        "actuator 'motor': components are [1]: joint 'elbow' has 1, give 0",
    ),
    (
        "components = [0]",
        "components = [0.0] #!",
        "actuator 'motor': components is 0.0, a number: give whole numbers",
    ),
    (
        "limits = 5",
        "limits = [1, 5] #!",
        "actuator 'motor': limits are [1.0, 5.0]: an actuator must be able to rest",
    ),
    ("limits = 5", "gear = 0 #!", "actuator 'motor': gear is 0.0: a gear of zero drives nothing"),
    ("limits = 5", "gears = 2 #!", "actuator 'motor': unknown key 'gears': did you mean 'gear'?"),
    # Springs.
    ('joint = "elbow"\nstiff', "stiff", "spring 'coil': it has no place: give joint", "[[spring]]"),
    (
        "rest_length = 0.5",
        'joint = "elbow"',
        "spring 'cable': it has both 'joint' and 'between'",
        "between =",
    ),
    (
        "stiffness = 3",
        "rest_length = 3 #!",
        "spring 'coil': unknown key 'rest_length': there are name, joint, stiffness, rest,",
    ),
    ("stiffness = 3", "stiffness = -3 #!", "spring 'coil': stiffness is -3.0: give zero or more"),
    ("stiffness = 3", "stiffness = 0 #!", "spring 'coil': stiffness and damping are both zero"),
    (
        '["ground", "tool"]',
        '["ground", "tol"] #!',
        "spring 'cable': no body or frame is named 'tol': did you mean",
    ),
    ('["ground", "tool"]', '["ground"] #!', "spring 'cable': between names 1 frames: give two"),
    (
        '["ground", "tool"]',
        '["lower", "tool"]',
        "spring 'cable': both ends move with body 'lower'",
        '[[spring]]\nname = "cable"',
    ),
    # Wrenches.
    ("force = [0, 0, -5]", "force = 5 #!", "wrench 'load': force has shape (): give 3 numbers"),
    ("force = [0, 0, -5]", 'axes = "world" #!', "wrench 'load': no body or frame is named 'world'"),
    ('frame = "tool"', 'frame = "ground" #!', "wrench 'load': frame 'ground' is part of ground"),
    # Initial state.
    ("elbow = 0.3", "elbw = 0.3 #!", "initial q: no joint is named 'elbw': did you mean 'elbow'"),
    (
        "elbow = 0.3",
        "elbow = [0.3, 1] #!",
        "initial q: joint 'elbow': the initial q has shape (2,): give 1 number",
    ),
    ("elbow = 0.3", "elbow = 'up' #!", "initial q: elbow is 'up', a string: give numbers"),
    ("elbow = 0.3", "shoulder = [2, 0, 0, 0] #!", "initial q: joint 'shoulder': the quaternion"),
    (
        "elbow = 1",
        "elbow = 1\nshoulder = 1 #!",
        "initial v: joint 'shoulder': the initial v has shape (): give 3",
    ),
]


@pytest.mark.parametrize("fault", FAULTS, ids=[fault[2][:60] for fault in FAULTS])
def test_a_fault_is_reported_with_file_line_and_reason(fault, tmp_path):
    old, new, message, *place = fault
    assert old in GOOD
    text = GOOD.replace(old, new, 1)
    if place:
        line = line_of(text, place[0], message)
    else:
        line = text.count("\n", 0, text.index("#!")) + 1
    file = tmp_path / "arm.toml"
    file.write_text(text)
    with pytest.raises(ct.FormatError) as caught:
        ct.load(file)
    # A fault in a formula has a column too.
    assert re.match(rf"{re.escape(f'{file}:{line}')}(:\d+)?: ", str(caught.value))
    assert message in str(caught.value)


def line_of(text, start, message):
    """The line of the first line that starts so, or of the header of the table that the message speaks of."""
    if start in ("[[joint]]", "[[spring]]"):
        name = re.search(r"'(\w+)'", message).group(1)
        return text.count("\n", 0, text.rindex(start, 0, text.index(f'name = "{name}"'))) + 1
    return text.count("\n", 0, text.index(start)) + 1


def test_an_empty_file_and_a_file_without_a_mechanism_are_no_models():
    for text in ("", "\n# nothing\n", '[[body]]\nname = "b"\n'):
        with pytest.raises(ct.FormatError, match=r"^x.toml:1: there is no \[mechanism\] table"):
            read(text, Source("x.toml"))


def test_a_table_in_the_place_of_an_array_entry_is_found():
    with pytest.raises(ct.FormatError, match=r"^x.toml:3: 'body' must hold tables"):
        read("body = [\n{ name = 'a' },\n3 ]\n[mechanism]\nname = 'm'", Source("x.toml"))


@pytest.mark.parametrize("value", ["[" * 100_000, "[" * 300 + "]" * 300, "9" * 5000])
def test_values_beyond_all_bounds_are_no_crash(value):
    with pytest.raises(ct.FormatError, match=r"^x.toml:"):
        read(f"x = {value}", Source("x.toml"))


def test_a_fault_is_a_value_error_with_its_cause():
    with pytest.raises(ValueError) as caught:
        read(GOOD.replace("mass = 1.0", "mass = -1"), Source("x.toml"))
    assert isinstance(caught.value, ct.CatenaError)
    assert isinstance(caught.value.__cause__, ct.ModelError)


def test_tables_may_stand_in_any_order():
    blocks = re.split(r"(?m)^(?=\[)", GOOD)
    m = read(blocks[0] + "".join(reversed(blocks[1:])), Source("x.toml"))
    assert list(m.joints) == ["elbow", "shoulder"] and list(m.springs) == ["cable", "coil"]
    assert list(m.initial.q) == list(m.initial.v) == ["elbow"]


def test_parts_may_be_inline_and_poses_in_tables_of_their_own():
    m = read(
        """
        body = [{ name = "a", mass = 1 }, { name = "b" }]
        frame = [{ name = "f", body = "a" }]
        initial = { q = { j = 0.5 } }
        [mechanism]
        name = "inline"
        [[joint]]
        name = "j"
        kind = "helical"
        pitch = 0.01
        parent = "a"
        child = "b"
        [joint.in_child]
        p = [1, 2, 3]
        R = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
        """,
        Source("x.toml"),
    )
    assert list(m.bodies) == ["ground", "a", "b"]
    assert m.joints["j"].kind == ct.Helical("z", 0.01)
    assert m.joints["j"].in_child == ct.Pose(p=(1, 2, 3), R=[[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    assert m.initial.q["j"] == 0.5


@pytest.mark.parametrize(
    "make",
    [
        lambda n: "a" + ".a" * n + " = 1\n",
        lambda n: "[" + "a." * n + "a]\n",
        lambda n: "[[" + '"a".' * n + "a]]\n",
        lambda n: "x = { " + "a . " * n + "a = 1 }\n",
        lambda n: "[mechanism]\nname" + ".p" * n + " = 1\n",
    ],
)
def test_keys_of_very_many_parts_are_refused_before_they_are_read(make):
    with pytest.raises(ct.FormatError, match=r"^model.toml:\d+: a key has more than 100 parts"):
        read(make(100_000), Source("model.toml"))


def test_dots_elsewhere_are_no_matter():
    dotted = ".".join("abc" for _ in range(120))
    text = GOOD.replace('name = "arm"', f'name = "{dotted}"  # {dotted}')
    assert read(text, Source("arm.toml")).name == dotted


@pytest.mark.parametrize("depth", [300, 3_000, 100_000])
@pytest.mark.parametrize("brackets", ["[]", "{}"])
def test_deep_brackets_are_a_fault_of_the_file(brackets, depth):
    opening, closing = ("[", "]") if brackets == "[]" else ("{ a = ", " }")
    with pytest.raises(ct.FormatError, match=r"^model.toml"):
        read(f"format = {opening * depth}1{closing * depth}", Source("model.toml"))
