"""Walks as data: the figures that the tool prints are those of what it saw."""

import ast

import catena as ct
from tools.walks import PACKAGE, main, walk_of


def test_a_walk_has_the_functions_that_its_files_define():
    walk = walk_of(lambda: ct.Pose(p=[1.0, 0.0, 0.0]) * ct.Pose())
    entered = {(inner.file, inner.name) for _, inner in walk.everything() if "<" not in inner.name}
    assert ("spatial/pose.py", "Pose.__mul__") in entered
    for file, name in entered:
        assert name.split(".")[-1] in {
            node.name
            for node in ast.walk(ast.parse((PACKAGE / file).read_text()))
            if isinstance(node, ast.FunctionDef)
        }


def test_size_counts_each_function_once_and_the_longest_nesting():
    walk = walk_of(lambda: None)
    assert walk.size() == (0, 0, 0)
    for _ in range(3):
        walk.enter("a.py", "f").enter("b.py", "g").enter("a.py", "f")
    assert walk.size() == (2, 2, 3)


def test_other_words_are_told_the_usage(capsys):
    assert main(["steps"]) == 2
    assert "tools/walks.py --tree" in capsys.readouterr().err
