"""`catena view`: serves a model or a run until it is interrupted, or writes the page of a run."""

from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

from catena.view.live.view import View


@pytest.fixture
def visited(monkeypatch):
    """What a browser would have got before somebody pressed Ctrl-C, and the addresses that were opened."""
    pages, opened = [], []

    def visit(self):
        with urlopen(self.url) as reply:
            pages.append(reply.read().decode())
        self._is_opened = False
        self.close()

    monkeypatch.setattr(View, "wait", visit)
    monkeypatch.setattr("webbrowser.open", lambda url: opened.append(url) or True)
    return pages, opened


def test_a_model_is_served_at_the_address_that_is_printed(catena, visited):
    """The browser is started with an address of the same server that leads there once."""
    answer = catena("view", "four_bar", "--q", "A=30deg")
    address = answer.out.splitlines()[0]
    assert answer.code == 0 and address.startswith("http://127.0.0.1:")
    assert '"values":{"A 0":0.5235987' in visited[0][0]
    (opened,) = visited[1]
    assert urlsplit(opened).netloc == urlsplit(address).netloc and opened != address
    assert catena("view", "four_bar", "--no-browser").code == 0
    assert len(visited[1]) == 1


def test_a_run_is_played_or_written(catena, visited):
    assert catena("run", "four_bar", "--time", "0.2", "--v", "A=3", "--out", "run.nc", "--quiet").code == 0
    assert catena("view", "run.nc", "--ghost", "run.nc").code == 0
    assert '"ghost":[{' in visited[0][0] and '"live"' not in visited[0][0]
    answer = catena("view", "run.nc", "--save", "page.html")
    assert answer.code == 0 and "page.html" in answer.out + answer.err
    with open("page.html", encoding="utf-8") as file:
        assert file.read().startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("four_bar", "--save", "x.html"), "is no run"), (("four_bar", "--ghost", "x.nc"), "is no run"),
        (("x.nc", "--q", "A=1"), "a run is shown as it was"), (("missing.nc",), "missing.nc"),
        (("four_bar", "--port", "99999"), "port is 99999"), (("nobody",), "neither a model file nor in the gallery"),
    ],
)  # fmt: skip
def test_what_cannot_be_viewed_is_explained(catena, visited, words, said):
    answer = catena("view", *words)
    assert answer.code == 2 and said in answer.err
