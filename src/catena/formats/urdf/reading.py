"""Reading a mechanism from URDF.

Links become bodies and joints become joints, in the order of the file. The link that no joint has as its child is fixed
to ground by a joint of its own, `m.free_base()` lets it float; a root that is called world, or ground, is the ground
itself. A link that is the child of two joints is a loop.
"""

from __future__ import annotations

from collections import deque

from catena.errors import CatenaError, FormatError
from catena.formats.findings import Severity
from catena.formats.markup import Element, parse
from catena.formats.source import Source
from catena.formats.urdf.joints import add_joint, add_mimic, end_of
from catena.formats.urdf.links import add_ground_shapes, add_link, colours, origin
from catena.formats.urdf.loops import TAGS, add_loops
from catena.joints import Fixed
from catena.mechanism import GROUND, Mechanism
from catena.spatial import Pose

ROOT_JOINT = "root_joint"
"""The name of the joint between ground and the root link, which Pinocchio gives to a free base as well."""
WORLDS = ("world", GROUND)
READ = {"link", "joint", "material", "gazebo", *TAGS}
ACTS = {"drake:joint", "drake:linear_bushing_rpy", "drake:linear_spring_damper", "drake:tendon_constraint"}
"""Elements that are not read although they would move the robot."""


def read(text: str, source: Source) -> Mechanism:
    """Return the mechanism that a URDF text describes."""
    return build(parse(text, source.name, source.budget), source)


def build(robot: Element, source: Source) -> Mechanism:
    """Return the mechanism that a <robot> describes."""
    if robot.tag != "robot":
        robot.fail(f"the outermost element is <{robot.tag}>: a URDF file has <robot>", "file")
    try:
        mechanism = Mechanism(robot.get("name").strip() or "robot")
    except CatenaError as error:
        robot.refuse(error)
    links = _unique(robot, "link")
    joints = _unique(robot, "joint")
    if not links:
        robot.fail("there is no <link> in it: a robot has at least one")
    ends = {name: (end_of(joint, "parent"), end_of(joint, "child")) for name, joint in joints.items()}
    for name, pair in ends.items():
        for end in pair:
            if end not in links:
                joints[name].fail(f"no link is named {end!r}: {_some(links)}")
    roots = _roots(links, ends, robot, source)
    bodies = _bodies(links, roots, source)
    palette = colours(robot, source)
    for name, link in links.items():
        if bodies[name] == GROUND:
            add_ground_shapes(mechanism, link, source, palette)
            if name != GROUND:
                mechanism.add_frame(name, GROUND)
        else:
            add_link(mechanism, link, bodies[name], source, palette)
    for root in roots:
        if bodies[root] != GROUND:
            mechanism.add_joint(_root_joint(root, roots, joints), GROUND, bodies[root], Fixed())
    for name, joint in joints.items():
        parent, child = ends[name]
        add_joint(mechanism, joint, bodies[parent], bodies[child], source)
    for joint in joints.values():
        add_mimic(mechanism, joint, source)
    if any(robot.first(tag) is not None for tag in (*TAGS, "gazebo")):
        add_loops(mechanism, robot, bodies | {"world": GROUND}, _poses(joints, ends, roots), source)
    _note_unread(robot, source)
    return mechanism


def _unique(robot: Element, tag: str) -> dict[str, Element]:
    """Return the elements of a tag by name."""
    found: dict[str, Element] = {}
    for element in robot.all(tag):
        name = element.needed("name")
        if name in found:
            element.fail(f"the name is taken on line {found[name].line}: choose a different name")
        found[name] = element
    return found


def _roots(
    links: dict[str, Element], ends: dict[str, tuple[str, str]], robot: Element, source: Source
) -> list[str]:
    """Return the links that no joint has as its child: one for each tree."""
    parents: dict[str, list[str]] = {}
    for name, (_, child) in ends.items():
        parents.setdefault(child, []).append(name)
    for link, several in parents.items():
        if len(several) > 1:
            names = ", ".join(map(repr, several))
            message = f"it is the child of the joints {names}: all but the first close loops"
            source.note(Severity.WARNING, f"link {link!r}", message, links[link].line, "loop")
    roots = [name for name in links if name not in parents]
    reached, open_links = set(roots), deque(roots)
    children: dict[str, list[str]] = {}
    for parent, child in ends.values():
        children.setdefault(parent, []).append(child)
    while open_links:
        for child in children.get(open_links.popleft(), ()):
            if child not in reached:
                reached.add(child)
                open_links.append(child)
    for name in links:
        if name not in reached:
            links[name].fail("it is its own ancestor, and no link is the root: check parents and children")
    if len(roots) > 1:
        names = ", ".join(map(repr, roots[:6]))
        message = f"there are {len(roots)} links without a parent ({names}): each is fixed to ground"
        source.note(Severity.WARNING, robot.who, message, robot.line, "roots")
    return roots


def _bodies(links: dict[str, Element], roots: list[str], source: Source) -> dict[str, str]:
    """Return the name of the body of each link: ground for a root that is called so, else its own."""
    found = {name: GROUND if name in WORLDS and name in roots else name for name in links}
    for name, body in found.items():
        if body == GROUND and name not in roots:
            found[name] = f"{GROUND} link"
            message = f"the name is kept for what stands still: its body is called {found[name]!r}"
            source.note(Severity.WARNING, f"link {name!r}", message, links[name].line, "name")
    return found


def _root_joint(root: str, roots: list[str], joints: dict[str, Element]) -> str:
    name = ROOT_JOINT if len(roots) == 1 else f"{ROOT_JOINT} {root}"
    while name in joints:
        name += "_"
    return name


def _poses(joints: dict[str, Element], ends: dict[str, tuple[str, str]], roots: list[str]) -> dict[str, Pose]:
    """Return where links are in ground when all joints are at zero."""
    found = {root: Pose() for root in roots}
    outwards: dict[str, list[str]] = {}
    for name, (parent, _) in ends.items():
        outwards.setdefault(parent, []).append(name)
    open_links = deque(roots)
    while open_links:
        link = open_links.popleft()
        for name in outwards.get(link, ()):
            child = ends[name][1]
            if child not in found:
                found[child] = found[link] * origin(joints[name])
                open_links.append(child)
    return found | {"world": Pose()}


def _note_unread(robot: Element, source: Source) -> None:
    """Say which elements were passed over."""
    counts: dict[str, int] = {}
    for child in robot.children:
        if child.tag not in READ:
            counts[child.tag] = counts.get(child.tag, 0) + 1
    for tag, count in counts.items():
        times = f"{count} times" if count > 1 else "once"
        severity = Severity.WARNING if tag in ACTS else Severity.NOTE
        source.note(severity, robot.who, f"<{tag}> stands there {times} and is not read", what="unread")


def _some(links: dict[str, Element]) -> str:
    names = list(links)
    return "there are " + ", ".join(map(repr, names[:8])) + (", ..." if len(names) > 8 else "")


def read_xacro(text: str, source: Source) -> Mechanism:
    """Return the mechanism of a xacro file, which must lie in a folder; needs the package xacro.

    xacro is a macro language that reads other files and evaluates Python expressions, so it is a program rather than a
    description: run it only on files of people you trust.
    """
    if not source.macros:
        raise FormatError(
            f"{source.name}: expanding macros evaluates expressions and reads files that the file names: if you trust "
            "it, load(path, macros=True)"
        )
    try:
        import xacro
    except ImportError:
        raise FormatError(
            f"{source.name}: xacro files need the package xacro, which is not installed: pip install xacro, "
            "or expand the file to URDF elsewhere"
        ) from None
    try:
        expanded = xacro.process_file(source.name).toxml()
    except Exception as error:
        raise FormatError(f"{source.name}: xacro cannot expand it: {error}") from error
    return read(expanded, source)
