"""Curves of the player are told apart by people who see fewer colours: their hues as those people see them differ."""

import itertools
import re
from importlib.resources import files

import numpy as np
import pytest

# Linear RGB as seen without one of the three cones, after Machado, Oliveira and Fernandes (2009), severity 1.
SEEN = {
    "all cones": np.eye(3),
    "no red": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "no green": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.01182, 0.04294, 0.968881],
    ],
    "no blue": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.3039],
    ],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) / np.array(
    [[0.9505], [1.0], [1.089]]
)


def lab(colour, seen):
    """Return the place of a colour "#rrggbb" in CIELAB as somebody sees it."""
    rgb = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    x, y, z = np.cbrt(np.clip(TO_XYZ @ np.clip(np.array(SEEN[seen]) @ linear, 0, 1), 0.008856, 1))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("name", ["HUES", "HUES_DARK"])
def test_no_two_hues_of_curves_look_alike(name, seen):
    script = files("catena.view.player").joinpath("plots.js").read_text(encoding="utf-8")
    hues = re.findall(r"#[0-9a-f]{6}", re.search(rf"\b{name} = \[(.*?)\]", script, re.DOTALL)[1])
    assert len(hues) >= 6
    apart = {
        pair: np.linalg.norm(lab(pair[0], seen) - lab(pair[1], seen))
        for pair in itertools.combinations(hues, 2)
    }
    # Differences of about 2 are just noticed side by side; thin curves apart from each other want more.
    assert min(apart.values()) > 10.0, min(apart.items(), key=lambda item: item[1])
