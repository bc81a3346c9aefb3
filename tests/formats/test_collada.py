"""Meshes of COLLADA files: corners by hand, scenes with transformations and instances, and files that are traps."""

import numpy as np
import pytest

import catena as ct
from catena.formats.meshes import mesh_mass_properties, read_mesh
from catena.mechanism.shapes import Mesh

CUBE = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)
SIDES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
"""The sides of a cube, seen from outside against the clock."""


def document(
    faces, scene='<node><instance_geometry url="#g"/></node>', asset="<up_axis>Z_UP</up_axis>", more=""
):
    numbers = " ".join(map(str, CUBE.ravel()))
    return (
        f'<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"><asset>{asset}</asset>'
        f'<library_geometries><geometry id="g"><mesh><source id="s"><float_array id="f" count="24">{numbers}'
        '</float_array><technique_common><accessor source="#f" count="8" stride="3"/></technique_common></source>'
        f'<vertices id="v"><input semantic="POSITION" source="#s"/></vertices>{faces}</mesh></geometry>'
        f'</library_geometries>{more}<library_visual_scenes><visual_scene id="w">{scene}</visual_scene>'
        '</library_visual_scenes><scene><instance_visual_scene url="#w"/></scene></COLLADA>'
    )


def row(faces, stride=1):
    return " ".join(" ".join([str(k), *["0"] * (stride - 1)]) for face in faces for k in face)


THREES = [face for a, b, c, d in SIDES for face in ((a, b, c), (a, c, d))]
VERTEX = '<input semantic="VERTEX" source="#v" offset="0"/>'
NORMAL = '<input semantic="NORMAL" source="#n" offset="1"/>'
FACES = {
    "triangles": f"<triangles count='12'>{VERTEX}{NORMAL}<p>{row(THREES, 2)}</p></triangles>",
    "polylist": f"<polylist count='6'>{VERTEX}<vcount>4 4 4 4 4 4</vcount><p>{row(SIDES)}</p></polylist>",
    "polygons": f"<polygons count='6'>{VERTEX}{''.join(f'<p>{row([s])}</p>' for s in SIDES)}</polygons>",
    "trifans": f"<trifans count='6'>{VERTEX}{''.join(f'<p>{row([s])}</p>' for s in SIDES)}</trifans>",
    "tristrips": f"<tristrips count='6'>{VERTEX}"
    + "".join(f"<p>{row([(a, b, d, c)])}</p>" for a, b, c, d in SIDES)
    + "</tristrips>",
}


def read(text, folder):
    path = folder / "m.dae"
    path.write_text(text)
    return read_mesh(path)


def mass_of(text, folder):
    path = folder / "m.dae"
    path.write_text(text)
    return mesh_mass_properties(Mesh("m.dae", file=path), 1.0)


@pytest.mark.parametrize("way", FACES)
def test_a_cube_encloses_its_volume_however_its_faces_are_told(way, tmp_path):
    vertices, triangles = read(document(FACES[way]), tmp_path)
    assert len(triangles) == 12 and vertices.min() == 0.0 and vertices.max() == 1.0
    found = mass_of(document(FACES[way]), tmp_path)
    assert found.mass == pytest.approx(1.0, rel=1e-12)
    np.testing.assert_allclose(found.com, 0.5, rtol=1e-12)
    np.testing.assert_allclose(found.inertia, np.eye(3) / 6.0, atol=1e-12)
    corners = vertices[triangles]
    outwards = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert (np.einsum("ni,ni->n", outwards, corners.mean(axis=1) - 0.5) > 0).all()


def test_units_axes_transformations_and_instances_place_the_mesh(tmp_path):
    scene = (
        '<node><translate>10 0 0</translate><rotate>0 0 1 90</rotate><scale>2 2 2</scale>'
        '<instance_geometry url="#g"/><node><matrix>1 0 0 0 0 1 0 0 0 0 1 5 0 0 0 1</matrix><instance_node url="#n"/>'
        "</node></node>"
    )  # fmt: skip
    more = '<library_nodes><node id="n"><instance_geometry url="#g"/></node></library_nodes>'
    text = document(FACES["triangles"], scene, '<unit meter="0.01"/><up_axis>Z_UP</up_axis>', more)
    vertices, _ = read(text, tmp_path)
    np.testing.assert_allclose(vertices.min(axis=0), [0.08, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(vertices.max(axis=0), [0.1, 0.02, 0.12], atol=1e-12)
    lying, _ = read(document(FACES["triangles"], asset=""), tmp_path)
    np.testing.assert_allclose([lying.min(axis=0), lying.max(axis=0)], [[0, -1, 0], [1, 0, 1]], atol=1e-15)


LOOP = '<library_nodes><node id="n"><instance_node url="#n"/></node></library_nodes>'
FAN = "".join(
    f'<node id="n{k}"><instance_node url="#n{k + 1}"/><instance_node url="#n{k + 1}"/></node>'
    for k in range(40)
)
FAN = f'<library_nodes>{FAN}<node id="n40"><instance_geometry url="#g"/></node></library_nodes>'
EMPTY = FAN.replace('<instance_geometry url="#g"/>', "")
TRAPS = {
    "or more than": document(FACES["triangles"], '<node><instance_node url="#n0"/></node>', more=EMPTY),
    "nested more than": document(FACES["triangles"], '<node><instance_node url="#n"/></node>', more=LOOP),
    "(corners|or more than 100000)": document(
        FACES["triangles"], '<node><instance_node url="#n0"/></node>', more=FAN
    ),
    "a corner that is not there": document(FACES["triangles"].replace("<p>0", "<p>99", 1)),
    "a corner that is not there ": document(FACES["triangles"].replace("<p>0", "<p>-1", 1)),
    "there are no triangles": document(FACES["triangles"].replace("#v", "../../secret.dae#v")),
    "the entity": '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><COLLADA>&a;</COLLADA>',
    "not <COLLADA>": "<svg/>",
    "damaged": document(FACES["triangles"].replace("<p>0", "<p>zero", 1)),
    "other corners than they say": document(FACES["polylist"].replace("4 4 4 4 4 4", "4 4 4 4 4 400")),
    "not XML": "COLLADA",
}


@pytest.mark.parametrize("message", TRAPS)
def test_traps_end_in_words(message, tmp_path):
    with pytest.raises(ct.FormatError, match=message.strip()) as caught:
        read(TRAPS[message], tmp_path)
    assert "m.dae" in str(caught.value)
