"""A recorder: an episode that your own agent loop drives.

with corepath.episode("farm/threshold") as ep:
    my_agent(ep.system, ep.prompt, ep.tools("openai"), ep.reply)
ep.score.pc
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import Any, Final, Literal, Self

from corepath.episode import ANSWERED, FAILED_OUTSIDE, STEP_LIMIT, Episode
from corepath.errors import CorepathError, StepLimitError, nearest
from corepath.files.lookup import task as named_task
from corepath.notation.call import Call
from corepath.play.play import episode_seed, record_episode
from corepath.play.session import Session
from corepath.scoring.options import PAPER, Scoring
from corepath.scoring.score import Score, score
from corepath.task import Task
from corepath.values import why_not_json

Form = Literal["openai", "anthropic", "mcp", "schema"]
"""A provider's tool schema format. With `schema`, a tool has just a name, a description and parameters."""

LONGEST_FAILURE: Final = 500
"""The most characters that are recorded of an exception's message."""


def episode(
    task: Task | str | Path, *, agent: str = "agent", epoch: int = 0, seed: int = 0, scoring: Scoring = PAPER
) -> Recorder:
    """Start an episode for your own agent loop. Use it in a `with` statement.

    `task` is a `Task`, a task id such as `farm/threshold`, or the path of a task file. `seed` selects the variant of a
    world's task. If `task` is already a `Task`, the seed does not change the task.
    """
    if not isinstance(seed, int):
        raise CorepathError(f"a seed is a whole number, not {seed!r}")
    return Recorder(resolve_task(task, seed), agent, epoch, seed, scoring)


def resolve_task(task: Task | str | Path, seed: int = 0) -> Task:
    """Return `task` itself if it is a `Task`. Otherwise look up the task by name or file, as `corepath.task` does."""
    if isinstance(task, Task):
        return task
    if not isinstance(task, (str, Path)):
        raise CorepathError(f"a task is a Task, an id such as 'farm/threshold', or a file, not {task!r}")
    return named_task(task, seed)


class Recorder:
    """Records an episode that your own agent loop drives.

    Several threads may share a recorder, which executes their calls one at a time.

    If the `with` block raises an error, the error propagates and the calls made so far stay recorded. The error does
    not count against the agent: the episode is left out of all means. The episode counts as usual if the agent had
    already answered, or if the error is an `AssertionError` or a `StepLimitError`.
    """

    def __init__(self, task: Task, agent: str, epoch: int, seed: int, scoring: Scoring) -> None:
        self.task = task
        self.scoring = scoring
        self._labels: dict[str, Any] = {"agent": agent, "epoch": epoch, "seed": seed}
        self._session = Session(task, episode_seed(seed, agent, task.id, epoch))
        self._lock = RLock()
        self._ended = ANSWERED
        self._answer: tuple[Any, ...] = ()
        self._failure: dict[str, Any] = {}
        self._closed = False
        self._latest: tuple[Any, Episode, Score] | None = None
        self._watcher = _WATCHERS[-1] if _WATCHERS else None

    def __repr__(self) -> str:
        return f"<Recorder: {self.task.id}, calls {len(self._session.calls)}>"

    @property
    def prompt(self) -> str:
        """The user's request."""
        return self._session.prompt

    @property
    def system(self) -> str:
        """The system prompt for a model: the world's rules and how to work in the world."""
        return self._session.system

    @property
    def over(self) -> bool:
        """Whether the episode has ended or its step limit is reached."""
        return self._closed or self._session.over

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls so far, each with its result or error."""
        return tuple(self._session.calls)

    @property
    def state(self) -> Any:
        """The world's current state as JSON, without private fields."""
        return self._session.state

    def tools(self, form: Form = "schema") -> list[dict[str, Any]]:
        """Return the tools in the schema format `form`, e.g. `openai` or `anthropic`."""
        if not isinstance(form, str) or form not in _FORMS:
            raise CorepathError(f"no form of tools '{form}'{nearest(str(form), _FORMS)}")
        return [_FORMS[form](deepcopy(tool)) for tool in self._session.tools]

    def call(
        self, name: str, arguments: Mapping[str, Any] | str | None = None, *, id: str | None = None,  # noqa: A002
        turn: int | None = None,
    ) -> Call:  # fmt: skip
        """Execute and record a call, and return it with its result or error.

        `arguments` may be a JSON string. Use the same `turn` for calls that the agent sent together. Raises
        `StepLimitError` if the step limit is already reached.
        """
        with self._recording() as session:
            return session.call(name, arguments, id=id, turn=turn)

    def reply(
        self, name: str, arguments: Mapping[str, Any] | str | None = None, *, id: str | None = None,  # noqa: A002
        turn: int | None = None,
    ) -> str:  # fmt: skip
        """Execute and record a call like `call`, but return the text to send back to the model."""
        with self._recording() as session:
            return session.reply(name, arguments, id=id, turn=turn)

    def say(self, text: str) -> None:
        """Record what the agent says before its next call."""
        with self._recording() as session:
            session.say(text)

    def answer(self, answer: Any) -> None:
        """Record the agent's final answer."""
        with self._recording():
            if wrong := why_not_json([answer]):
                raise CorepathError(f"an answer is text or other JSON: {wrong}")
            self._answer = (answer,)

    @property
    def score(self) -> Score:
        """The score for the calls so far."""
        return self._result()[1]

    @property
    def episode(self) -> Episode:
        """The episode so far, with its scores."""
        return self._result()[0]

    def __enter__(self) -> Self:
        self._check_open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            if error is not None and not self._answer and not isinstance(error, (AssertionError, StepLimitError)):
                self._ended = FAILED_OUTSIDE
                message = f"{type(error).__name__}: {error}"[:LONGEST_FAILURE]
                self._failure = {"failure": {"kind": "raised in the loop", "message": message}}
            self._closed = True
        if self._watcher is not None:
            self._watcher(self.task, *self._result())

    @contextmanager
    def _recording(self) -> Iterator[Session]:
        """Give the current thread exclusive access to the session.

        Raises `CorepathError` if the episode has ended.
        """
        with self._lock:
            self._check_open()
            try:
                yield self._session
            except StepLimitError:
                self._ended = STEP_LIMIT
                raise

    def _check_open(self) -> None:
        if self._closed:
            raise CorepathError(f"this episode of '{self.task.id}' has ended with its `with`; begin another one")

    def _result(self) -> tuple[Episode, Score]:
        """Return the episode so far and its score. Both are cached until something new is recorded."""
        session = self._session
        with self._lock:
            version = (len(session.calls), len(session.messages), self._answer, self._ended)
            if self._latest is None or self._latest[0] != version:
                made = record_episode(
                    session, **self._labels, answer=self._answer[0] if self._answer else None, ended=self._ended,
                    scoring=self.scoring, more=self._failure,
                )  # fmt: skip
                self._latest = version, made, score(self.task, made, self.scoring, replayed=session.replayed)
            return self._latest[1:]


_FORMS: Final[Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]]] = {
    "openai": lambda tool: {"type": "function", "function": tool},
    "anthropic": lambda tool: _rename_parameters(tool, "input_schema"),
    "mcp": lambda tool: _rename_parameters(tool, "inputSchema"),
    "schema": lambda tool: tool,
}


def _rename_parameters(tool: dict[str, Any], name: str) -> dict[str, Any]:
    return {"name": tool["name"], "description": tool["description"], name: tool["parameters"]}


Watcher = Callable[[Task, Episode, Score], None]
"""A function to call with the task, the episode and the score whenever an episode ends."""

_WATCHERS: Final[list[Watcher]] = []
"""The active watchers. Only the last one is called. The list is shared by all threads, because tests start threads."""


@contextmanager
def watch_episodes(watcher: Watcher) -> Iterator[None]:
    """Call `watcher` whenever an episode that began inside the `with` block ends."""
    _WATCHERS.append(watcher)
    try:
        yield
    finally:
        _WATCHERS.remove(watcher)


def notify_watcher(task: Task, episode: Episode, found: Score) -> None:
    """Pass an episode and its score to the active watcher, if there is one.

    This is for episodes that were made without a recorder.
    """
    if _WATCHERS:
        _WATCHERS[-1](task, episode, found)
