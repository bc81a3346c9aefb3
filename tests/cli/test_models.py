"""What MODEL may be, and what is said when it is something else."""

import sys
from importlib import import_module

import pytest

from catena.cli.console import UsageError
from catena.cli.models import gallery_about, gallery_names, gallery_signature, resolve
from catena.errors import FormatError
from catena.joints import Prismatic
from catena.mechanism import Mechanism, generators


@pytest.mark.parametrize("name", gallery_names())
def test_every_name_of_the_gallery_makes_a_mechanism_and_has_a_sentence(name):
    mechanism = resolve(name)
    assert isinstance(mechanism, Mechanism)
    assert len(mechanism.joints) > 0
    assert gallery_signature(name).startswith(name)
    assert 10 < len(gallery_about(name)) < 250
    assert "=" in gallery_signature(name) or "(" not in gallery_signature(name)


def test_the_gallery_leaves_out_generators_of_other_things():
    assert set(generators.__all__) - set(gallery_names()) == {"add_arm", "random_kind"}


def test_arguments_reach_the_generator():
    assert len(resolve("n_four_bars(5)").joints) == 16
    assert len(resolve("chain(n=3, axes='y')").joints) == 3


def test_a_model_file_is_loaded(tmp_path, monkeypatch):
    generators.four_bar().save(tmp_path / "bars.toml")
    assert resolve(str(tmp_path / "bars.toml")).name == "four-bar"
    monkeypatch.chdir(tmp_path)
    assert resolve("bars.toml").name == "four-bar"
    with pytest.raises(FormatError, match=r"bar\.toml: there is no such file: did you mean 'bars\.toml'"):
        resolve("bar.toml")


def test_a_function_of_a_python_file_is_called(pendulum):
    assert len(resolve(f"{pendulum}:make").joints) == 1
    assert len(resolve(f"{pendulum}:make(0.5, pins=3)").joints) == 3


def test_the_mechanism_of_a_function_is_not_shared(tmp_path):
    file = tmp_path / "shared.py"
    file.write_text("import catena as ct\nM = ct.generators.four_bar()\ndef make():\n    return M\n")
    mechanism = resolve(f"{file}:make")
    mechanism.gravity = (0.0, 0.0, 0.0)
    # The file is executed anew, so the mechanism to compare with is the one the module still holds.
    import sys

    assert sys.modules["catena_user_shared"].M.gravity[2] == -9.81


def test_a_file_may_import_what_lies_beside_it(tmp_path):
    (tmp_path / "lengths_beside.py").write_text("LENGTH = 0.25\n")
    file = tmp_path / "uses_beside.py"
    file.write_text(
        "from dataclasses import dataclass\nimport catena as ct\nfrom lengths_beside import LENGTH\n"
        "@dataclass\nclass Rod:\n    length: float\n"
        "def make():\n    return ct.generators.chain(1, length=Rod(LENGTH).length)\n"
    )
    assert resolve(f"{file}:make").frames["tip"].pose.p[0] == 0.25


def test_a_model_file_may_use_joint_kinds_that_lie_beside_it_and_are_allowed(tmp_path):
    (tmp_path / "kinds_beside.py").write_text(
        "from dataclasses import dataclass\nfrom catena.joints import Prismatic\n"
        "@dataclass(frozen=True)\nclass Rail(Prismatic):\n    pass\n"
    )
    m = Mechanism("cart")
    m.add_body("cart", mass=1.0)
    m.add_joint("rail", "ground", "cart", Prismatic("x"))
    m.save(tmp_path / "cart.toml")
    text = (tmp_path / "cart.toml").read_text().replace('"prismatic"', '"kinds_beside:Rail"')
    (tmp_path / "cart.toml").write_text(text.replace('axis = "x"', 'arguments = { axis = "x" }'))
    with pytest.raises(FormatError, match="nothing is imported"):
        resolve(str(tmp_path / "cart.toml"))
    mechanism = resolve(str(tmp_path / "cart.toml"), kinds=["kinds_beside:Rail"])
    assert type(mechanism.joints["rail"].kind).__name__ == "Rail"


def test_a_folder_with_an_allowed_kind_is_looked_at_last_and_only_for_it(tmp_path, monkeypatch):
    """A stranger's folder holds modules that are called as others are, and one that is asked for much later."""
    ran = "from pathlib import Path\nPath(__file__).with_suffix('.ran').write_text('')\n"
    # The first is in the library of Python and imported by nothing so far, the second is missing on most computers.
    for name in ("this", "asked_for_later"):
        (tmp_path / f"{name}.py").write_text(ran)
    (tmp_path / "helping_kinds.py").write_text("from catena.joints import Prismatic\n")
    (tmp_path / "wanted_kinds.py").write_text("import this\nfrom helping_kinds import Prismatic as Rail\n")
    (tmp_path / "m.toml").write_text(
        '[mechanism]\nname = "m"\n[[body]]\nname = "b"\nmass = 1.0\n[[joint]]\nname = "x"\n'
        'kind = "wanted_kinds:Rail"\narguments = { axis = "x" }\nparent = "ground"\nchild = "b"\n'
    )
    before = list(sys.path)
    monkeypatch.delitem(sys.modules, "this", raising=False)
    mechanism = resolve(str(tmp_path / "m.toml"), kinds=["wanted_kinds:Rail"])
    assert type(mechanism.joints["x"].kind) is Prismatic
    assert sys.path == before
    with pytest.raises(ModuleNotFoundError):
        import_module("asked_for_later")
    assert not list(tmp_path.glob("*.ran"))
    with pytest.raises(FormatError, match="module 'not_there_kinds' cannot be imported"):
        resolve(str(tmp_path / "m.toml"), kinds=["not_there_kinds:Rail"])
    assert sys.path == before


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("mke", "did you mean 'make'"),
        ("broken", "pendulum.py:19: ZeroDivisionError"),
        ("number", "it must return a catena.Mechanism"),
        ("make(1, 2, 3)", "too many positional arguments"),
        ("make(size=3)", "unexpected keyword argument 'size'"),
        ("torque", "missing a required argument: 't'"),
        ("make(length='long')", "pendulum.py:10: TypeError"),
    ],
)
def test_a_function_that_makes_no_mechanism_is_explained(pendulum, function, words):
    with pytest.raises(UsageError) as caught:
        resolve(f"{pendulum}:{function}")
    assert words in str(caught.value)
    assert str(pendulum) in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import catena\ndef make(:\n", "bad.py:2: SyntaxError"),
        ("import not_there\n", "bad.py:1: ModuleNotFoundError"),
        ("x = 1\nraise SystemExit(7)\n", "bad.py:2: SystemExit: 7"),
    ],
)
def test_a_file_that_does_not_run_is_explained_with_its_line(tmp_path, text, words):
    file = tmp_path / "bad.py"
    file.write_text(text)
    with pytest.raises(UsageError) as caught:
        resolve(f"{file}:make")
    assert words in str(caught.value)


def test_a_python_file_without_function_and_a_missing_one_are_explained(tmp_path):
    with pytest.raises(UsageError, match=r"which function of the file\? Write .*arm\.py:function"):
        resolve(str(tmp_path / "arm.py"))
    with pytest.raises(UsageError, match="there is no such file"):
        resolve(str(tmp_path / "arm.py") + ":make")


def test_the_drive_letter_of_a_windows_path_is_no_function():
    with pytest.raises(UsageError, match=r"C:\\robots\\arm\.py: there is no such file"):
        resolve(r"C:\robots\arm.py:make")


def test_unknown_names_get_suggestions_from_the_gallery_and_the_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stewrt.toml").write_text("")
    with pytest.raises(
        UsageError, match=r"did you mean 'stewart' or 'stewrt.toml'\?.*The gallery has andrews, arm6"
    ):
        resolve("stewartt")
    with pytest.raises(UsageError, match="n_four_bars.*missing a required argument: 'n'"):
        resolve("n_four_bars()")
    with pytest.raises(UsageError, match="walker: it should stand on 9 feet"):
        resolve("walker(9)")
