"""Saving into a file that is there: what the file says is the mechanism, and what nobody changed stays as it was, with
comments, order and formulas."""

import numpy as np
import pytest

import catena as ct
from catena.formats.toml import blocks, write
from catena.mechanism.generators import random_mechanism


def commented(text, random):
    """A text with comments at chance: above tables, behind values, between lines."""
    found = []
    for k, line in enumerate(text.split("\n")):
        if line.startswith("[") and random.random() < 0.5:
            found.append(f"# above {k}")
        if " = " in line and not line.rstrip().endswith(("[", "(")) and random.random() < 0.3:
            line += f"   # behind {k}"
        found.append(line)
        if line == "" and random.random() < 0.3:
            found += [f"# alone {k}", ""]
    return "\n".join(found)


def shuffled(text, random):
    """The same tables in another order, those of one sort in theirs."""
    head, *tables = text.split("\n[")
    order = list(random.permutation(len(tables)))
    sorts = {}
    for k, table in enumerate(tables):
        sorts.setdefault(table.split("\n")[0], []).append(k)
    taken = {word: iter(ks) for word, ks in sorts.items()}
    return "\n[".join([head, *(tables[next(taken[tables[k].split("\n")[0]])] for k in order)])


def edited(m, random):
    """The mechanism with a few changes, and the names of parts that are not the same any more."""
    changed = set()
    for _ in range(int(random.integers(1, 4))):
        way = int(random.integers(5))
        bodies = [name for name, body in m.bodies.items() if name != "ground"]
        joint = str(random.choice(list(m.joints)))
        body = str(random.choice(bodies))
        if way == 0:
            m = m.with_body(body, mass=float(random.uniform(5, 9)))
            changed.add(body)
        elif way == 1 and m.joints[joint].kind.nv:
            m = m.with_joint(joint, damping=float(random.uniform(1, 2)))
            changed.add(joint)
        elif way == 2:
            m = m.with_joint(joint, in_child=ct.Pose(p=random.normal(size=3)))
            changed.add(joint)
        elif way == 3:
            name = f"new {len(m.bodies)}"
            m = m.copy()
            m.add_body(name, mass=1.0)
            m.add_joint(name, body, name, ct.Revolute("x"))
            changed.add(name)
        else:
            m = m.detach(joint)
            changed.add(joint)
            if not m.joints:
                m.add_joint("last", "ground", bodies[0], ct.Free())
    return m, changed


@pytest.mark.filterwarnings("ignore:.*no joint connects it")
@pytest.mark.parametrize("seed", range(30))
def test_random_edits_keep_comments_and_order(seed, tmp_path):
    random = np.random.default_rng(seed)
    m = random_mechanism(seed)
    text = commented(shuffled(write(m, "m.toml"), random), random)
    file = tmp_path / "m.toml"
    file.write_text(text)
    # The mechanism that was loaded, or one that was made again in Python and is written over the file.
    start = ct.load(file) if seed % 2 else m
    changed, parts = edited(start, random)
    changed.save(file)
    after = file.read_text()
    assert blocks(ct.load(file), "") == blocks(changed, "")
    # Every line that a table without changes has is there still, and in the same order.
    kept = [
        line
        for table in text.split("\n\n")
        for line in table.split("\n")
        if not any(f'"{name}"' in table for name in parts)
    ]
    found = iter(after.split("\n"))
    assert all(any(line == one for one in found) for line in kept)
    changed.save(file)
    assert file.read_text() == after


TEXT = """# Three legs, written once.
[mechanism]
name = "stool"

[parameters]
height = 0.5       # of the seat

[[body]]
name = "seat"      # round
density = 700.0
visual = [
    # the plate
    { shape = "cylinder", radius = "height / 3", length = 0.03 },
]

[[joint]]
name = "base"
kind = "free"
parent = "ground"
child = "seat"

[[repeat]]
count = 3
[[repeat.body]]
name = "leg {k}"
mass = 1.0
inertia = 0.1
[[repeat.joint]]
name = "hinge {k}"
kind = "revolute"
parent = "seat"
child = "leg {k}"
in_parent = { p = ["0.1 * cos({k} * 120 deg)", "0.1 * sin({k} * 120 deg)", "-height / 2"] }

[initial.q]
"hinge 1" = "5 deg"   # a little
"""


def saved(m, folder):
    m.save(folder / "out.toml")
    text = (folder / "out.toml").read_text()
    assert blocks(ct.load(folder / "out.toml"), "") == blocks(m, "")
    (folder / "out.toml").unlink()
    return text


def test_what_stands_for_several_parts_stays_until_one_of_them_changes(tmp_path):
    file = tmp_path / "stool.toml"
    file.write_text(TEXT)
    m = ct.load(file)
    assert saved(m, tmp_path) == TEXT
    other = m.copy()
    other.set_initial(q={"hinge 1": 0.2, "hinge 2": 0.1})
    assert saved(other, tmp_path) == TEXT.replace('"5 deg"   # a little', '0.2   # a little\n"hinge 2" = 0.1')
    other.set_initial()
    assert "[initial.q]" not in saved(other, tmp_path)
    changed = saved(m.with_body("leg 1", mass=2.0), tmp_path)
    assert "[[repeat" not in changed and changed.count("[[body]]") == 4 and "# of the seat" in changed
    # A mass in the place of a density takes the place of it, below the same comment.
    heavier = saved(m.with_body("seat", mass=9.0), tmp_path)
    assert "density" not in heavier and "mass = 9.0" in heavier and "[[repeat]]" in heavier
    assert saved(m.copy("bench"), tmp_path) == TEXT.replace('"stool"', '"bench"')


def test_another_mechanism_is_not_mixed_with_the_file_that_is_there(tmp_path):
    file = tmp_path / "m.toml"
    file.write_text(TEXT)
    bars = ct.generators.four_bar()
    bars.save(file)
    assert file.read_text() == write(bars, "m.toml")
    for text in ("not toml", "[mechanism]\nname = 3\n", "x = [" * 200, "\x00", ""):
        file.write_text(text)
        bars.save(file)
        assert file.read_text() == write(bars, "m.toml")


def test_included_files_stay_included_in_their_folder(tmp_path):
    ct.generators.four_bar().save(tmp_path / "bars.toml")
    text = '[mechanism]\nname = "two"   # of them\n\n[[include]]\nfile = "bars.toml"\nprefix = "left "\n'
    text += '\n[[include]]\nfile = "bars.toml"\nprefix = "right "\nat = { p = [2, 0, 0] }\n'
    (tmp_path / "two.toml").write_text(text)
    m = ct.load(tmp_path / "two.toml")
    assert saved(m, tmp_path) == text
    (tmp_path / "far").mkdir()
    far = saved(m, tmp_path / "far")
    assert "include" not in far and far.count("[[joint]]") == 8


def test_fault_in_the_middle_leaves_the_file_alone(tmp_path):
    class Own(ct.Revolute):
        pass

    file = tmp_path / "m.toml"
    file.write_text(TEXT)
    m = ct.load(file)
    with pytest.raises(ct.FormatError, match="cannot be imported by others"):
        m.with_joint("hinge 1", kind=Own("x")).save(file)
    assert file.read_text() == TEXT
