"""Users' own agents: functions that take a `Session`, named `FILE.py:FUNCTION` or `MODULE:FUNCTION`."""

from __future__ import annotations

import hashlib
import inspect
import os
import sys
import traceback
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from corepath.episode import ANSWERED, FAILED_OUTSIDE, STEP_LIMIT, Episode
from corepath.errors import InputError, OptionError, Problem, StepLimitError, nearest
from corepath.play.built_in import BUILT_IN, built_in
from corepath.play.play import episode_seed, record_episode
from corepath.play.session import Agent, Session
from corepath.scoring.options import Scoring
from corepath.task import Task
from corepath.values import why_not_json

RAISED: Final = "raised in the agent"
"""The failure kind that is recorded if the agent raised an exception."""
LONGEST_MESSAGE: Final = 500
"""The most characters that are recorded of an exception's message."""


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
    file = _load_module(name.rpartition(":")[0]).__file__
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
    module = _load_module(where)
    if not hasattr(module, function):
        own = [name for name, value in vars(module).items()
               if inspect.isfunction(value) and value.__module__ == module.__name__]  # fmt: skip
        raise OptionError(f"no function '{function}' in {where}{nearest(function, own)}")
    found: Agent = getattr(module, function)
    check_agent(found, f"'{function}' in {where}")
    return found


def _load_module(where: str) -> ModuleType:
    is_file = where.endswith(".py") or os.sep in where
    if is_file and not Path(where).is_file():
        raise OptionError(f"no such file or folder: {where}")
    return _import(where, str(Path(where).resolve()) if is_file else "")


@lru_cache(maxsize=64)
def _import(where: str, path: str) -> ModuleType:
    """Import the file at `path`, or the module `where` if `path` is empty.

    The file's folder, or the current folder for a module, is added to `sys.path`.
    """
    folder = str(Path(path).parent) if path else os.getcwd()  # noqa: PTH109
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return _run_file(path) if path else import_module(where)
    except ModuleNotFoundError as error:
        if not path and error.name is not None and f"{where}.".startswith(f"{error.name}."):
            raise OptionError(f"no module '{error.name}'; an agent is a built-in one, FILE.py:FUNCTION or "
                              "MODULE:FUNCTION") from None  # fmt: skip
        raise _import_error(where, path, error) from error
    except (Exception, SystemExit) as error:
        raise _import_error(where, path, error) from error


def _run_file(path: str) -> ModuleType:
    name = f"corepath_agent_{hashlib.sha256(path.encode()).hexdigest()[:12]}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError("it is not a Python file")
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _import_error(where: str, path: str, error: BaseException) -> InputError:
    if isinstance(error, SyntaxError) and error.filename:
        message, place = error.msg, f"{_relative_path(error.filename)}:{error.lineno}"
    else:
        message, place = str(error), _locate(error, lambda file: file == path if path else "importlib" not in file)
    file, _, line = (place or f"{where}:1").rpartition(":")
    what = "" if file == where else f"{where} "
    return InputError([Problem(file, int(line), 1, f"{what}cannot be imported: {type(error).__name__}: {message}")])


def _locate_in_agent(agent: Agent, error: BaseException) -> str:
    """Return the `FILE:LINE` in the agent's own file at which the exception was raised.

    If the exception's traceback does not include that file, return the agent's first line. If the agent's file is
    unknown, return the place in whichever file raised the exception.
    """
    plain = inspect.unwrap(agent)
    code = getattr(plain, "__code__", None) or getattr(getattr(plain, "__call__", None), "__code__", None)  # noqa: B004
    if code is None:
        return _locate(error, lambda _: True)
    file, first = code.co_filename, code.co_firstlineno
    return _locate(error, lambda other: other == file) or f"{_relative_path(file)}:{first}"


def _locate(error: BaseException, wanted: Callable[[str], bool]) -> str:
    """Return `FILE:LINE` for the innermost traceback frame in a file for which `wanted` returns True.

    Return an empty string if there is no such frame.
    """
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if wanted(frame.filename)]
    return f"{_relative_path(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""


def _relative_path(file: str) -> str:
    """Return the path relative to the current folder if the file is inside that folder, and unchanged otherwise."""
    path, here = Path(file), Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else file


def _with_article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"
