"""The scene holds a solid for every body and joint, where and as large as the mechanism says."""

import numpy as np
import pytest

import catena as ct
from catena.joints import KINDS
from catena.mechanism import generators
from catena.view import picture as picture_at, scene, theme
from catena.view.scene import body_colours
from catena.view.structure_diagram import graph_edges


def part(picture, name, role):
    (found,) = [p for p in picture.parts if p.name == name and p.role == role]
    return found


def corners(part):
    return np.concatenate(part.polygons)


def pendulum(p=(0.0, 0.0, 1.0)):
    """A rod of 0.8 m that hangs from a hinge."""
    m = ct.Mechanism("pendulum")
    m.add_body("rod", mass=1.5, com=(0, 0, -0.4), inertia=(0.08, 0.08, 0.0))
    m.add_joint("hinge", "ground", "rod", ct.Revolute("y"), in_parent=ct.Pose(p=p))
    return m


GENERATED = [
    generators.arm7(),
    generators.humanoid(),
    generators.stewart(),
    generators.four_bar(),
    generators.free_flyer(),
    generators.arms_on_object(3),
    generators.n_four_bars(3),
    *(generators.random_mechanism(seed, bodies=8, loops=seed) for seed in range(3)),
]


@pytest.mark.parametrize("mechanism", GENERATED, ids=[m.name for m in GENERATED])
def test_every_body_and_joint_has_its_part(mechanism):
    s = mechanism.system()
    picture = picture_at(s, s.neutral())
    assert [p.name for p in picture.parts if p.role == "body"] == [
        n for n in mechanism.bodies if n != "ground"
    ]
    solid = [p for p in picture.parts if p.role in ("joint", "loop", "locked")]
    assert [p.name for p in solid] == [
        n for n, j in mechanism.joints.items() if not isinstance(j.kind, ct.Free)
    ]
    assert {p.name for p in solid if p.role == "loop"} <= set(s.loops)
    assert all(len(p.polygons) and np.isfinite(corners(p)).all() for p in picture.parts if p.role == "body")


def test_a_bar_reaches_from_joint_to_joint():
    s = generators.four_bar(crank=0.4, ground=1.0).system()
    picture = picture_at(s, s.neutral())
    crank = corners(part(picture, "crank", "body"))
    tip = s.pose(s.neutral(), "coupler").p
    r = picture.bar_radius
    for end in (np.zeros(3), tip):
        assert np.min(np.linalg.norm(crank - end, axis=1)) < 2 * r
    along = crank @ (tip / 0.4)
    assert -2 * r < along.min() < 0 and 0.4 < along.max() < 0.4 + 2 * r


def test_a_rod_on_one_hinge_has_the_length_its_inertia_says():
    s = pendulum().system()
    z = corners(part(picture_at(s, [0.0]), "rod", "body"))[:, 2]
    r = picture_at(s, [0.0]).bar_radius
    assert z.max() == pytest.approx(1.0, abs=2 * r) and z.min() == pytest.approx(0.2, abs=2 * r)


def test_the_picture_moves_with_the_coordinates():
    s = pendulum().system()
    still, moved = (
        corners(part(picture_at(s, [angle]), "rod", "body")).mean(axis=0) for angle in (0.0, -np.pi / 2)
    )
    np.testing.assert_allclose(still - (0, 0, 1), [0, 0, -0.4], atol=0.03)
    np.testing.assert_allclose(moved - (0, 0, 1), [0.4, 0, 0], atol=0.03)


def test_a_block_has_the_size_of_the_box_with_its_inertia():
    s = generators.free_flyer(arms=0, wheels=0).system()
    size = np.ptp(corners(part(picture_at(s, s.neutral()), "bus", "body")), axis=0)
    np.testing.assert_allclose(size, [1.0, 1.0, 0.8], rtol=0.02)


def test_a_reaction_wheel_is_a_disc_about_its_axis():
    s = generators.free_flyer().system()
    size = np.ptp(corners(part(picture_at(s, s.neutral()), "wheel3", "body")), axis=0)
    np.testing.assert_allclose(size[:2], 0.24, rtol=0.03)
    assert size[2] < 0.1


def test_a_hinge_is_longer_along_its_axis_and_slide_too():
    for axis in np.eye(3):
        for kind in (ct.Revolute(axis), ct.Prismatic(axis), ct.Cylindrical(axis), ct.Helical(axis, 0.1)):
            m = ct.Mechanism("one joint")
            m.add_body("a", 1.0, (0.3, 0.3, 0.3), 0.01)
            m.add_joint("j", "ground", "a", kind, in_parent=ct.Pose(p=(1, 2, 3)))
            s = m.system()
            points = corners(part(picture_at(s, s.neutral()), "j", "joint"))
            size = np.ptp(points, axis=0)
            across = size[axis == 0]
            np.testing.assert_allclose(across[0], across[1], rtol=0.05)
            if not isinstance(kind, ct.Revolute):
                assert size[axis == 1][0] > 1.2 * across[0]
            np.testing.assert_allclose((points.min(axis=0) + points.max(axis=0)) / 2, [1, 2, 3], atol=1e-9)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: type(kind).__name__)
def test_every_kind_has_a_shape_except_the_free_joint(kind):
    m = ct.Mechanism("one joint")
    for body in ("a", "b"):
        m.add_body(body, 1.0, (0.3, 0.2, 0.1), 0.01)
    m.add_joint("floats", "ground", "a", ct.Free())
    m.add_joint("j", "a", "b", kind)
    s = m.system()
    shapes = [p for p in picture_at(s, s.neutral()).parts if p.name == "j" and p.role in ("joint", "locked")]
    assert len(shapes) == (0 if isinstance(kind, ct.Free) else 1)
    assert all(p.polygons for p in shapes)


class Bearing(ct.Revolute):
    """A hinge of a user's own."""

    letters = "B"


def test_a_kind_of_a_users_own_is_drawn_as_it_says():
    def drawn(kind):
        m = ct.Mechanism("one joint")
        m.add_body("a", 1.0, (0.3, 0.2, 0.1), 0.01)
        m.add_joint("j", "ground", "a", kind)
        s = m.system()
        return s, corners(part(picture_at(s, s.neutral()), "j", "joint"))

    s, own = drawn(Bearing("x"))
    np.testing.assert_array_equal(own, drawn(ct.Revolute("x"))[1])
    assert graph_edges(s)[0].letters == "B"


def test_a_slide_is_drawn_between_the_parts_it_joins():
    s = generators.stewart().system()
    picture = picture_at(s, s.neutral())
    foot, head = picture.joint_anchors["base1"], picture.joint_anchors["ball1"]
    np.testing.assert_allclose(picture.joint_anchors["leg1"], 0.5 * (foot + head), atol=1e-9)


def test_loop_and_locked_joints_have_their_own_colours():
    m = generators.four_bar()
    s = m.system()
    picture = picture_at(s, s.neutral())
    assert [p.name for p in picture.parts if p.colour == theme.LOOP] == list(s.loops)
    s = generators.arm6().lock("joint2").system()
    picture = picture_at(s, s.neutral())
    assert [p.name for p in picture.parts if p.role == "locked"] == ["joint2"]


def test_an_open_loop_shows_its_gap_and_a_closed_one_does_not():
    s = generators.four_bar().system()
    assert [p for p in picture_at(s, s.neutral()).parts if p.role == "gap"] == []
    q = s.neutral()
    q[s.slice_q("A")] = 0.3
    (gap,) = [p for p in picture_at(s, q).parts if p.role == "gap"]
    (line,) = gap.lines
    coupler, rocker = s.pose(q, "coupler"), s.pose(q, "rocker")
    np.testing.assert_allclose(
        line, [coupler * np.array([1.2, 0, 0]), rocker * np.array([0.9, 0, 0])], atol=1e-9
    )


def test_a_floating_body_hangs_on_a_line_to_ground():
    s = generators.humanoid().system()
    q = s.neutral()
    assert [p for p in picture_at(s, q).parts if p.role == "float"] == []
    q[:3] = 0.2, 0.3, 1.0
    (line,) = [p for p in picture_at(s, q).parts if p.role == "float"]
    np.testing.assert_allclose(line.lines[0], [[0, 0, 0], [0.2, 0.3, 1.0]])


@pytest.mark.parametrize(
    ("kind", "drawn"),
    [
        (ct.Sdof("dx", "dz", "ry"), []),
        (ct.Sdof("dx", "dy", "dz"), []),
        (ct.Planar("z"), [("joint", "body")]),
        (ct.Sdof("rz", "dx"), [("joint", "ground"), ("ground", "ground")]),
    ],
)
def test_nothing_stands_where_a_body_goes_about_on_ground(kind, drawn):
    """Only one that stays in a plane of its own takes a plate along; what turns and slides is held by the ground."""
    m = ct.Mechanism("roamer")
    m.add_body("body", mass=1.0, inertia=0.1, visuals=ct.shapes.Box((0.4, 0.2, 0.1)))
    m.add_joint("moves", "ground", "body", kind)
    s = m.system()
    shape = scene(s, s.neutral())
    assert [(part.role, part.body) for part in shape.parts if part.name == "moves"] == drawn
    assert [span.form for span in shape.spans] == (["rod"] if len(drawn) == 2 else [])


def test_ground_is_below_a_standing_and_above_a_hanging_body():
    hanging = pendulum()
    s = hanging.system()
    assert corners(part(picture_at(s, [0.0]), "hinge", "ground"))[:, 2].max() > 1.0
    assert corners(part(picture_at(s, [np.pi]), "hinge", "ground"))[:, 2].max() <= 1.0
    arm = generators.arm7().system()
    pedestal = corners(part(picture_at(arm, arm.neutral()), "joint1", "ground"))
    assert pedestal[:, 2].min() == pytest.approx(0.0) and pedestal[:, 2].max() < 0.1575


def test_planar_mechanisms_are_seen_face_on_with_x_to_the_right():
    def looking(mechanism):
        s = mechanism.system()
        return picture_at(s, s.neutral()).camera

    camera = looking(generators.four_bar())
    assert camera.is_planar
    np.testing.assert_allclose(camera.towards, [0, -1, 0], atol=1e-12)
    np.testing.assert_allclose(camera.right, [1, 0, 0], atol=1e-12)
    flat = ct.Mechanism("scara", gravity=(0, 0, -9.81))
    flat.add_body("a", 1.0, (0.5, 0, 0), 0.01)
    flat.add_joint("j", "ground", "a", ct.Revolute("z"))
    np.testing.assert_allclose(looking(flat).towards, [0, 0, 1], atol=1e-12)
    np.testing.assert_allclose(looking(flat).right, [1, 0, 0], atol=1e-12)
    flat.gravity = (0, -9.81, 0)  # now it is a pendulum in the plane z = 0
    np.testing.assert_allclose(looking(flat).towards, [0, 0, 1], atol=1e-12)
    np.testing.assert_allclose(looking(flat).up, [0, 1, 0], atol=1e-12)
    assert not looking(generators.arm7()).is_planar


def test_a_mechanism_without_mass_or_extent_can_be_drawn():
    m = ct.Mechanism("point")
    m.add_body("a")
    m.add_joint("j", "ground", "a", ct.Spherical())
    s = m.system()
    picture = picture_at(s, s.neutral())
    assert picture.masses == {} and np.isfinite(picture.points()).all() and picture.bar_radius > 0


def test_forces_between_frames_are_drawn_as_their_kinds_hint():
    m = ct.Mechanism("loaded")
    m.add_body("rod", 1.0, (0.5, 0, 0), 0.1)
    m.add_joint("pin", "ground", "rod", ct.Revolute("y"))
    m.add_frame("tip", "rod", ct.Pose(p=(1.0, 0, 0)))
    m.add_frame("post", "ground", ct.Pose(p=(1.0, 0, 1.0)))
    m.add_spring("coil", "pin", 1.0)
    m.add_spring_between("spring", "post", "tip", 10.0)
    m.add_force("cable", ct.forces.Cable(10.0), between=("post", "rod"))
    m.add_force("gas", ct.forces.GasSpring(10.0, 1.0, 1.0), between=("ground", "tip"))
    m.add_force("air", ct.forces.Drag(1.0), between=("ground", "tip"))
    m.add_wrench("load", "tip", force=(0, 0, -5.0))
    picture = picture_at(m.system(), np.array([0.3]))
    strokes = {part.name: part.lines for part in picture.parts if part.role == "force"}
    assert set(strokes) == {"spring", "cable", "gas", "load"}
    tip = np.array([np.cos(0.3), 0.0, -np.sin(0.3)])
    np.testing.assert_allclose(strokes["spring"][0][[0, -1]], [[1.0, 0, 1.0], tip], atol=1e-12)
    assert len(strokes["cable"][0]) == 2 and len(strokes["gas"]) == 4
    shaft = strokes["load"][0]
    np.testing.assert_allclose(shaft[1], tip, atol=1e-12)
    np.testing.assert_allclose(
        (shaft[1] - shaft[0]) / np.linalg.norm(shaft[1] - shaft[0]), [0, 0, -1], atol=1e-12
    )


def test_many_joints_at_one_place_do_not_grow_without_end():
    """Forty hinges of a star were drawn one larger than the other and hid its bars."""
    m = ct.Mechanism("star")
    m.add_body("hub", 1.0, inertia=0.01)
    m.add_joint("stand", "ground", "hub", ct.Fixed())
    for k in range(40):
        m.add_body(f"arm{k}", 1.0, (0.5, 0, 0), (0.001, 0.08, 0.08))
        m.add_joint(f"pin{k}", "hub", f"arm{k}", ct.Revolute("y"))
    s = m.system()
    shown = picture_at(s, s.neutral())
    sizes = [np.ptp(corners(part(shown, f"pin{k}", "joint")), axis=0).max() for k in range(40)]
    assert max(sizes) < 8 * shown.bar_radius


def test_an_odd_inertia_is_no_cube_that_hides_the_mechanism():
    """A small bar between two hinges whose inertia is that of a box of many times its length."""
    m = ct.Mechanism("odd")
    m.add_body("a", 1.0, (0.1, 0, 0), 0.05)
    m.add_body("b", 1.0, (0.1, 0, 0), 0.05)
    m.add_joint("p", "ground", "a", ct.Revolute("y"))
    m.add_joint("q", "a", "b", ct.Revolute("y"), in_parent=ct.Pose(p=(0.2, 0, 0)))
    s = m.system()
    shown = picture_at(s, s.neutral())
    for name in "ab":
        assert np.ptp(corners(part(shown, name, "body")), axis=0).max() < 0.35


def test_given_shapes_are_drawn_instead_of_bars(tmp_path):
    m = ct.Mechanism("shaped")
    stl = tmp_path / "tetra.stl"
    faces = [
        ((0, 0, 0), (0, 1, 0), (1, 0, 0)),
        ((0, 0, 0), (1, 0, 0), (0, 0, 1)),
        ((0, 0, 0), (0, 0, 1), (0, 1, 0)),
        ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    ]
    corner = "vertex {} {} {}\n"
    stl.write_text(
        "solid t\n"
        + "".join(
            "facet normal 0 0 0\nouter loop\n"
            + "".join(corner.format(*p) for p in face)
            + "endloop\nendfacet\n"
            for face in faces
        )
        + "endsolid t\n"
    )
    S = ct.shapes
    given = {
        "box": (S.Box((0.2, 0.4, 0.6), colour=(1.0, 0.0, 0.0, 1.0)), (0.2, 0.4, 0.6)),
        "ball": (S.Sphere(0.3), (0.6, 0.6, 0.6)),
        "egg": (S.Ellipsoid((0.1, 0.2, 0.3)), (0.2, 0.4, 0.6)),
        "can": (S.Cylinder(0.1, 0.5), (0.2, 0.2, 0.5)),
        "pill": (S.Capsule(0.1, 0.5), (0.2, 0.2, 0.7)),
        "mesh": (S.Mesh("tetra.stl", scale=(1.0, 2.0, 3.0), file=stl), (1.0, 2.0, 3.0)),
        "lost": (S.Mesh("lost.stl", file=tmp_path / "lost.stl"), None),
    }  # fmt: skip
    for k, (name, (shape, _)) in enumerate(given.items()):
        m.add_body(name, 1.0, inertia=0.01, visuals=[shape])
        m.add_joint(f"j{k}", "ground", name, ct.Revolute("y"), in_parent=ct.Pose(p=(2.0 * k, 0, 0)))
    s = m.system()
    with pytest.warns(ct.CatenaWarning, match=r"body 'lost': the mesh 'lost\.stl' is not there"):
        shown = picture_at(s, s.neutral())
    for name, (_, size) in given.items():
        found = part(shown, name, "body")
        if size is not None:
            np.testing.assert_allclose(np.ptp(corners(found), axis=0), size, rtol=0.04)
    assert part(shown, "box", "body").colour == "#ff0000"
    assert part(shown, "lost", "body").polygons


def test_a_slide_that_comes_out_shows_its_rod():
    """The scene shaped at one configuration is carried to another: sleeve, bars and the rod between them."""
    s = generators.stewart().system()
    q = s.assemble({})
    drawn = scene(s, q)
    assert [p for p in drawn.at(s.body_poses(q)).parts if p.role == "rod"] == []
    longer = s.assemble({f"leg{k}": 0.1 for k in range(1, 7)}, guess=q)
    rods = [p for p in drawn.at(s.body_poses(longer)).parts if p.role == "rod"]
    assert len(rods) == 6
    for rod in rods:
        assert np.linalg.norm(np.ptp(corners(rod), axis=0)) == pytest.approx(0.1, abs=4 * drawn.bar_radius)


def test_a_scene_carried_elsewhere_is_the_picture_taken_there():
    s = generators.arm7().system()
    q = np.linspace(0.1, 0.7, s.nq)
    drawn = scene(s, s.neutral()).at(s.body_poses(q))
    for name in s.mechanism.bodies:
        if name != "ground":
            a, b = (corners(part(x, name, "body")).mean(axis=0) for x in (drawn, picture_at(s, q)))
            np.testing.assert_allclose(a, b, atol=0.02)


def test_links_of_a_plane_mechanism_are_no_square_plates():
    """Andrews' mechanism gives one moment of inertia for each body: the boxes with it would hide its joints."""
    m = generators.andrews()
    s = m.system()
    shown = picture_at(s, s.assemble(m.initial.q))
    for name in ("K4", "K5", "K6", "K7"):
        points = corners(part(shown, name, "body"))[:, :2]
        spread = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
        assert spread[1] < 0.6 * spread[0]


def test_a_plate_of_bars_reaches_its_points_and_no_block_hides_what_it_carries():
    """Bodies of a linkage are as large as what they carry, and an inertia that is only a number makes no cube."""
    drawn = ct.Linkage("plate", fixed={"O": (0, 0), "P": (1, 0)}).bars({"O-A": 0.3, "A-B": 0.8, "P-B": 0.7})
    drawn.bars({"A-C": 0.6, "B-C": 0.6}).sketch({"A": (0.3, 0.1), "B": (0.8, 0.6), "C": (0.4, 0.7)})
    system = drawn.mechanism().system()
    plate = corners(part(picture_at(system, system.neutral()), "A-B-C", "body"))
    for name in "ABC":
        assert np.linalg.norm(plate - system.pose(system.neutral(), name).p, axis=1).min() < 0.06
    m = ct.Mechanism("car")
    m.add_body("chassis", mass=350.0, inertia=30.0)
    for k, place in enumerate(((0.15, 0, 0), (-0.15, 0, 0), (0, 0.1, 0.1))):
        m.add_body(f"arm{k}", mass=1.0, com=(0, 0.1, 0), inertia=0.01)
        m.add_joint(f"pivot{k}", "chassis", f"arm{k}", ct.Revolute("x"), in_parent=ct.Pose(p=place))
        m.add_frame(f"end{k}", f"arm{k}", ct.Pose(p=(0, 0.3, 0)))
    m.add_joint("heave", "ground", "chassis", ct.Prismatic("z"))
    car = m.system()
    block = corners(part(picture_at(car, car.neutral()), "chassis", "body"))
    assert np.ptp(block, axis=0).max() < 0.45


@pytest.mark.parametrize("angle", [0.0, 1.0, 2.5])
def test_a_slider_looks_the_same_wherever_it_starts_and_shows_its_hinge(angle):
    """It was a bar as long as it happened to be pulled out, which then stuck out behind its guide."""
    m = ct.Mechanism("slider-crank", gravity=(0, 0, 0))
    m.add_body("crank", mass=0.5, com=(0.075, 0, 0), inertia=(1e-5, 1e-3, 1e-3))
    m.add_body("rod", mass=0.5, com=(0.15, 0, 0), inertia=(1e-5, 4e-3, 4e-3))
    m.add_body("slider", mass=0.03, inertia=1e-5)
    m.add_joint("A", "ground", "crank", ct.Revolute("z"))
    m.add_joint("B", "crank", "rod", ct.Revolute("z"), in_parent=ct.Pose(p=(0.15, 0, 0)))
    m.add_joint("C", "rod", "slider", ct.Revolute("z"), in_parent=ct.Pose(p=(0.3, 0, 0)))
    m.add_joint("D", "ground", "slider", ct.Prismatic("x"))
    s = m.system()
    shape = scene(s, s.assemble({"A": angle}))
    (block,) = [p for p in shape.parts if p.name == "slider"]
    (hinge,) = [p for p in shape.parts if p.name == "C"]
    spread = np.ptp(corners(block), axis=0)
    np.testing.assert_allclose(corners(block).mean(axis=0), 0.0, atol=1e-12)
    assert (
        2.0 * shape.bar_radius < spread[0] < 13.0 * shape.bar_radius
        and spread[2] < np.ptp(corners(hinge), axis=0)[2]
    )
    # It slides between rails, which look like no link and reach as far as it will go; the ground behind is hatched.
    assert not [span for span in shape.spans if span.form == "rod"]
    q = np.stack([s.assemble({"A": x}) for x in (0.3, 1.5, 3.0)])
    way = s.joint_position(q, "D")[:, 0]
    shape = scene(s, q[0], motion=q)
    sleeve, rails, strokes = (
        next(p for p in shape.parts if p.name == "D" and p.role == role)
        for role in ("joint", "ground", "hatching")
    )
    assert sleeve.body == "slider" and rails.body == "ground" and len(strokes.lines) > 3
    assert corners(rails)[:, 0].min() < way.min() and corners(rails)[:, 0].max() > way.max()
    assert np.abs(corners(rails)[:, 1]).min() > shape.bar_radius
    assert {p.name for p in shape.parts if p.role == "hatching"} == {"A", "D"}
    # Faces look outwards: seen from outside, corners run counter-clockwise.
    for face in block.polygons:
        assert np.cross(face[1] - face[0], face[2] - face[0]) @ face.mean(axis=0) > 0.0


def test_wheels_behind_each_other_are_not_seen_face_on():
    m = ct.Mechanism("shaft", gravity=(0, 0, -9.81))
    for k in range(3):
        m.add_body(f"wheel{k}", mass=1.0, inertia=(0.005, 0.01, 0.005))
        m.add_joint(f"bearing{k}", "ground", f"wheel{k}", ct.Revolute("y"), ct.Pose(p=(0.1 * k, 0.5 * k, 0)))
    s = m.system()
    assert not scene(s, s.neutral()).camera.is_planar
    assert scene(generators.four_bar().system(), np.zeros(3)).camera.is_planar


def test_links_of_a_long_row_are_seen_between_their_joints():
    s = generators.n_four_bars(30).system()
    shape = scene(s, s.assemble({"pin0": 0.8}))
    hinges = [p for p in shape.parts if p.role in ("joint", "loop")]
    assert max(np.ptp(corners(p)[:, 0]) for p in hinges) < 0.75, "links are 1 m long"


@pytest.mark.parametrize("mechanism", GENERATED[:6], ids=[m.name for m in GENERATED[:6]])
def test_boxes_around_solids_are_as_large_as_their_surfaces(mechanism):
    s = mechanism.system()
    for each in scene(s, s.neutral()).parts:
        for solid in each.solids:
            own = np.concatenate(solid.own_polygons())
            low, high = solid.own_box()
            size = np.linalg.norm(high - low)
            np.testing.assert_allclose(own.min(axis=0), low, atol=0.08 * size)
            np.testing.assert_allclose(own.max(axis=0), high, atol=0.08 * size)
            assert np.all(own >= low - 1e-9 * size) and np.all(own <= high + 1e-9 * size)
            inside = (solid.box() - solid.p) @ solid.R
            np.testing.assert_allclose([inside.min(axis=0), inside.max(axis=0)], [low, high], atol=1e-12)


def test_colours_of_bodies_outlive_a_change_of_the_plan():
    """Levels are counted from the root, so that taking hold of the ground elsewhere turned light into dark."""
    s = generators.chain(5).system()
    shape = scene(s, s.neutral())
    known = body_colours(shape)
    assert len(set(known.values())) == 2
    swapped = {name: {"#7fa3cc": "#a9c1dc"}.get(colour, "#7fa3cc") for name, colour in known.items()}
    assert body_colours(scene(s, s.neutral(), colours=swapped)) == swapped


def test_pads_at_one_height_hang_from_a_plate():
    s = generators.delta().system()
    shape = scene(s, s.assemble())
    plates = [
        p
        for p in shape.parts
        if p.role == "ground" and any(type(x).__name__ == "HullSolid" for x in p.solids)
    ]
    (plate,) = plates
    pads = np.concatenate([corners(p) for p in shape.parts if p.role == "ground" and p is not plate])
    assert np.all(np.ptp(corners(plate)[:, :2], axis=0) > 0.5 * np.ptp(pads[:, :2], axis=0))
    assert pads[:, 2].min() < corners(plate)[:, 2].min() < pads[:, 2].max()


def test_what_is_seen_through_says_so_in_its_colour():
    m = ct.Mechanism("glass")
    m.add_body(
        "a", mass=1.0, visuals=[ct.shapes.Box((1, 1, 1), colour=(1, 0, 0, 0.5)), ct.shapes.Sphere(0.2)]
    )
    m.add_joint("j", "ground", "a", ct.Revolute("y"))
    s = m.system()
    colours = [p.colour for p in scene(s, s.neutral()).parts if p.role == "body"]
    assert colours[0] == "#ff000080" and len(colours[1]) == 7


def test_a_body_no_larger_than_the_joints_at_its_one_place_does_not_come_out_of_them():
    """The hip of a walker, a small block on two hinges at one point, is inside what is drawn of the hinges."""
    s = generators.walker(0).system()
    shown = picture_at(s, s.neutral())
    hip, roll = (
        corners(part(shown, "front_left/hip", "body")),
        corners(part(shown, "front_left/roll", "joint")),
    )
    middle = (roll.min(axis=0) + roll.max(axis=0)) / 2
    assert np.linalg.norm(hip - middle, axis=1).max() < np.linalg.norm(roll - middle, axis=1).max()
