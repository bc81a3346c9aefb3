"""The lines of TOML values: every key of an intricate text is found on its own line."""

import re
import tomllib

from catena.formats.toml import write
from catena.formats.toml.lines import Lines
from catena.mechanism.generators import random_mechanism

TEXT = '''# first line is a comment with = and [brackets]
title = "a # b [c]"        # title
"quoted key" = 'C:\\path # not a comment'   # quoted key
dotted.inner.key = 3       # dotted.inner.key

[one]                      # one
text = """
[fake]
x = 1 \\""" "quotes" at the end"""""
after = 1                  # one.after
literal = \'\'\'
[[fake]]
\'\'\'
matrix = [                 # one.matrix
    [1, 2],                # one.matrix.0
    # [3, 4],
    [5, 6],                # one.matrix.1
]
inline = { a = 1, b = [1, # one.inline
    2], c = { d = 3 } }    # one.inline.c.d
when = 1979-05-27T07:32:00Z  # one.when

[[many]]                   # many.0
name = "first"             # many.0.name

[many.sub]                 # many.0.sub
x = inf                    # many.0.sub.x

  [[many]]                 # many.1
  name = "second"          # many.1.name
  [[many.deep]]            # many.1.deep.0
  [[many.deep]]            # many.1.deep.1
  y = -0.5e3               # many.1.deep.1.y

["odd.name".x]             # odd\\.name.x
"é\\u0041" = ""            # odd\\.name.x.éA
list = [ {n = 1},          # odd\\.name.x.list.0.n
         {n = 2} ]         # odd\\.name.x.list.1.n
'''


def path_of(note):
    parts = re.split(r"(?<!\\)\.", note)
    return tuple(int(p) if p.isdigit() else p.replace("\\.", ".") for p in parts)


def test_every_noted_path_is_on_the_line_of_its_note():
    tomllib.loads(TEXT)
    lines = Lines(TEXT)
    noted = {
        number: match.group(1)
        for number, line in enumerate(TEXT.splitlines(), 1)
        if number > 1 and (match := re.search(r"# ([\w.\\ ]+)$", line))
    }
    assert len(noted) == 24
    for number, note in noted.items():
        assert lines.of(path_of(note)) == number, note


def test_what_is_not_in_the_text_is_at_the_nearest_table_around_it():
    lines = Lines("\n[a]\nx = 1\n[[b]]\ny = 2\n")
    assert lines.of(("a", "missing")) == 2
    assert lines.of(("b", 0, "missing", 3)) == 4
    assert lines.of(("nothing",)) == 1
    assert lines.of(()) == 1


def test_all_keys_of_a_saved_model_are_found():
    text = write(random_mechanism(5, loops=2, friction=True), "m.toml")
    lines, rows = Lines(text), text.splitlines()
    content = tomllib.loads(text)
    for word in ("body", "joint", "frame"):
        for k, table in enumerate(content[word]):
            assert rows[lines.of((word, k)) - 1] == f"[[{word}]]"
            for key in table:
                assert rows[lines.of((word, k, key)) - 1].startswith(f"{key} = ")
