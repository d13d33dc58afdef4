"""What the tests of the page share: a browser, the page of a module's results, and a window that shows it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from corepath.report.page import page
from corepath.report.results import Results
from tests.browser import ALL_SCREENS, SCREENS, Window, chromium, window


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Screens for a test that takes one: each scheme and a small and a large width; with --long all pairs."""
    if "screen" in metafunc.fixturenames:
        screens = ALL_SCREENS if metafunc.config.getoption("--long") else SCREENS
        metafunc.parametrize("screen", screens, ids=lambda screen: f"{screen.width}-{screen.scheme}")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as one:
        yield one


@pytest.fixture(scope="module")
def file(results: Results, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the module's own `results`."""
    made = tmp_path_factory.mktemp("page") / "page.html"
    made.write_text(page(results), encoding="utf-8")
    return made


@pytest.fixture
def shown(browser: Browser, file: Path) -> Iterator[Window]:
    with window(browser, file) as one:
        yield one
