"""Plots of runs: what they contain, read back from the figure."""

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure

import catena as ct
from catena.mechanism.generators import arm7, four_bar, humanoid, stewart
from catena.simulation import EventHit, Trajectory
from catena.view.plots import plot
from catena.view.plots.drawing import COLOURS, flat_axes


@pytest.fixture(scope="module")
def bars():
    system = four_bar().system()
    q = system.neutral()
    tau = np.zeros(system.nv)
    tau[system.slice_v("A")] = 1.0
    v = system.velocity(q, {"A": 2.0})
    return ct.simulate(system, q, v, 0.5, control=lambda t, q, v: tau, samples=21)


@pytest.fixture(scope="module")
def falling():
    system = humanoid().system()
    v = np.random.default_rng(0).normal(size=system.nv)
    return ct.simulate(system, system.neutral(), v, 0.2, samples=11)


def titles(figure):
    return [ax.get_title(loc="left") for ax in figure.axes]


def curves(ax):
    """The drawn lines by name."""
    return {
        line.get_gid().removeprefix("curve:"): line
        for line in ax.lines
        if (line.get_gid() or "").startswith("curve:")
    }


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_the_default_shows_motion_forces_energy_and_loops(bars):
    figure = plot(bars)
    assert isinstance(figure, Figure)
    assert [t.split(":")[0] for t in titles(figure)] == [
        "Angles", "Angular velocities", "Control moments", "Energy (potential since the start)", "Energy balance",
        "Loop closure error",
    ]  # fmt: skip
    assert figure.axes[0].get_ylabel() == "[rad]"
    assert figure.axes[5].get_yscale() == "log"
    assert pyplot.get_fignums() == []


def test_curves_are_the_numbers_of_the_run(bars):
    ax = plot(bars, "velocities").axes[0]
    for joint in bars.system.joints:
        np.testing.assert_array_equal(curves(ax)[joint].get_ydata(), bars.velocity(joint)[:, 0])
    assert legend(ax) == list(bars.system.joints)


def test_angles_and_displacements_do_not_share_an_axis():
    system = stewart().system()
    run = Trajectory.of(
        system, np.zeros(1), system.neutral()[None], np.zeros((1, system.nv)), np.zeros((1, system.nv)), 0
    )
    figure = plot(run, "positions")
    assert [ax.get_ylabel() for ax in figure.axes] == ["[rad]", "[m]", "[1]"]
    assert legend(figure.axes[1]) == [f"leg{k}" for k in range(1, 7)]


def test_of_many_curves_those_that_vary_most_stand_out(falling):
    ax = next(ax for ax in plot(falling, "velocities").axes if ax.get_ylabel() == "[rad/s]")
    drawn = curves(ax)
    assert len(drawn) == falling.system.nv - 3
    bright = {name for name, line in drawn.items() if line.get_color() in COLOURS}
    spread = {name: np.ptp(line.get_ydata()) for name, line in drawn.items()}
    assert bright == set(sorted(spread, key=spread.__getitem__)[-len(COLOURS) :])
    assert legend(ax)[-1] == f"{len(drawn) - len(COLOURS)} others"


@pytest.mark.parametrize(("states", "lines", "bands"), [(3, 3, 0), (40, 1, 1)])
def test_batches_are_lines_or_bands(states, lines, bands):
    system = arm7().system()
    v = np.random.default_rng(0).normal(size=(states, 1, 7))
    run = Trajectory.of(system, np.linspace(0, 1, 4), v * np.linspace(0, 1, 4)[:, None], v + np.zeros((4, 1)),
                     np.zeros((states, 4, 7)), 0)  # fmt: skip
    figure = plot(run, "joint2")
    ax = figure.axes[0]
    assert sum(line.get_gid() == "curve:joint2" for line in ax.lines) == lines
    assert sum(part.get_gid() == "band:joint2" for part in ax.collections) == bands
    assert f"{states} motions" in figure.get_suptitle()
    if bands:
        np.testing.assert_allclose(curves(ax)["joint2"].get_ydata(), np.median(run["joint2"][..., 0], axis=0))


def test_joints_lists_of_joints_and_frames_can_be_asked_for(bars, falling):
    loop = bars.system.loops[0]
    figure = plot(bars, ["A", loop])
    assert list(curves(figure.axes[0])) == ["A", loop]
    np.testing.assert_array_equal(curves(figure.axes[0])[loop].get_ydata(), bars[loop][:, 0])
    assert titles(figure) == ["Angles", "Angular velocities", "Control moments"]
    path, position = plot(bars, "coupler").axes
    way = next(line for line in path.lines if line.get_gid() == "path")
    np.testing.assert_allclose(way.get_ydata(), bars.position("coupler")[:, 2])
    assert (path.get_xlabel(), path.get_ylabel()) == ("x [m]", "z [m]")
    assert list(curves(position)) == ["x", "y", "z"]
    assert plot(falling, "right_hand").axes[0].name == "3d"


@pytest.mark.parametrize("name", ["power", "momentum", "reactions", "closure", "forces", "energy"])
def test_named_plots_work_with_loops_and_without(bars, falling, name):
    for run in (bars, falling):
        assert plot(run, name).axes


def test_reactions_are_magnitudes(bars):
    ax = plot(bars, "reactions").axes[0]
    np.testing.assert_allclose(curves(ax)["B"].get_ydata(), np.linalg.norm(bars.reaction("B")[:, 3:], axis=1))


def test_unknown_names_get_a_suggestion(bars):
    with pytest.raises(ct.UnknownNameError, match="did you mean 'positions'"):
        plot(bars, "position")
    with pytest.raises(ct.UnknownNameError, match="no joint is named 'Q'"):
        plot(bars, ["A", "Q"])


def test_events_are_marked_and_named_once(bars):
    run = bars.with_(events=(EventHit("top", 0.2, bars.q[0], bars.v[0]),))
    figure = plot(run, "positions", "velocities")
    for ax in figure.axes:
        assert [line.get_xdata()[0] for line in ax.lines if line.get_gid() == "event:top"] == [0.2]
    assert [text.get_text() for ax in figure.axes for text in ax.texts] == ["top"]


def test_small_numbers_are_counted_in_powers_of_ten():
    m = ct.Mechanism("slow", gravity=(0, 0, 0))
    m.add_body("mass", mass=1.0)
    m.add_joint("x", "ground", "mass", ct.Prismatic("x"))
    t = np.linspace(0.0, 1.0, 5)
    run = Trajectory.of(m.system(), t, 2e-8 * t[:, None], np.full((5, 1), 2e-8), np.zeros((5, 1)), 0)
    assert plot(run, "positions").axes[0].get_ylabel() == "[$10^{-9}$ m]"


def test_legends_do_not_cover_data(bars):
    figure = plot(bars)
    figure.draw_without_rendering()
    for ax in figure.axes:
        if ax.get_legend():
            assert ax.get_legend().get_window_extent().x0 >= ax.get_window_extent().x1


def test_figures_go_to_files_and_bad_endings_are_refused(bars, tmp_path):
    plot(bars, "A", path=tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ct.FormatError, match=r"a\.xyz: 'xyz' is no format for pictures"):
        plot(bars, "A", path=tmp_path / "a.xyz")
    assert [file.name for file in tmp_path.iterdir()] == ["a.png"]


def test_a_way_in_a_plane_is_seen_face_on():
    t = np.linspace(0.0, 1.0, 9)
    circle = np.stack([np.cos(t), 0.3 + 0 * t, np.sin(t)], axis=-1)
    assert flat_axes(circle) == (0, 2)
    assert flat_axes(circle + np.array([0.0, 0.1, 0.0]) * t[:, None]) is None


def test_a_trajectory_reaches_its_pictures_from_its_own_room(bars, tmp_path):
    assert titles(bars.plot("positions")) == ["Angles"]
    bars.report(tmp_path / "run.html")
    assert (tmp_path / "run.html").exists()
