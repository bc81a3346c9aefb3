"""Pictures are drawn without a screen and closed after each test."""

import matplotlib
import pytest

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


@pytest.fixture
def axes():
    from matplotlib import pyplot

    return pyplot.figure(figsize=(5, 5)).add_subplot(projection="3d")
