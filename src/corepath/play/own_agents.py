"""Users' own agents: functions that take a `Session`, named `FILE.py:FUNCTION` or `MODULE:FUNCTION`."""

from __future__ import annotations

import hashlib
import inspect
from pathlib import Path
from typing import Any, Final

from corepath.episode import ANSWERED, FAILED_OUTSIDE, STEP_LIMIT, Episode
from corepath.errors import OptionError, StepLimitError, nearest
from corepath.play.built_in import BUILT_IN, built_in
from corepath.play.own_modules import load_module, locate, relative_path
from corepath.play.play import episode_seed, record_episode
from corepath.play.session import Agent, Session
from corepath.scoring.options import Scoring
from corepath.task import Task
from corepath.values import why_not_json

RAISED: Final = "raised in the agent"
"""The failure kind that is recorded if the agent raised an exception."""
LONGEST_MESSAGE: Final = 500
"""The most characters that are recorded of an exception's message."""
_WANTED: Final = "an agent is a built-in one, FILE.py:FUNCTION or MODULE:FUNCTION"


def is_own(name: str) -> bool:
    """Whether `name` refers to a user's own agent rather than a built-in agent such as `oracle` or `swapped:0.3`."""
    where, _, function = name.rpartition(":")
    return bool(where) and where not in BUILT_IN and function.isidentifier()


def find_agent(name: str) -> Agent:
    """Look up a built-in agent or import a user's own agent.

    Raises `OptionError` or `TaskError` if there is no such agent, and `InputError` with file and line if the agent's
    module cannot be imported.
    """
    if is_own(name):
        where, _, function = name.rpartition(":")
        return _load_function(where, function)
    if name.partition(":")[0].endswith(".py"):
        raise OptionError(f"which function of {name.partition(':')[0]} is the agent? Write it as FILE.py:FUNCTION")
    return built_in(name)


def digest(name: str) -> str:
    """Return a hash of the file that defines a user's own agent. Other files that the agent uses are not included."""
    file = load_module(name.rpartition(":")[0], _WANTED).__file__
    return hashlib.sha256(Path(file).read_bytes() if file else b"").hexdigest()[:16]


def check_agent(agent: Any, label: str) -> None:
    """Raise `OptionError` unless `agent` can be called with a session as its only argument.

    `label` is how the error message refers to the agent.
    """
    if not callable(agent):
        raise OptionError(f"{label} is {_with_article(type(agent).__name__)}, and an agent is a function of a session")
    if inspect.isclass(agent):
        raise OptionError(f"{label} is a class, and an agent is a function of a session; make an object of it first")
    if inspect.iscoroutinefunction(agent) or inspect.iscoroutinefunction(getattr(agent, "__call__", None)):  # noqa: B004
        raise OptionError(f"{label} is async; write a function around it: return asyncio.run(...)")
    try:
        signature = inspect.signature(agent)
    except (TypeError, ValueError):  # a function written in C may have no signature
        return
    try:
        signature.bind(None)
    except TypeError:
        raise OptionError(f"{label} takes {signature}, and an agent takes one argument, the session") from None


def play_safely(agent: Agent, task: Task, *, name: str, epoch: int, seed: int, scoring: Scoring) -> Episode:
    """Play an episode like `play`, but record an exception raised by the agent as a failure instead of raising it."""
    session = Session(task, episode_seed(seed, name, task.id, epoch))
    answer, ended, failure = None, ANSWERED, {}
    try:
        answer = agent(session)
        if wrong := why_not_json([answer, session.notes, *(one.content for one in session.messages)]):
            raise TypeError(f"what an agent answers, says and notes is text or other JSON: {wrong}")  # noqa: TRY301
    except StepLimitError:
        ended = STEP_LIMIT
    except (Exception, SystemExit) as error:  # noqa: BLE001  # the run goes on whatever the agent raises
        ended, answer = FAILED_OUTSIDE, None
        message = f"{type(error).__name__}: {error}"[:LONGEST_MESSAGE]
        failure = {"failure": {"kind": RAISED, "message": message, "at": _locate_in_agent(agent, error)}}
        if why_not_json([session.notes, *(one.content for one in session.messages)]):
            session.notes.clear()
            session.messages.clear()
    return record_episode(
        session, name, epoch=epoch, seed=seed, answer=answer, ended=ended, scoring=scoring, more=failure
    )  # fmt: skip


def _load_function(where: str, function: str) -> Agent:
    module = load_module(where, _WANTED)
    if not hasattr(module, function):
        own = [name for name, value in vars(module).items()
               if inspect.isfunction(value) and value.__module__ == module.__name__]  # fmt: skip
        raise OptionError(f"no function '{function}' in {where}{nearest(function, own)}")
    found: Agent = getattr(module, function)
    check_agent(found, f"'{function}' in {where}")
    return found


def _locate_in_agent(agent: Agent, error: BaseException) -> str:
    """Return the `FILE:LINE` in the agent's own file at which the exception was raised.

    If the exception's traceback does not include that file, return the agent's first line. If the agent's file is
    unknown, return the place in whichever file raised the exception.
    """
    plain = inspect.unwrap(agent)
    code = getattr(plain, "__code__", None) or getattr(getattr(plain, "__call__", None), "__code__", None)  # noqa: B004
    if code is None:
        return locate(error, lambda _: True)
    file, first = code.co_filename, code.co_firstlineno
    return locate(error, lambda other: other == file) or f"{relative_path(file)}:{first}"


def _with_article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"
