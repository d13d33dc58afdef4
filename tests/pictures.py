"""Take the screenshots for the README: `python -m tests.pictures`."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from corepath.files.lookup import all_sources
from corepath.play.built_in import BUILT_IN
from corepath.report.loading import load_results
from corepath.report.page import page
from corepath.runs.folder import RunFolder
from corepath.runs.function_agents import play_function_agents
from corepath.runs.plan import Plan
from tests.browser import Window, chromium, window

FOLDER = Path(__file__).parent.parent / "docs" / "pictures"
TASK, AGENT = "arm/pick_rotate_place", "left_out"
DRAWN = "transactions/merge_accounts"


def overview(shown: Window) -> None:
    """Top of the page, with the scores of every agent."""
    shown.open()
    shown.page.screenshot(path=FOLDER / "overview.png")


def episode(shown: Window) -> None:
    """An episode, at the first call that went wrong."""
    shown.open(f"#/episode/{TASK.replace('/', '%2F')}/{AGENT}/0")
    for _ in range(6):
        shown.page.keyboard.press("ArrowRight")
    shown.page.wait_for_timeout(300)
    shown.page.evaluate("window.scrollTo(0, 0)")
    shown.page.screenshot(path=FOLDER / "episode.png")


def task(shown: Window) -> None:
    """A task with all its runs on one drawing."""
    shown.open(f"#/task/{DRAWN.replace('/', '%2F')}")
    shown.page.wait_for_timeout(300)
    shown.page.screenshot(path=FOLDER / "task.png")


def main() -> None:
    """Play the built-in agents on every task, write the page, and take the pictures."""
    FOLDER.mkdir(exist_ok=True)
    with TemporaryDirectory() as name, chromium() as browser:
        plan = Plan(tuple(all_sources([])), BUILT_IN)
        run = RunFolder.create(Path(name) / "run", plan.manifest())
        with run.writing():
            play_function_agents(plan, run, set(), lambda _: None, jobs=0)
        file = Path(name) / "index.html"
        file.write_text(page(load_results(run.path)), encoding="utf-8")
        with window(browser, file, viewport={"width": 1280, "height": 900}) as shown:
            overview(shown)
            episode(shown)
            task(shown)


if __name__ == "__main__":
    main()
