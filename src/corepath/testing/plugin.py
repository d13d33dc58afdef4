"""The pytest plugin: a fixture to play and judge episodes, scores in JUnit XML, and a report on all episodes.

def test_my_agent(corepath):
    with corepath.episode("farm/threshold") as ep:
        my_agent(ep.system, ep.prompt, ep.tools("openai"), ep.reply)
    corepath.assert_path(ep.task, ep)
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from corepath.episode import Episode
from corepath.errors import CorepathError, count
from corepath.notation.call import Call
from corepath.play.recorder import Recorder, episode, resolve_task, watch_episodes
from corepath.scoring.score import Score
from corepath.task import Task
from corepath.testing.assertion import Limits, assert_path, judge, shorten

if TYPE_CHECKING:
    from typing import Unpack

    from corepath.testing.collecting import Collected

Calls = Episode | Recorder | Iterable[Call | str]

MOST_EXPLAINED: Final = 5
"""Maximum number of episodes to explain for a failed test."""

_PROPERTIES: Final = (
    "pc", "pc_ktc", "prefix_criticality", "harm_count", "harm_rate", "efficiency", "directness", "pc_hlr", "accepted",
    "missing_steps", "state_match", "response_match", "answer_match", "length",
)  # fmt: skip
"""The scores that JUnit XML shows for each episode."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option `--corepath-report`."""
    parser.getgroup("corepath").addoption(
        "--corepath-report",
        metavar="DIR",
        help="Folder for a report on all episodes of the tests: a page that explains them, tables, and the episodes.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the `corepath` marker. If a report is requested, check its folder and prepare to collect episodes."""
    config.addinivalue_line(
        "markers", "corepath(task): the task of the `corepath` fixture: a Task, a name such as 'farm/x', or a file."
    )
    folder = config.getoption("corepath_report")
    if folder is None:
        return
    place = config.invocation_params.dir / folder
    if place.exists() and not place.is_dir():
        raise pytest.UsageError(f"--corepath-report: {place} is a file; name a folder")
    config.option.corepath_report = str(place)  # workers may run in another folder

    from corepath.runs.folder import MANIFEST  # noqa: PLC0415  # only a report needs these
    from corepath.testing.collecting import Collected  # noqa: PLC0415

    if (place / MANIFEST).exists():
        raise pytest.UsageError(
            f"--corepath-report: {place} is the folder of a run, which stays as it is; name another"
        )
    worker = getattr(config, "workerinput", {}).get("workerid")
    config.stash[_COLLECTED] = Collected(place, worker)


_COLLECTED: Final[pytest.StashKey[Collected]] = pytest.StashKey()
_SEEN: Final[pytest.StashKey[Seen]] = pytest.StashKey()
_MARKED: Final[pytest.StashKey[Task]] = pytest.StashKey()


@dataclass
class Seen:
    """The episodes seen in one test, without duplicates."""

    item: pytest.Item
    episodes: list[tuple[Task, Episode, Score]] = field(default_factory=list)

    def add(self, task: Task, episode: Episode, found: Score) -> None:
        """Add an episode to JUnit XML and to the report, unless it was added before."""
        if any(known is episode for _, known, _ in self.episodes):
            return
        self.episodes.append((task, episode, found))
        values = {"task": task.id, "agent": episode.agent, **{name: getattr(found, name) for name in _PROPERTIES}}
        self.item.user_properties += [
            (f"corepath.{name}", value) for name, value in values.items() if value is not None
        ]  # fmt: skip
        collected = self.item.config.stash.get(_COLLECTED, None)
        if collected is not None:
            collected.add(self.item.nodeid, task, episode, found)

    def explain(self, printed: str) -> str:
        """Explain the episodes, except those that `printed` already explains."""
        from corepath.explanation import explain  # noqa: PLC0415  # only a failure needs it

        texts: list[str] = []
        for task, one, found in self.episodes[:MOST_EXPLAINED]:
            explanation = explain(task, one, found.scoring, scored=found)
            if explanation.headline not in printed:
                texts.append(f"{task.id}: {shorten(str(explanation))}")
        rest = len(self.episodes) - MOST_EXPLAINED
        return "\n\n".join([*texts, *([f"and {count(rest, 'more episode')}"] if rest > 0 else [])])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Collect every episode that is played or checked while a test runs."""
    seen = item.stash[_SEEN] = Seen(item)
    with watch_episodes(seen.add):
        return (yield)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Look up the marker's task even if the test does not use it, so that a typo fails at once."""
    marker = item.get_closest_marker("corepath")
    if marker is None:
        return
    given = [*marker.args, *marker.kwargs.values()]
    if len(given) != 1 or marker.kwargs.keys() - {"task"}:
        pytest.fail("the marker has one argument, the task: @pytest.mark.corepath(task=...)", pytrace=False)
    try:
        item.stash[_MARKED] = resolve_task(_locate(item, given[0]))
    except CorepathError as error:
        pytest.fail(f"@pytest.mark.corepath: {error}", pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Explain the episodes in a failed test's report."""
    report = yield
    seen = item.stash.get(_SEEN, None)
    if report.failed and call.when == "call" and seen is not None:
        text = seen.explain(printed=str(call.excinfo.value) if call.excinfo else "")
        if text:
            report.sections.append(("corepath", text))
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the report. Worker processes write nothing."""
    collected = session.config.stash.get(_COLLECTED, None)
    if collected is None or session.config.option.collectonly:
        return
    try:
        collected.finish()
    except OSError as error:
        collected.summary = f"the report could not be written: {error}"
        session.exitstatus = pytest.ExitCode.USAGE_ERROR


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print where the report is."""
    collected = config.stash.get(_COLLECTED, None)
    if collected is not None and collected.summary:
        terminalreporter.write_sep("-", "corepath")
        terminalreporter.write_line(collected.summary)


@dataclass(frozen=True)
class Corepath:
    """The `corepath` fixture, which plays and judges episodes and adds them to the report."""

    seen: Seen

    def __repr__(self) -> str:
        return f"<corepath: episodes {len(self.seen.episodes)}>"

    @property
    def task(self) -> Task:
        """The task that `@pytest.mark.corepath(task=...)` names."""
        marked = self.seen.item.stash.get(_MARKED, None)
        if marked is None:
            pytest.fail("no task: name it in the call, or with @pytest.mark.corepath(task=...)", pytrace=False)
        return marked

    def episode(self, task: Task | str | Path | None = None, **options: Any) -> Recorder:
        """Record an episode that your agent plays, like `corepath.episode`. `task` defaults to the marker's task."""
        with watch_episodes(self.seen.add):
            return episode(self.task if task is None else _locate(self.seen.item, task), **options)

    def assert_path(self, *task_and_calls: Any, **limits: Unpack[Limits]) -> Score:
        """Assert a path, like `corepath.assert_path`. Pass a task and calls, or only calls for the marker's task."""
        __tracebackhide__ = True
        task, calls = self._task_and_calls(task_and_calls)
        with watch_episodes(self.seen.add):
            return assert_path(task, calls, **limits)

    def score(self, *task_and_calls: Any) -> Score:
        """Score a path. Pass a task and calls, or only calls for the marker's task."""
        task, made, found = judge(*self._task_and_calls(task_and_calls))
        self.seen.add(task, made, found)
        return found

    def _task_and_calls(self, given: tuple[Any, ...]) -> tuple[Task | str | Path, Calls]:
        if not 1 <= len(given) <= 2:
            raise TypeError("give a task and calls, or calls alone where the marker names the task")
        if len(given) == 1 and isinstance(given[0], Recorder):
            return given[0].task, given[0]
        return self.task if len(given) == 1 else _locate(self.seen.item, given[0]), given[-1]


def _locate(item: pytest.Item, task: Task | str | Path) -> Task | str | Path:
    """Return the full path of a task file in the test's folder or pytest's root folder, or any other task unchanged."""
    if isinstance(task, Task):
        return task
    file, mark, id_ = str(task).partition("::")
    for folder in (item.path.parent, item.config.rootpath):
        if file.endswith((".yaml", ".yml", ".json", ".py")) and (folder / file).exists():
            return f"{folder / file}{mark}{id_}"
    return task


@pytest.fixture
def corepath(request: pytest.FixtureRequest) -> Corepath:
    """Play and judge episodes: `corepath.episode`, `corepath.assert_path`, `corepath.score`, `corepath.task`."""
    return Corepath(request.node.stash[_SEEN])
