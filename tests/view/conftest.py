"""Pictures are drawn without a screen."""

import matplotlib
import pytest

matplotlib.use("Agg")


@pytest.fixture
def axes():
    from matplotlib import pyplot

    return pyplot.figure(figsize=(5, 5)).add_subplot(projection="3d")
