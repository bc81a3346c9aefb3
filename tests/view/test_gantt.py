"""The Gantt picture shows the tasks of a schedule where and when they run."""

import numpy as np
import pytest

from catena.mechanism.generators import arm7, four_bar, humanoid

pytest.importorskip("matplotlib")


@pytest.mark.parametrize("grain", ["operations", "steps"])
def test_every_task_is_a_bar_on_its_processor(grain):
    from catena.view import gantt

    flow = four_bar().system().equations("mass_matrix").dataflow(grain)
    schedule = flow.schedule(3)
    ax = gantt(schedule)
    bars = [path.get_extents() for path in ax.collections[0].get_paths()]
    shown = np.flatnonzero(schedule.processor >= 0)
    assert len(bars) == len(shown)
    for k, box in zip(shown, bars, strict=True):
        assert box.x0 == pytest.approx(schedule.start[k]) and box.x1 == pytest.approx(schedule.finish[k])
        assert round((box.y0 + box.y1) / 2) == schedule.processor[k]
    assert len(ax.collections[1].get_paths()) == len(flow.critical_path)
    assert f"critical path {flow.critical_time:g}" in ax.get_title(loc="left")


def test_many_bodies_are_told_by_step():
    from catena.view import gantt

    def legend(make):
        ax = gantt(make().system().equations("inverse_dynamics").dataflow("steps").schedule(4))
        return {text.get_text() for text in ax.get_legend().get_texts()}

    assert {"motions", "forces", "critical path"} == legend(humanoid)
    assert "link3" in legend(arm7)
