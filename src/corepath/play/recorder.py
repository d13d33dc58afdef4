"""An agent's own loop around an episode: the prompt and the tools go out, its calls come in.

with corepath.episode("farm/threshold") as ep:
    my_agent(ep.system, ep.prompt, ep.tools("openai"), ep.reply)
ep.score.pc
"""

from __future__ import annotations

import json
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
from corepath.play.play import recorded, seed_of
from corepath.play.session import Session
from corepath.scoring.options import PAPER, Scoring
from corepath.scoring.score import Score, score
from corepath.task import Task
from corepath.values import why_not_json

Form = Literal["openai", "anthropic", "mcp", "schema"]
"""Whose way of telling a model about tools; `schema` is the bare name, description and parameters."""

LONGEST_REPLY: Final = 100_000
"""Characters of a result that a model is told; all of it is recorded."""
LONGEST_FAILURE: Final = 500


def episode(
    task: Task | str | Path, *, agent: str = "agent", epoch: int = 0, seed: int = 0, scoring: Scoring = PAPER
) -> Loop:
    """An episode for a loop of your own, in a `with`. The task is one, a world's such as `farm/threshold`, or a file's.

    `seed` says which variant of a world's task it is; of a task that was made already, it is only recorded.
    """
    if not isinstance(seed, int):
        raise CorepathError(f"a seed is a whole number, not {seed!r}")
    return Loop(task_of(task, seed), agent, epoch, seed, scoring)


def task_of(task: Task | str | Path, seed: int = 0) -> Task:
    """The task that is meant: itself, or one by its name, as in `corepath.task`."""
    if isinstance(task, Task):
        return task
    if not isinstance(task, (str, Path)):
        raise CorepathError(f"a task is a Task, that of a world such as 'farm/threshold', or a file, not {task!r}")
    return named_task(task, seed)


class Loop:
    """An episode that somebody else's loop plays. It may be called from several threads; calls are taken one by one.

    What is raised in the `with` goes on to be raised, and what was done until then is recorded all the same. Unless it
    is about a finished episode, it makes the episode one that failed outside the agent, which no mean counts.
    """

    def __init__(self, task: Task, agent: str, epoch: int, seed: int, scoring: Scoring) -> None:
        self.task = task
        self._who: dict[str, Any] = {"agent": agent, "epoch": epoch, "seed": seed}
        self.scoring = scoring
        self._session = Session(task, seed_of(seed, agent, task.id, epoch))
        self._lock = RLock()
        self._ended = ANSWERED
        self._answer: tuple[Any, ...] = ()
        self._failure: dict[str, Any] = {}
        self._closed = False
        self._last: tuple[Any, Episode, Score] | None = None
        self._watch = _WATCHES[-1] if _WATCHES else None

    def __repr__(self) -> str:
        return f"<Loop: {self.task.id}, calls {len(self._session.calls)}>"

    @property
    def prompt(self) -> str:
        """What the user asks."""
        return self._session.prompt

    @property
    def system(self) -> str:
        """What a model is told before the prompt: the rules of the world, and how to go about it."""
        return self._session.system

    @property
    def over(self) -> bool:
        """Whether no more calls are taken."""
        return self._closed or self._session.over

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls until now, each with its answer."""
        return tuple(self._session.calls)

    @property
    def state(self) -> Any:
        """The world's state as JSON, without what is private."""
        return self._session.state

    def tools(self, form: Form = "schema") -> list[dict[str, Any]]:
        """The tools in the way that a provider wants to be told of them."""
        if not isinstance(form, str) or form not in _FORMS:
            raise CorepathError(f"no form of tools '{form}'{nearest(str(form), _FORMS)}")
        return [_FORMS[form](deepcopy(tool)) for tool in self._session.tools]

    def call(
        self, name: str, arguments: Mapping[str, Any] | str | None = None, *, id: str | None = None,  # noqa: A002
        turn: int | None = None,
    ) -> Call:  # fmt: skip
        """Execute a call and record it; the answer has a result or an error. Arguments may be JSON text.

        Calls that the agent sent at once have the same `turn`. Raises `StepLimitError` where no more are allowed.
        """
        with self._lock:
            self._open()
            try:
                return self._session.call(name, arguments, id=id, turn=turn)
            except StepLimitError:
                self._ended = STEP_LIMIT
                raise

    def reply(
        self, name: str, arguments: Mapping[str, Any] | str | None = None, *, id: str | None = None,  # noqa: A002
        turn: int | None = None,
    ) -> str:  # fmt: skip
        """Execute a call as `call` does; what a model is told of it: its result as text or JSON, or its error."""
        return told(self.call(name, arguments, id=id, turn=turn))

    def say(self, text: str) -> None:
        """Record what the agent said before its next call."""
        with self._lock:
            self._open()
            self._session.say(text)

    def answer(self, answer: Any) -> None:
        """Record the agent's final answer."""
        with self._lock:
            self._open()
            if wrong := why_not_json([answer]):
                raise CorepathError(f"an answer is text or other JSON: {wrong}")
            self._answer = (answer,)

    @property
    def score(self) -> Score:
        """What the calls until now come to."""
        return self._found()[1]

    @property
    def episode(self) -> Episode:
        """What was recorded until now, with its scores."""
        return self._found()[0]

    def __enter__(self) -> Self:
        self._open()
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
        if self._watch is not None:
            self._watch(self.task, *self._found())

    def _found(self) -> tuple[Episode, Score]:
        """What was recorded until now, and its score; the same objects as long as nothing new is recorded."""
        session = self._session
        with self._lock:
            so_far = (len(session.calls), len(session.messages), self._answer, self._ended)
            if self._last is None or self._last[0] != so_far:
                made = recorded(
                    session, **self._who, answer=self._answer[0] if self._answer else None, ended=self._ended,
                    scoring=self.scoring, more=self._failure,
                )  # fmt: skip
                self._last = so_far, made, score(self.task, made, self.scoring, replayed=session.replayed)
            return self._last[1:]

    def _open(self) -> None:
        if self._closed:
            raise CorepathError(f"this episode of '{self.task.id}' has ended with its `with`; begin another one")


_FORMS: Final[Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]]] = {
    "openai": lambda tool: {"type": "function", "function": tool},
    "anthropic": lambda tool: _with_schema(tool, "input_schema"),
    "mcp": lambda tool: _with_schema(tool, "inputSchema"),
    "schema": lambda tool: tool,
}


def _with_schema(tool: dict[str, Any], name: str) -> dict[str, Any]:
    return {"name": tool["name"], "description": tool["description"], name: tool["parameters"]}


def told(call: Call) -> str:
    """What a model is told of an executed call: its result as text or JSON, or its error."""
    if call.failed:
        text = f"Error: {call.error}"
    else:
        text = call.result if isinstance(call.result, str) else json.dumps(call.result, ensure_ascii=False)
    return text if len(text) <= LONGEST_REPLY else f"{text[:LONGEST_REPLY]}… ({len(text)} characters)"


# Who is told of episodes

Watch = Callable[[Task, Episode, Score], None]
"""What is told of every episode that has ended."""

_WATCHES: Final[list[Watch]] = []
"""Who watches now, the last one alone; in every thread, since tests start threads."""


@contextmanager
def watched(watch: Watch) -> Iterator[None]:
    """Tell `watch` of each episode that begins in the `with`, once it has ended."""
    _WATCHES.append(watch)
    try:
        yield
    finally:
        _WATCHES.remove(watch)


def tell(task: Task, episode: Episode, found: Score) -> None:
    """Tell who watches of an episode that was played elsewhere."""
    if _WATCHES:
        _WATCHES[-1](task, episode, found)
