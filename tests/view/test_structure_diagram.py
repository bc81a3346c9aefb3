"""The structure diagram shows every body and joint once, the tree and the loops apart."""

import pytest

import catena as ct
from catena.mechanism import generators
from catena.view import structure_diagram
from catena.view.structure_diagram import graph_edges, tree_layout


def drawn(ax, what):
    """The gids of one sort without their prefix, with the artists."""
    sort = f"{what}:"
    return {
        artist.get_gid().removeprefix(sort): artist
        for artist in ax.get_children()
        if (artist.get_gid() or "").startswith(sort)
    }


MECHANISMS = [
    generators.free_flyer(),
    generators.stewart(),
    generators.four_bar(),
    generators.arms_on_object(3),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=[m.name for m in MECHANISMS])
def test_boxes_are_bodies_and_lines_are_joints(mechanism):
    s = mechanism.system()
    ax = structure_diagram(s)
    assert set(drawn(ax, "body")) == set(mechanism.bodies)
    assert set(drawn(ax, "loop")) == set(s.loops)
    assert set(drawn(ax, "tree")) == set(mechanism.joints) - set(s.loops)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=[m.name for m in MECHANISMS])
def test_boxes_do_not_cover_each_other_and_stay_inside(mechanism):
    ax = structure_diagram(mechanism.system())
    ax.figure.canvas.draw()
    boxes = [artist.get_bbox_patch().get_window_extent() for artist in drawn(ax, "body").values()]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])
    page = ax.figure.bbox
    assert all(page.x0 <= b.x0 and b.x1 <= page.x1 and page.y0 <= b.y0 and b.y1 <= page.y1 for b in boxes)


def test_lines_carry_the_kind_and_loops_their_constraints():
    s = generators.stewart().system()
    kinds = {name: artist.get_text() for name, artist in drawn(structure_diagram(s), "kind").items()}
    assert kinds["base1"] == "U" and kinds["leg1"] == "P"
    assert sorted({kinds[f"ball{k}"] for k in range(1, 7)}) == ["S", "S −3"]
    assert [name for name, text in kinds.items() if "−" in text] == list(s.loops)


def test_the_legend_explains_the_letters_that_occur():
    (legend,) = [
        a for a in structure_diagram(generators.stewart().system()).get_children() if a.get_gid() == "legend"
    ]
    text = legend.get_text()
    assert all(word in text for word in ("U  universal", "P  prismatic", "S  spherical", "closes a loop"))
    assert "revolute" not in text


def test_joint_names_are_shown_on_request():
    kinds = drawn(structure_diagram(generators.four_bar().system(), joint_names=True), "kind")
    assert kinds["A"].get_text() == "A\nR" and kinds["C"].get_text() == "C\nR −5"


def test_a_body_stands_right_of_what_carries_it():
    s = generators.free_flyer().system()
    edges = graph_edges(s)
    place = tree_layout([e for e in edges if not e.is_loop], list(s.mechanism.bodies))
    assert place["ground"][0] == 0
    assert all(place[edge.far][0] == place[edge.near][0] + 1 for edge in edges)
    assert len(set(place.values())) == len(place)


def test_a_pinned_root_shows_its_virtual_joint_and_what_it_leaves_out():
    s = generators.arm6().system(root="link6")
    ax = structure_diagram(s)
    assert "root:link6" in drawn(ax, "tree")
    assert set(drawn(ax, "loop")) == {"joint1"}


def test_locked_sdof_and_user_kinds_have_words():
    m = ct.Mechanism("mixed")
    for k, kind in enumerate((ct.Sdof("ry", "rz", "dx"), ct.Revolute("z"), OwnKind()), 1):
        m.add_body(f"b{k}", 1.0, (0, 0, 0.1), 0.01)
        m.add_joint(f"j{k}", "ground", f"b{k}", kind)
    kinds = drawn(structure_diagram(m.lock("j2").system()), "kind")
    assert [kinds[f"j{k}"].get_text() for k in (1, 2, 3)] == ["RRP", "locked", "OwnKind"]


class OwnKind(ct.JointKind):
    """A kind that Catena has never seen."""

    nq = 1
    nv = 1

    def transform(self, q):
        return ct.Revolute("z").transform(q)


def test_a_long_chain_is_laid_out_without_recursion():
    s = generators.chain(1500).system()
    place = tree_layout(graph_edges(s), list(s.mechanism.bodies))
    assert place["link1500"] == (1500.0, 0.0)
