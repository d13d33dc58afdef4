"""A real browser to test the report page: Debian's chromium, driven by playwright.

Its headless shell is the same browser without windows, tabs and menus: a page takes a third of the time in it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest
from playwright.sync_api import Browser, BrowserContext, Dialog, Page, Route, expect, sync_playwright

PATIENCE = 120_000.0
"""Timeout for elements on a page, in milliseconds; generous, for machines under load."""

COMMANDS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
MISSING = "the page is tested in chromium, which is not here: install it with 'apt install chromium-headless-shell'"


class Screen(NamedTuple):
    """The width of a window and its colour scheme."""

    width: int
    scheme: Literal["light", "dark"]

    @property
    def options(self) -> dict[str, Any]:
        return {"color_scheme": self.scheme, "viewport": {"width": self.width, "height": 900}}


SCREENS = [Screen(360, "light"), Screen(1600, "dark")]
ALL_SCREENS = [Screen(width, scheme) for width in (360, 1280, 1600) for scheme in ("light", "dark")]


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start chromium. If it is not installed, fail the test in CI and skip it elsewhere."""
    command = next(filter(None, map(shutil.which, COMMANDS)), None)
    if command is None:
        if os.environ.get("CI"):
            pytest.fail(MISSING)
        pytest.skip(MISSING)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=command, args=["--no-sandbox"])
        yield browser
        browser.close()


@dataclass
class Window:
    """One page in a browser; `wrong` collects errors, dialogs and unexpected requests."""

    page: Page
    file: Path
    wrong: list[str] = field(default_factory=list)

    def open(self, link: str = "") -> Page:
        """Load the page anew at a link."""
        self.page.goto("about:blank")
        self.page.goto(f"{self.file.as_uri()}{link}")
        self.page.wait_for_selector("html[data-ready]")
        return self.page

    def go(self, link: str) -> Page:
        """Follow a link inside the page and wait until its view is shown."""
        self.page.evaluate("link => { location.hash = link; }", link)
        self.page.wait_for_selector("#view:not([hidden]) h1")
        return self.page


@contextmanager
def window(browser: Browser, file: Path, **options: Any) -> Iterator[Window]:
    """Open a file in a new window. On exit, assert that there was no error, no dialog and no other request."""
    context: BrowserContext = browser.new_context(**options)
    context.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    one = Window(context.new_page(), file)

    def only_the_file(route: Route) -> None:
        if route.request.url.partition("#")[0] == file.as_uri():
            route.continue_()
        else:
            one.wrong.append(f"request: {route.request.url}")
            route.abort()

    def refused(dialog: Dialog) -> None:
        one.wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    context.route("**/*", only_the_file)
    one.page.on("console", lambda message: one.wrong.append(f"{message.type}: {message.text}"))
    one.page.on("pageerror", lambda error: one.wrong.append(f"error: {error}"))
    one.page.on("dialog", refused)
    one.page.on("requestfailed", lambda request: one.wrong.append(f"failed: {request.url[:200]}"))
    yield one
    context.close()
    assert one.wrong == []
