"""Shapes of bodies: what they accept, and the mass they have at a density against MuJoCo and against sums of parts."""

import mujoco
import numpy as np
import pytest

import catena as ct
from catena.mechanism.shapes import Box, Capsule, Cylinder, Ellipsoid, MassProperties, Mesh, Sphere, filled

PLACED = ct.Pose(p=(0.1, -0.2, 0.3), rpy=(0.3, -0.4, 1.2))
QUAT = " ".join(map(repr, PLACED.quat.tolist()))
CLOSED = {
    "box": (Box((0.1, 0.2, 0.5), pose=PLACED), "0.05 0.1 0.25"),
    "sphere": (Sphere(0.3, pose=PLACED), "0.3"),
    "ellipsoid": (Ellipsoid((0.1, 0.2, 0.5), pose=PLACED), "0.1 0.2 0.5"),
    "cylinder": (Cylinder(0.1, 0.6, pose=PLACED), "0.1 0.3"),
    "capsule": (Capsule(0.1, 0.6, pose=PLACED), "0.1 0.3"),
}


@pytest.mark.parametrize("word", CLOSED)
def test_mass_properties_of_a_shape_are_those_of_mujoco(word):
    shape, size = CLOSED[word]
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><worldbody><body><freejoint/><geom type="{word}" size="{size}" density="1234" '
        f'pos="0.1 -0.2 0.3" quat="{QUAT}"/></body></worldbody></mujoco>'
    )
    found = shape.mass_properties(1234.0)
    axes = ct.Pose(quat=model.body_iquat[1]).R
    assert found.mass == pytest.approx(model.body_mass[1], rel=1e-12)
    assert np.allclose(found.com, model.body_ipos[1], rtol=0, atol=1e-14)
    inertia = axes @ np.diag(model.body_inertia[1]) @ axes.T
    assert np.allclose(found.inertia, inertia, rtol=0, atol=1e-11 * np.abs(inertia).max())


def test_two_halves_of_a_box_have_the_mass_properties_of_the_box():
    halves = [Box((0.1, 0.2, 0.3), pose=ct.Pose(p=(0, 0, z))) for z in (-0.15, 0.15)]
    whole, together = Box((0.1, 0.2, 0.6)).mass_properties(800.0), filled(halves, 800.0)
    assert together.mass == pytest.approx(whole.mass, rel=1e-14)
    assert np.allclose(together.com, whole.com, rtol=0, atol=1e-16)
    assert np.allclose(together.inertia, whole.inertia, rtol=1e-13, atol=0)


def test_density_gives_a_body_what_its_visual_shapes_weigh():
    m = ct.Mechanism("m")
    shape = Box((0.1, 0.2, 0.3), pose=PLACED)
    body = m.add_body("block", density=1000.0, visuals=shape, collisions=[Sphere(1.0)])
    assert body.mass == pytest.approx(6.0) and np.allclose(body.com, PLACED.p)
    assert body.visuals == (shape,) and body.collisions == (Sphere(1.0),)
    hidden = m.add_body("hidden", density=1000.0, collisions=[Box((0.1, 0.2, 0.3))])
    assert hidden.mass == pytest.approx(6.0)


def test_shapes_on_bodies_are_kept_by_copies_and_leave_systems_valid():
    m = ct.Mechanism("m")
    m.add_body("block", mass=1.0, inertia=1.0)
    m.add_joint("j", "ground", "block", ct.Revolute("z"))
    s = m.system()
    m.add_visual("block", Sphere(0.1))
    m.add_visual("ground", Box((1, 1, 0.1), colour=(0.5, 0.5, 0.5)))
    m.add_collision("block", Sphere(0.2), Sphere(0.3))
    assert s.mass_matrix([0.0]) == pytest.approx(1.0)
    twin = m.copy()
    assert twin.bodies["block"].visuals == (Sphere(0.1),)
    assert len(twin.bodies["block"].collisions) == 2
    assert twin.bodies["ground"].visuals[0].colour == (0.5, 0.5, 0.5, 1.0)


def test_a_mesh_tells_its_path_and_where_it_is_seen_from_the_working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Mesh("parts/arm.stl").file == tmp_path / "parts" / "arm.stl"
    assert Mesh("package://robot/arm.stl").file is None
    assert Mesh("a.stl", file=tmp_path / "b.stl") == Mesh("a.stl")
    assert Mesh("a.stl", 0.001).scale == (0.001, 0.001, 0.001)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Box((1, 2)), "size"),
        (lambda: Box((1, 2, 0)), "size"),
        (lambda: Sphere(-1.0), "radius"),
        (lambda: Sphere("big"), "radius"),
        (lambda: Cylinder(1.0, float("nan")), "length"),
        (lambda: Capsule(1.0, [1.0]), "length"),
        (lambda: Ellipsoid((1, 1, np.inf)), "radii"),
        (lambda: Mesh(""), "path"),
        (lambda: Mesh("a.stl", (1, 0, 1)), "scale"),
        (lambda: Sphere(1.0, colour=(1, 2, 3)), "colour"),
        (lambda: Sphere(1.0, colour="red"), "colour"),
        (lambda: Sphere(1.0, pose=(0, 0, 0)), "pose"),
        (lambda: Sphere(1.0, name=3), "name"),
        (lambda: Mesh("a.stl").mass_properties(1.0), "a.stl: the mesh cannot be read"),
        (lambda: Mesh("package://a/b.stl").mass_properties(1.0), "nobody knows where"),
        (lambda: ct.Mechanism("m").add_body("b", visuals=["box"]), "visuals"),
        (lambda: ct.Mechanism("m").add_body("b", density=1.0), "density"),
        (lambda: ct.Mechanism("m").add_body("b", density=-1.0, visuals=Sphere(1.0)), "density"),
        (lambda: ct.Mechanism("m").add_body("b", mass=1.0, density=1.0, visuals=Sphere(1.0)), "density"),
        (lambda: ct.Mechanism("m").add_visual("b", Sphere(1.0)), "'b'"),
    ],
)
def test_what_no_shape_can_be_is_refused_by_name(make, words):
    with pytest.raises(ct.CatenaError, match=words):
        make()


def test_nothing_weighs_nothing():
    assert MassProperties.sum([]).mass == 0.0
