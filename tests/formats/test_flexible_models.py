"""Frames of beams and finite elements in native model files: written, read back, and faults in words."""

import numpy as np
import pytest
from scipy.sparse import save_npz

import catena as ct
from benchmarks.blocks import bar, stiffened_by_tension

FRAME = ct.BeamFrame(
    {"foot": (0, 0, 0), "knee": (0, 0, 1), "tip": (0.5, 0, 1)},
    [
        ct.Member("foot", "knee", 1e-4, 2e-9, 2700.0, 7e10, elements=3),
        ct.Member("knee", "tip", 1e-4, (2e-9, 1e-9), 2700.0, 7e10, shear=1e6, torsion=40.0, up=(0, 1, 0)),
    ],
    ["foot", "tip"],
    2,
    damping=0.01,
    masses={"knee": 0.2},
)


def blocks():
    M, K, nodes, root, tip = bar(3)
    stiffening = {"xx": stiffened_by_tension(3, (0.2, 0.1, 0.1), lambda x: 1.0 - x)}
    return ct.FiniteElements(M, K, nodes, {"root": root, "tip": tip}, 1, 0.02, stiffening)


def on_a_hub(body):
    m = ct.Mechanism("hub")
    m.add_body("body", flexible=body)
    m.add_joint("hub", "ground", "body", ct.Revolute("z"))
    return m


@pytest.mark.parametrize("body", [FRAME, blocks()], ids=["frame", "elements"])
def test_a_flexible_body_reads_back_from_its_file(body, tmp_path):
    m = on_a_hub(body)
    m.save(tmp_path / "model.toml")
    again = ct.load(tmp_path / "model.toml").bodies["body"].flexible
    assert type(again) is type(body)
    np.testing.assert_allclose(again.frequencies, body.frequencies, rtol=1e-9)
    np.testing.assert_allclose(again.damping, body.damping, rtol=1e-9)
    # Of modes that are equally fast any mixture will do, so compare a sum over them.
    sums = [
        np.einsum("n,naa->", b.points().s[:, 0], b.points().B[:, 0]) * b.points().mass for b in (again, body)
    ]
    assert sums[0] == pytest.approx(sums[1], rel=1e-6) and abs(sums[1]) > 1e-3
    assert again.rigid[0] == pytest.approx(body.rigid[0], rel=1e-12)
    if isinstance(body, ct.FiniteElements):
        assert (tmp_path / "model.elements1.stiffness.mtx").is_file()


def test_matrices_are_read_from_npz_files_by_paths_from_the_model(tmp_path):
    M, K, nodes, _, _ = bar(2)
    (tmp_path / "parts").mkdir()
    save_npz(tmp_path / "parts" / "m.npz", M)
    save_npz(tmp_path / "parts" / "k.npz", K)
    rows = ", ".join(str(row.tolist()) for row in nodes)
    text = f"""
        [mechanism]
        name = "bar"
        [[body]]
        name = "bar"
        [body.finite_elements]
        mass = "parts/m.npz"
        stiffness = "parts/k.npz"
        nodes = [{rows}]
        interfaces = {{ root = [0, 1, 2, 3], tip = [8, 9, 10, 11] }}
        modes = 2
    """
    (tmp_path / "bar.toml").write_text(text)
    assert ct.load(tmp_path / "bar.toml").bodies["bar"].flexible.modes == 8
    (tmp_path / "bar.toml").write_text(text.replace("m.npz", "gone.npz"))
    with pytest.raises(ct.FormatError, match=r"bar.toml:7.*'parts/gone.npz' is not there"):
        ct.load(tmp_path / "bar.toml")
    (tmp_path / "bar.toml").write_text(text.replace("parts/m.npz", "../m.npz"))
    with pytest.raises(ct.FormatError, match="leads out of the folder of the model"):
        ct.load(tmp_path / "bar.toml")
    (tmp_path / "parts" / "m.npz").write_text("nothing")
    (tmp_path / "bar.toml").write_text(text)
    with pytest.raises(ct.FormatError, match="the mass matrix cannot be read"):
        ct.load(tmp_path / "bar.toml")
