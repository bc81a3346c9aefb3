"""`catena check`, `catena convert`, `catena fmu` and `catena schema`."""

import json

import pytest

from catena import export_fmu, generators, load
from tests.formats.test_checks import joint, link, urdf


@pytest.fixture
def robot(tmp_path):
    (tmp_path / "r.urdf").write_text(urdf(link(xx=0.2002), joint()))
    return tmp_path / "r.urdf"


def test_check_tells_findings_and_the_exit_code_tells_errors(catena, robot, tmp_path):
    done = catena("check", robot)
    assert done.code == 0 and f"{robot}:3: warning: body 'a': the principal moments" in done.out
    assert "0 errors, 1 warning, 0 notes" in done.out
    (tmp_path / "bad.urdf").write_text("<robot")
    done = catena("check", tmp_path / "bad.urdf")
    assert done.code == 2 and "bad.urdf:1: error: this is not XML" in done.out
    (finding,) = json.loads(catena("check", robot, "--json").out)
    assert finding["severity"] == "warning" and finding["what"] == "inertia"


def test_check_repairs_into_another_file(catena, robot, tmp_path):
    before = robot.read_text()
    done = catena("check", robot, "--fix")
    assert done.code == 0 and f"1 repair, written to {tmp_path / 'r.fixed.urdf'}" in done.out
    assert robot.read_text() == before
    assert catena("check", tmp_path / "r.fixed.urdf").out.endswith("0 errors, 0 warnings, 0 notes\n")
    catena("check", robot, "--fix", tmp_path / "mended.toml")
    assert load(tmp_path / "mended.toml").bodies["a"].mass == 1.0


def test_convert_writes_another_format_and_tells_what_it_found(catena, robot, tmp_path):
    done = catena("convert", robot, tmp_path / "r.toml")
    assert done.code == 0 and "2 bodies, 2 joints" in done.out and "triangle inequality" in done.err
    generators.four_bar().save(tmp_path / "bars.toml")
    assert catena("convert", tmp_path / "bars.toml", tmp_path / "bars.urdf").code == 0
    assert len(load(tmp_path / "bars.urdf").system().loops) == 1
    done = catena("convert", robot, tmp_path / "r.usda")
    assert done.code == 2 and "only read" in done.err


def test_schema_is_printed(catena):
    assert json.loads(catena("schema").out)["title"] == "Catena model"


def test_a_command_shows_the_warnings_of_a_file_as_sentences(catena, tmp_path):
    robot = tmp_path / "r.urdf"
    robot.write_text(
        '<robot name="r"><link name="a"><visual><geometry><sphere radius="0"/></geometry></visual></link></robot>'
    )
    done = catena("info", robot)
    assert done.code == 0
    assert done.err.startswith(f"warning: {robot}:1: link 'a': visual: a sphere: radius is 0.0")
    assert "CatenaWarning" not in done.err and ".py:" not in done.err


def test_fmu_writes_what_python_writes(catena, tmp_path):
    words = (
        "--fmi",
        "3.0",
        "--q",
        "A=0.4",
        "--v",
        "A=2",
        "--input",
        "A.tau",
        "--output",
        "A.q",
        "coupler.position",
    )
    done = catena(
        "fmu", "four_bar", "crank.fmu", *words, "--parameter", "crank.mass", "--sources", "--time", "2"
    )
    assert (done.code, done.err) == (0, "") and "FMI 3.0, 6 states" in done.out
    s = generators.four_bar().system()
    q = s.assemble({"A": 0.4}, guess=s.assemble({}))
    export_fmu(
        s, tmp_path / "same.fmu", version="3.0", initial=q, velocity=s.velocity(q, {"A": 2.0}), inputs=["A.tau"],
        outputs=["A.q", "coupler.position"], parameters=["crank.mass"], duration=2.0, compiler=False,
    )  # fmt: skip
    assert (tmp_path / "crank.fmu").read_bytes() == (tmp_path / "same.fmu").read_bytes()
    refused = catena("fmu", "four_bar", "x.fmu", "--output", "A.angle", "--sources")
    assert refused.code != 0 and "has no output 'A.angle'" in refused.err
