"""A real browser for the tests of the page: Debian's chromium, driven by playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Dialog, Page, Route, expect, sync_playwright

PATIENCE = 120_000.0
"""Milliseconds to wait for what should be on a page: many times what it takes on a machine under load."""

MISSING = "the page is tested in chromium, which is not here: install it with 'apt install chromium'"


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser. Where the environment says CI it must be there; elsewhere its absence is a skip that says so."""
    command = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
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
    """One page in a browser, with all that must not happen written down."""

    page: Page
    file: Path
    wrong: list[str] = field(default_factory=list)

    def open(self, link: str = "") -> Page:
        """The page at a link, as if it were opened fresh."""
        self.page.goto("about:blank")
        self.page.goto(f"{self.file.as_uri()}{link}")
        self.page.wait_for_selector("html[data-ready]")
        return self.page

    def go(self, link: str) -> Page:
        """Follows a link inside the page and waits until it is shown."""
        self.page.evaluate("link => { location.hash = link; }", link)
        self.page.wait_for_selector("#view:not([hidden]) h1")
        return self.page


@contextmanager
def window(browser: Browser, file: Path, **options: Any) -> Iterator[Window]:
    """A page of a file. In the end nothing may have gone wrong: no error, no dialog, no request but for the file."""
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
