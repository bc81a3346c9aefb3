"""Counts against what the papers print, against each other, and against the documentation."""

import re
from pathlib import Path

import numpy as np
import pytest

import catena as ct
from catena.equations import graph_of
from catena.equations.counting import OperationCount, count_operations
from catena.equations.papers import counts as papers
from catena.equations.papers.chains import closed_chains, denavit_hartenberg_chain
from catena.equations.papers.counts import fit
from catena.equations.papers.scalars import Data, dot, minus, plus, scaled, solve_ldl, times
from catena.equations.papers.two_screws import two_screws
from catena.equations.parameters import plan_in_numbers
from catena.equations.unrolling import new_symbols
from catena.mechanism.generators import arm7, four_bar
from catena.spatial import Force, Transform
from catena.spatial.scalars import array

DOCS = Path(__file__).resolve().parents[2] / "docs" / "theory" / "counts.md"


def counted(inputs, outputs):
    """The operations of a small program on symbols, as written."""
    return count_operations(graph_of("piece", inputs, outputs, literal=True).op)


def matrix(name, rows, columns):
    """A matrix of symbols, and the same as a flat input."""
    flat = new_symbols(name, rows * columns)
    return flat, flat.reshape(rows, columns)


def test_operations_are_sorted_and_shared():
    x = new_symbols("x", 3)
    a, b, c = x
    y = array([a * b + c, b * a - c, (a + b) / c, (a * a) / c, -(a * b), 2.0 * a, 0.0 * a + 1.0 * b])
    found = count_operations(graph_of("y", {"x": x}, {"y": y}).op)
    # a b and 1 / c are there once, a sign is free, twice a is an addition.
    assert found == OperationCount(multiplications=4, additions=4, divisions=1)
    assert found.M == 5 and found.A == 4 and found.total == 9


def test_pieces_of_lilly_and_orins_tables():
    """The entries of tables 2 and 3 whose programs are determined by the paper, exactly as printed."""
    flat, R = matrix("R", 6, 6)
    P, a_0 = new_symbols("P", 6), new_symbols("a", 6)
    force = counted({"R": flat, "P": P, "a": a_0}, {"f": minus(P, times(R, a_0))})
    assert (force.M, force.A) == (36, 36)
    for N in (3, 6):
        flat, Omega = matrix("O", N, 6)
        q, f = new_symbols("q", N), new_symbols("f", 6)
        joints = counted({"O": flat, "q": q, "f": f}, {"q": minus(q, times(Omega, f))})
        assert (joints.M, joints.A) == (6 * N, 6 * N)
    for n_c in (1, 3, 6):
        one, X = matrix("X", 6, n_c)
        two, R = matrix("R", n_c, 6)
        product = counted({"X": one, "R": two}, {"XR": times(X, R)})
        found = product.M, product.A
        assert found == (36 * n_c, 36 * (n_c - 1))
    # A screw transform of a force: turn about z, and a displacement along it.
    f, s = new_symbols("f", 6), new_symbols("s", 3)
    c, n, d = s
    turn = Transform(array([[c, n, 0.0], [-n, c, 0.0], [0.0, 0.0, 1.0]]), array([0.0, 0.0, d]))
    screw = counted({"f": f, "s": s}, {"f": turn.pull(Force(f)).array})
    assert (screw.M, screw.A) == (10, 6)
    # a_0: m symmetric matrices and vectors added to the reference member's own, its gravity, and a 6 x 6 solve.
    for m in (1, 3):
        terms = [new_symbols(f"t{k}", 27) for k in range(m + 1)]
        gravity = new_symbols("g", 6)
        total = plus(*terms)
        M = np.zeros((6, 6), dtype=object)
        for (i, j), entry in zip(zip(*np.triu_indices(6), strict=True), total[:21], strict=True):
            M[i, j] = M[j, i] = entry
        inputs = {**{f"t{k}": t for k, t in enumerate(terms)}, "g": gravity}
        solved = counted(inputs, {"a": solve_ldl(M, plus(total[21:], gravity))})
        found = solved.M, solved.A
        assert found == (86, 27 * m + 71)


def test_chains_cost_what_the_papers_cost():
    """Links with Denavit and Hartenberg's parameters: articulated bodies against Lilly and Orin's open chain and
    against Rodriguez and Jain, exactly linear in N, and the factorised form cubic."""
    open_chain = papers.fit_chain("articulated bodies")
    assert open_chain.M.degree("N") == open_chain.A.degree("N") == 1
    printed = papers.LILLY_ORIN_OPEN
    for N in (6, 12):
        ours = float(open_chain.M(N)), float(open_chain.A(N))
        assert ours[0] == pytest.approx(printed.multiplications(N), rel=0.1)
        assert ours[1] == pytest.approx(printed.additions(N), rel=0.1)
        assert sum(ours) == pytest.approx(477 * N - 503, rel=0.1)
    solved = papers.fit_chain("composite bodies, solved")
    assert solved.M.degree("N") == solved.A.degree("N") == 3
    # The factor alone has N^3 / 6 products and as many additions.
    assert solved.M.terms[3,] == solved.A.terms[3,] == pytest.approx(1 / 6)
    matrix_alone = papers.fit_chain("composite bodies")
    assert matrix_alone.M.degree("N") == 2


def test_two_screws_cost_what_the_paper_counts(agree):
    """The same accelerations, transformed as the papers do it: 250 M and 220 A for a joint are printed."""
    system = denavit_hartenberg_chain(4).system()
    q, v, tau = np.random.default_rng(0).normal(size=(3, 4))
    graph = two_screws(plan_in_numbers(system.plan))
    agree(graph.evaluate({"q": q, "qd": v, "tau": tau})["qdd"][0], system.forward_dynamics(q, v, tau), 1e-12)
    found, in_one_go = (papers.fit_chain(f"articulated bodies{how}") for how in (" by two screws", ""))
    assert found.M.degree("N") == found.A.degree("N") == 1
    assert abs(found.M.terms[1,] - 250) <= 1 and abs(found.A.terms[1,] - 220) <= 8
    assert float(in_one_go.M.terms[1,] - found.M.terms[1,]) > 20
    tip = count_operations(two_screws(plan_in_numbers(system.plan), tip=True).op)
    alone = count_operations(graph.op)
    assert (tip.M - alone.M, tip.A - alone.A) == (2, 2)


def test_operational_space_costs_about_what_the_paper_says():
    found = papers.fit_chain("operational space")
    printed = papers.LILLY_ORIN_OPERATIONAL
    assert float(found.M(6)) == pytest.approx(printed.multiplications(6), rel=0.08)
    assert float(found.A(6)) == pytest.approx(printed.additions(6), rel=0.15)


def test_open_chains_cost_less_than_the_two_lines_of_the_paper():
    """Table 2 has Omega besides, for which Catena takes the forces through its sweeps again."""
    found = papers.fit_chain("open chains")
    M, A = (
        sum(getattr(p, kind)(6) for p in (papers.LILLY_ORIN_OPEN, papers.LILLY_ORIN_OPERATIONAL))
        for kind in ("multiplications", "additions")
    )
    assert 0.85 * M < float(found.M(6)) < M and 0.85 * A < float(found.A(6)) < A
    assert found.M.degree("N") == found.A.degree("N") == 1


@pytest.mark.slow
def test_closed_chains_are_linear_in_chains_and_joints():
    found = papers.fit_closed_chains()
    assert found.M.degree("m") == found.M.degree("N") == 1
    M, A = papers.lilly_orin_mechanism(3, 6, 3)
    assert (M, A) == (10292, 8468)
    assert float(found.M(3, 6)) == pytest.approx(M, rel=0.05)
    assert float(found.A(3, 6)) == pytest.approx(A, rel=0.12)


def test_printed_totals_of_lilly_and_orin():
    assert papers.lilly_orin_chain(6, 3) == (3402, 2772)
    assert [papers.lilly_orin_chain(6, n)[0] for n in range(1, 7)] == [3263, 3325, 3402, 3495, 3605, 3733]


def test_bodies_and_steps_add_up_to_all():
    for system, name in ((arm7().system(), "inverse_dynamics"), (four_bar().system(), "forward_dynamics")):
        found = system.equations(name).count()
        for parts, whole in (
            (found.general_by_body, found.general),
            (found.folded_by_body, found.folded),
            (found.folded_by_step, found.folded),
        ):
            total = OperationCount()
            for count in parts.values():
                total = total + count
            assert total == whole
        assert found.folded.total < found.general.total
        assert str(found).splitlines()[0].startswith(f"{name} of")


def test_the_general_code_costs_the_same_for_every_revolute_joint():
    """What folding saves depends on the numbers of the links; what the general code does depends on the kind alone."""
    counts = arm7().system().equations("inverse_dynamics").count()
    inner = [counts.general_by_body[f"link{k}"] for k in range(2, 7)]
    assert len(set(inner)) == 1
    assert len({counts.folded_by_body[f"link{k}"] for k in range(2, 7)}) > 1


def test_fitting_finds_polynomials_and_refuses_others():
    found = fit({(n, m): 3 * n * m - 2 * n + 7 for n in (1, 2, 3) for m in (2, 3)}, ("n", "m"))
    assert str(found) == "3 n m - 2 n + 7" and found(10, 10) == 287
    assert str(fit({(n,): n**3 // 6 * 6 for n in (6, 12, 18, 24, 30)}, ("N",))) == "N^3"
    with pytest.raises(ct.EquationsError, match="no polynomial"):
        fit({(n,): 2**n for n in range(8)}, ("N",))
    bent = {(n,): 5 * n + (1 if n == 3 else 0) for n in range(1, 7)}
    with pytest.raises(ct.EquationsError):
        fit(bent, ("N",), most=1)
    assert str(fit(bent, ("N",), slack=1)) == "5 N"


@pytest.mark.slow
def test_the_table_in_the_documentation_is_what_is_counted():
    """Every polynomial that the page gives for Catena."""
    text = DOCS.read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| Catena, ([^|]+?) \| ([^|]+?) \|", text, re.MULTILINE))
    additions = dict(re.findall(r"^\| Catena, ([^|]+?) \| [^|]+ \| ([^|]+?) \|", text, re.MULTILINE))
    lengths = {"composite bodies, solved": (4, 5, 6, 7, 8, 9)}
    for name in (
        "articulated bodies", "articulated bodies by two screws", "operational space", "composite bodies, solved",
        "open chains: accelerations and Lambda^-1",
    ):  # fmt: skip
        found = papers.fit_chain(name.split(":")[0], *([lengths[name]] if name in lengths else []))
        assert (rows[name], additions[name]) == (str(found.M), str(found.A))
    found = papers.fit_closed_chains()
    assert (rows["elimination"], additions["elimination"]) == (str(found.M), str(found.A))


def test_families_have_the_structure_of_the_papers():
    assert denavit_hartenberg_chain(4).system().nv == 4
    system = closed_chains(3, 6).system()
    assert sum(loop.constraints for loop in system.plan.loop_joints) == 6 and system.nv == 3 * 6 + 3
    data = Data()
    assert np.array_equal(data.of([1.0, 2.0]).shape, (2,)) and data.values == [1.0, 2.0]
    assert dot([2.0], [3.0]) == 6.0 and np.array_equal(scaled(np.ones(2), 2.0), [2.0, 2.0])
