"""Pages in a real browser without a screen. Where no browser or no Playwright is found, the tests are skipped with that
reason; `make slow` requires both.

`CATENA_BROWSER` names another Chromium.
"""

import os
import shutil
from importlib import import_module

import pytest

from catena.studio import studio
from catena.studio.runs import Runner
from tests.browser.studio_person import Person, opened as opened_studio

FOUND = os.environ.get("CATENA_BROWSER") or next(
    filter(
        None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"))
    ),
    None,
)

TIMEOUT = 300_000  # milliseconds


@pytest.fixture(scope="session")
def browser():
    without = pytest.fail if os.environ.get("CATENA_BROWSER_REQUIRED") else pytest.skip
    if FOUND is None:
        without("no Chromium found: install one, or name it in CATENA_BROWSER")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        without("no Playwright: pip install playwright")
    with sync_playwright() as driver:
        # The processor draws: what a machine without a graphics card has.
        made = driver.chromium.launch(
            executable_path=FOUND, args=["--no-sandbox", "--enable-unsafe-swiftshader"]
        )
        yield made
        made.close()


@pytest.fixture
def open_page(browser):
    """`open_page(url, size, dark)` gives a page whose errors fail the test, with what it asked the network for."""
    pages = []

    def opened(url, size=(1280, 720), dark=False):
        page = browser.new_page(
            viewport={"width": size[0], "height": size[1]}, color_scheme="dark" if dark else "light"
        )
        # A busy machine is slow; only what hangs is cut off.
        page.set_default_timeout(TIMEOUT)
        page.problems, page.asked = [], []
        page.on("pageerror", lambda error: page.problems.append(str(error)))
        page.on("console", lambda said: page.problems.append(said.text) if said.type == "error" else None)
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto(url)
        page.wait_for_function("window.catena && Object.values(window.catena)[0].frames_drawn > 0")
        pages.append(page)
        return page

    yield opened
    problems = [problem for page in pages for problem in page.problems]
    for page in pages:
        page.close()
    assert problems == []


class SharedRunner(Runner):
    """A process of runs that serves one studio after the other: to start one takes longer than what tests run."""

    def close(self):
        pass


@pytest.fixture(scope="session")
def runs(browser):
    """Studios of this session compute their runs in one process, which is started while the first page is opened."""
    with pytest.MonkeyPatch.context() as patch:
        runner = SharedRunner()
        patch.setattr(import_module("catena.studio.studio"), "Runner", lambda: runner)
        runner.start()
        yield runner
        Runner.close(runner)


@pytest.fixture
def person(browser, runs, tmp_path):
    with studio(folder=tmp_path, show=False) as made:
        page = opened_studio(browser, made)
        somebody = Person(page, made)
        yield somebody
        assert page.problems == []
        home = made.url.rsplit("/", 2)[0]
        assert all(url.startswith((home, "blob:", "data:")) for url in page.asked)
        page.close()
