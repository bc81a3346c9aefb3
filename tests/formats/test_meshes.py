"""Meshes of all formats: the same body told in each of them, masses against closed forms, and files that are traps."""

import base64
import builtins
import json
import os
import struct
import sys

import numpy as np
import pytest

import catena as ct
from catena.formats.meshes import read_mesh
from catena.mechanism.shapes import Box, Mesh, Sphere

CUBE = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)
SIDES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
"""The sides of a cube, seen from outside against the clock."""
THREES = np.array([face for a, b, c, d in SIDES for face in ((a, b, c), (a, c, d))])
TETRAHEDRON = np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]], dtype=float)
CORNERS = np.array([(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)])


def stl(vertices, faces):
    record = np.zeros(len(faces), np.dtype([("n", "<f4", 3), ("c", "<f4", (3, 3)), ("r", "<u2")]))
    record["c"] = vertices[faces]
    return bytes(80) + len(faces).to_bytes(4, "little") + record.tobytes()


def text_stl(vertices, faces):
    corner = "vertex {} {} {}\n"
    facets = "".join(
        "facet normal 0 0 0\nouter loop\n"
        + "".join(corner.format(*vertices[k]) for k in face)
        + "endloop\nendfacet\n"
        for face in faces
    )
    return f"solid s\n{facets}endsolid s\n".encode()


def obj(vertices, faces):
    rows = [*(f"v {x!r} {y!r} {z!r}" for x, y, z in vertices.tolist()), "usemtl red"]
    rows += [f"f {a + 1}//1 {b + 1}//1 {c + 1}//1" for a, b, c in faces.tolist()]
    return "\n".join(["mtllib m.mtl", "vn 0 0 1", *rows, ""]).encode()


def ply(vertices, faces):
    rows = [" ".join(map(repr, row)) for row in vertices.tolist()]
    rows += [f"3 {a} {b} {c}" for a, b, c in faces.tolist()]
    head = f"ply\nformat ascii 1.0\nelement vertex {len(vertices)}\n" + "".join(
        f"property double {axis}\n" for axis in "xyz"
    )
    return (
        f"{head}element face {len(faces)}\nproperty list uchar int vertex_indices\nend_header\n".encode()
        + ("\n".join(rows).encode() + b"\n")
    )


def collada(
    vertices, faces, scene='<node><instance_geometry url="#g"/></node>', asset="<up_axis>Z_UP</up_axis>", more="",
    told=None,
):  # fmt: skip
    told = told or (
        f'<triangles count="{len(faces)}" material="m"><input semantic="VERTEX" source="#v" offset="0"/>'
        f"<p>{' '.join(map(str, faces.ravel()))}</p></triangles>"
    )
    numbers = " ".join(map(repr, vertices.ravel().tolist()))
    axes = "".join(f'<param name="{axis}" type="float"/>' for axis in "XYZ")
    return (
        f'<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"><asset>{asset}</asset>'
        '<library_effects><effect id="e"><profile_COMMON><technique sid="t"><lambert><diffuse><color>1 0 0 1</color>'
        "</diffuse></lambert></technique></profile_COMMON></effect></library_effects>"
        '<library_materials><material id="m"><instance_effect url="#e"/></material></library_materials>'
        f'<library_geometries><geometry id="g"><mesh><source id="s"><float_array id="f" count="{vertices.size}">'
        f'{numbers}</float_array><technique_common><accessor source="#f" count="{len(vertices)}" stride="3">{axes}'
        '</accessor></technique_common></source><vertices id="v"><input semantic="POSITION" source="#s"/></vertices>'
        f"{told}</mesh></geometry></library_geometries>{more}"
        f'<library_visual_scenes><visual_scene id="w">{scene}</visual_scene></library_visual_scenes>'
        '<scene><instance_visual_scene url="#w"/></scene></COLLADA>'
    ).encode()  # fmt: skip


BIND = (
    '<node><instance_geometry url="#g"><bind_material><technique_common><instance_material symbol="m" target="#m"/>'
    "</technique_common></bind_material></instance_geometry></node>"
)


def gltf_parts(vertices, faces):
    """The header and the buffer of a glTF file, in which y is up."""
    turned = vertices[:, [0, 2, 1]] * [1, 1, -1]
    places, indices = turned.astype("<f4").tobytes(), faces.astype("<u4").tobytes()
    header = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1, "material": 0}]}],
        "materials": [{"pbrMetallicRoughness": {"baseColorFactor": [1, 0, 0, 1], "baseColorTexture": {"index": 0}}}],
        "textures": [{"source": 0}],
        "images": [{"uri": "secret.png"}],
        "accessors": [
            {
                "bufferView": 0, "componentType": 5126, "type": "VEC3", "count": len(vertices),
                "min": turned.min(axis=0).tolist(), "max": turned.max(axis=0).tolist(),
            },
            {"bufferView": 1, "componentType": 5125, "type": "SCALAR", "count": faces.size},
        ],
        "bufferViews": [
            {"buffer": 0, "byteOffset": 0, "byteLength": len(places)},
            {"buffer": 0, "byteOffset": len(places), "byteLength": len(indices)},
        ],
        "buffers": [{"byteLength": len(places) + len(indices)}],
    }  # fmt: skip
    return header, places + indices


def gltf(vertices, faces):
    header, buffer = gltf_parts(vertices, faces)
    header["buffers"][0]["uri"] = "data:application/octet-stream;base64," + base64.b64encode(buffer).decode()
    return json.dumps(header).encode()


def glb(vertices, faces):
    header, buffer = gltf_parts(vertices, faces)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 4)
    whole = 12 + 8 + len(text) + 8 + len(buffer)
    return (
        struct.pack("<4sII", b"glTF", 2, whole)
        + struct.pack("<I4s", len(text), b"JSON") + text
        + struct.pack("<I4s", len(buffer), b"BIN\0") + buffer
    )  # fmt: skip


FORMATS = {
    "binary.stl": stl,
    "text.stl": text_stl,
    "m.obj": obj,
    "m.ply": ply,
    "m.dae": lambda v, f: collada(v, f, BIND),
    "m.gltf": gltf,
    "m.glb": glb,
}
EXACT = ("text.stl", "m.obj", "m.ply")
"""Files that keep all digits; the others have numbers of single precision."""


@pytest.fixture
def write(tmp_path):
    pytest.importorskip("trimesh")
    pytest.importorskip("collada")

    def made(name, content):
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return tmp_path / name

    made("m.mtl", "newmtl red\nKd 1 0 0\nmap_Kd ../../etc/secret.png\n")
    return made


def ball(fine):
    """A ball of radius 1 as a grid of longitudes and latitudes."""
    angles = np.linspace(0, np.pi, fine + 1)[1:-1]
    round_ = np.linspace(0, 2 * np.pi, 2 * fine, endpoint=False)
    rings = [[np.sin(a) * np.cos(b), np.sin(a) * np.sin(b), np.cos(a)] for a in angles for b in round_]
    n, vertices = len(round_), np.array([[0, 0, 1], *rings, [0, 0, -1]])
    faces = []
    for k in range(n):
        j = (k + 1) % n
        faces.append((0, 1 + k, 1 + j))
        faces.append((len(vertices) - 1, len(vertices) - 1 - n + j, len(vertices) - 1 - n + k))
        for ring in range(len(angles) - 1):
            a, b = 1 + ring * n, 1 + (ring + 1) * n
            faces += [(a + k, b + k, b + j), (a + k, b + j, a + j)]
    return vertices, np.array(faces)


@pytest.mark.parametrize("name", FORMATS)
def test_the_same_bodies_have_the_masses_of_closed_forms_in_every_format(name, write):
    """A box against the shape of the same size, a tetrahedron against its integral, a fine ball against a sphere; with
    scale, pose and density, from Python and from a model file."""
    accuracy = 1e-12 if name in EXACT else 3e-7
    place, scale, density = ct.Pose(p=(1, 2, 3), rpy=(0.1, 0.2, 0.3)), (0.5, 2.0, 3.0), 2700.0
    file = write(name, FORMATS[name](CUBE, THREES))
    m = ct.Mechanism("m")
    body = m.add_body("b", density=density, visuals=Mesh(name, scale, file, pose=place))
    box = Box(scale, pose=place * ct.Pose(p=np.array(scale) / 2)).mass_properties(density)
    assert body.mass == pytest.approx(box.mass, rel=accuracy)
    np.testing.assert_allclose(body.com, box.com, rtol=accuracy)
    np.testing.assert_allclose(body.inertia, box.inertia, atol=accuracy * box.mass * 10)
    mirrored = Mesh(name, (-0.5, 2.0, 3.0), file).mass_properties(density)
    assert mirrored.mass == pytest.approx(box.mass, rel=accuracy) and mirrored.com[0] == pytest.approx(-0.25)

    model = file.parent / "m.toml"
    pose = "{ p = [1, 2, 3], rpy = [0.1, 0.2, 0.3] }"
    model.write_text(
        '[mechanism]\nname = "m"\n[[body]]\nname = "b"\ndensity = 2700\n'
        f'visual = [{{ shape = "mesh", path = "{name}", scale = [0.5, 2.0, 3.0], pose = {pose} }}]\n'
        '[[joint]]\nname = "j"\nkind = "free"\nparent = "ground"\nchild = "b"\n'
    )
    assert ct.load(model).bodies["b"].mass == body.mass

    found = Mesh(name, file=write(name, FORMATS[name](TETRAHEDRON, CORNERS))).mass_properties(1.0)
    assert found.mass == pytest.approx(1.0, rel=accuracy)
    np.testing.assert_allclose(found.com, TETRAHEDRON.mean(axis=0), rtol=accuracy)
    second = np.diag([1.0, 4.0, 9.0]) / 10.0 + (1 - np.eye(3)) * np.outer([1, 2, 3], [1, 2, 3]) / 20.0
    about = second - np.outer(found.com, found.com)
    np.testing.assert_allclose(found.inertia, np.trace(about) * np.eye(3) - about, atol=3 * accuracy)

    found = Mesh(name, 0.1, write(name, FORMATS[name](*ball(60)))).mass_properties(1000.0)
    sphere = Sphere(0.1).mass_properties(1000.0)
    assert found.mass == pytest.approx(sphere.mass, rel=3e-3)
    np.testing.assert_allclose(found.inertia, sphere.inertia, atol=4e-3 * sphere.inertia[0, 0])


@pytest.mark.parametrize("name", ["m.obj", "m.dae", "m.gltf", "m.glb"])
def test_materials_colour_what_the_model_does_not(name, write):
    (part,) = read_mesh(write(name, FORMATS[name](CUBE, THREES))).parts
    assert part.colour == pytest.approx((1, 0, 0, 1))


def test_a_broken_material_costs_the_colour_and_not_the_triangles(write):
    broken = collada(CUBE, THREES, BIND).replace(b'url="#e"', b'url="#lost"')
    (part,) = read_mesh(write("m.dae", broken)).parts
    assert part.colour is None and len(part.triangles) == 12


def test_a_hole_is_a_surface_that_is_turned_and_overlaps_count_twice(write):
    inner = CUBE / 2 + 0.25
    for faces, mass in ((THREES[:, ::-1], 7 / 8), (THREES, 9 / 8)):
        both = np.concatenate([CUBE, inner]), np.concatenate([THREES, faces + 8])
        assert Mesh("h.ply", file=write("h.ply", ply(*both))).mass_properties(1.0).mass == pytest.approx(mass)


OPEN = {
    "4 of its 17 edges have a triangle on one side only": (CUBE, THREES[2:]),
    "do not agree about which side is outside, at 3 of its 18": (
        CUBE, np.concatenate([THREES[:1, ::-1], THREES[1:]])
    ),
    "flat and encloses no space": (CUBE[:3], np.array([(0, 1, 2), (0, 2, 1)])),
    "has no extent": (CUBE[:3] * 0, np.array([(0, 1, 2), (0, 2, 1)])),
}  # fmt: skip


@pytest.mark.parametrize("words", OPEN)
def test_what_is_not_closed_is_refused_with_what_was_found(words, write):
    file = write("open.stl", stl(*OPEN[words]))
    with pytest.raises(
        ct.ModelError, match=f"body 'b': a mesh .*open.stl.*{words}.*give mass, com and inertia"
    ):
        ct.Mechanism("m").add_body("b", density=1.0, visuals=Mesh(file))


def test_units_axes_transformations_and_instances_place_a_collada_mesh(write):
    scene = (
        '<node><translate>10 0 0</translate><rotate>0 0 1 90</rotate><scale>2 2 2</scale>'
        '<instance_geometry url="#g"/><node><matrix>1 0 0 0 0 1 0 0 0 0 1 5 0 0 0 1</matrix><instance_node url="#n"/>'
        "</node></node>"
    )  # fmt: skip
    more = '<library_nodes><node id="n"><instance_geometry url="#g"/></node></library_nodes>'
    asset = '<unit meter="0.01"/><up_axis>Z_UP</up_axis>'
    vertices = read_mesh(write("m.dae", collada(CUBE, THREES, scene, asset, more))).joined().vertices
    np.testing.assert_allclose(vertices.min(axis=0), [0.08, 0.0, 0.0], atol=1e-8)
    np.testing.assert_allclose(vertices.max(axis=0), [0.1, 0.02, 0.12], atol=1e-8)
    lying = read_mesh(write("m.dae", collada(CUBE, THREES, asset=""))).joined().vertices
    np.testing.assert_allclose([lying.min(axis=0), lying.max(axis=0)], [[0, -1, 0], [1, 0, 1]], atol=1e-7)


LOOP = '<library_nodes><node id="n"><instance_node url="#n"/></node></library_nodes>'
FAN = "".join(
    f'<node id="n{k}"><instance_node url="#n{k + 1}"/><instance_node url="#n{k + 1}"/></node>'
    for k in range(40)
)
FAN = f'<library_nodes>{FAN}<node id="n40"><instance_geometry url="#g"/></node></library_nodes>'
FIRST = '<node><instance_node url="#n0"/></node>'


def with_header(change):
    header, buffer = gltf_parts(CUBE, THREES)
    header["buffers"][0]["uri"] = "data:application/octet-stream;base64," + base64.b64encode(buffer).decode()
    change(header)
    return json.dumps(header)


TRAPS = {
    "or more than": ("m.dae", collada(CUBE, THREES, FIRST, more=FAN)),
    "nested more than": ("m.dae", collada(CUBE, THREES, FIRST.replace("n0", "n"), more=LOOP)),
    "the entity": ("m.dae", '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><COLLADA>&a;</COLLADA>'),
    "not <COLLADA>": ("m.dae", "<svg/>"),
    "not XML": ("m.dae", "COLLADA"),
    "no triangles": ("m.dae", collada(CUBE, THREES, told="<triangles/>")),
    "damaged": ("m.dae", collada(CUBE, THREES + 7)),
    "neither a binary nor a text": ("m.stl", "solid"),
    "no triangles ": ("m.stl", b"\0" * 84),
    "damaged ": ("m.obj", "v 0 0 0\nf 1 2 3\n"),
    "damaged  ": ("m.ply", "ply\nformat ascii 1.0\nelement vertex 900000000000\nproperty float x\nend_header\n0\n"),
    "speaks of more than": ("m.gltf", with_header(lambda h: h["accessors"].append({"count": 10**12, "type": "MAT4"}))),
    "speaks of more": ("m.gltf", with_header(lambda h: h["bufferViews"].extend([{"byteLength": 10**7}] * 1000))),
    "primitives": (
        "m.gltf", with_header(lambda h: h["meshes"][0].update(primitives=h["meshes"][0]["primitives"] * 200_000))
    ),
    "lies outside of the folder": ("m.gltf", with_header(lambda h: h["buffers"][0].update(uri="../secret.bin"))),
    "only files that end in": ("m.gltf", with_header(lambda h: h["buffers"][0].update(uri="secret.txt"))),
    "cannot be read": ("m.gltf", with_header(lambda h: h["buffers"][0].update(uri="https://localhost/a.bin"))),
    "no table": ("m.gltf", "[]"),
    "begin as a .glb": ("m.glb", b"glTF\2\0\0\0\0\0\0\0"),
    "meshes are read from": ("m.step", b""),
}  # fmt: skip


@pytest.mark.parametrize("message", TRAPS)
def test_traps_end_in_words(message, write, monkeypatch):
    """Nothing is expanded, nothing outside of the folder is opened, and sizes are counted before anything is made."""
    name, content = TRAPS[message]
    file = write(name, content)
    (file.parent.parent / "secret.bin").write_bytes(gltf_parts(CUBE, THREES)[1])
    (file.parent / "secret.txt").write_bytes(gltf_parts(CUBE, THREES)[1])
    opened = []
    for where in (builtins, os):
        own = where.open
        monkeypatch.setattr(
            where, "open", lambda name, *a, o=own, **k: opened.append(str(name)) or o(name, *a, **k)
        )
    with pytest.raises(ct.FormatError, match=message.strip()) as caught:
        read_mesh(file)
    monkeypatch.undo()
    assert name in str(caught.value)
    assert not [one for one in opened if "secret" in one or "localhost" in one]


def test_a_buffer_beside_the_file_is_read_and_a_link_out_of_the_folder_is_not(write):
    header, buffer = gltf_parts(CUBE, THREES)
    header["buffers"][0]["uri"] = "parts/cube%20one.bin"
    file = write("m.gltf", json.dumps(header))
    (file.parent / "parts").mkdir()
    beside = file.parent / "parts" / "cube one.bin"
    beside.write_bytes(buffer)
    assert len(read_mesh(file).joined().triangles) == 12
    outside = file.parent.parent / "elsewhere.bin"
    outside.write_bytes(buffer)
    beside.unlink()
    os.symlink(outside, beside)
    with pytest.raises(ct.FormatError, match="lies outside of the folder"):
        read_mesh(file)


def test_without_trimesh_stl_is_read_and_the_rest_says_what_to_install(write, monkeypatch):
    for name in ("trimesh", "collada"):
        monkeypatch.setitem(sys.modules, name, None)
    assert len(read_mesh(write("m.stl", stl(CUBE, THREES))).joined().triangles) == 12
    for name in ("m.obj", "m.dae", "m.glb"):
        with pytest.raises(ct.FormatError, match=r'pip install "catena-dynamics\[mesh\]"'):
            read_mesh(write(name, FORMATS[name](CUBE, THREES)))
