"""Agents of one's own: a function of a `Session`, named as `FILE.py:FUNCTION` or `MODULE:FUNCTION`."""

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
from corepath.play.play import recorded, seed_of
from corepath.play.session import Agent, Session
from corepath.scoring.options import Scoring
from corepath.task import Task
from corepath.values import why_not_json

RAISED: Final = "raised in the agent"
"""The kind of failure of an episode in which the agent itself raised."""
LONGEST_MESSAGE: Final = 500


def is_own(name: str) -> bool:
    """Whether an agent is named as one's own, and not as a built-in one with its rate: `swapped:0.3`."""
    where, _, function = name.rpartition(":")
    return bool(where) and where not in BUILT_IN and function.isidentifier()


def find_agent(name: str) -> Agent:
    """The agent of that name, built-in or one's own. Raises `OptionError` or `TaskError` where there is none.

    A file that cannot be imported raises `InputError` with its place.
    """
    if is_own(name):
        where, _, function = name.rpartition(":")
        return _function(where, function)
    if name.partition(":")[0].endswith(".py"):
        raise OptionError(f"which function of {name.partition(':')[0]} is the agent? Write it as FILE.py:FUNCTION")
    return built_in(name)


def digest(name: str) -> str:
    """A hash of the file that an agent of one's own stands in; what that file imports is not looked at."""
    file = _module(name.rpartition(":")[0]).__file__
    return hashlib.sha256(Path(file).read_bytes() if file else b"").hexdigest()[:16]


def check_agent(agent: Any, called: str) -> None:
    """Raise `OptionError` unless it can be called with a session, and nothing else."""
    if not callable(agent):
        raise OptionError(f"{called} is {_a(type(agent).__name__)}, and an agent is a function of a session")
    if inspect.isclass(agent):
        raise OptionError(f"{called} is a class, and an agent is a function of a session; make an object of it first")
    if inspect.iscoroutinefunction(agent) or inspect.iscoroutinefunction(getattr(agent, "__call__", None)):  # noqa: B004
        raise OptionError(f"{called} is async; write a function around it: return asyncio.run(...)")
    try:
        signature = inspect.signature(agent)
    except (TypeError, ValueError):  # one that is written in C has none
        return
    try:
        signature.bind(None)
    except TypeError:
        raise OptionError(f"{called} takes {signature}, and an agent takes one argument, the session") from None


def attempt(agent: Agent, task: Task, *, name: str, epoch: int, seed: int, scoring: Scoring) -> Episode:
    """The agent on the task, as `play` does it, but what the agent raises is recorded in place of its answer."""
    session = Session(task, seed_of(seed, name, task.id, epoch))
    answer, ended, failure = None, ANSWERED, {}
    try:
        answer = agent(session)
        if wrong := why_not_json([answer, session.notes, session.messages]):
            raise TypeError(f"what an agent answers, says and notes is text or other JSON: {wrong}")  # noqa: TRY301
    except StepLimitError:
        ended = STEP_LIMIT
    except (Exception, SystemExit) as error:  # noqa: BLE001  # whatever it is, the run goes on
        ended, answer = FAILED_OUTSIDE, None
        message = f"{type(error).__name__}: {error}"[:LONGEST_MESSAGE]
        failure = {"failure": {"kind": RAISED, "message": message, "at": _place_in(agent, error)}}
        if why_not_json([session.notes, session.messages]):
            session.notes.clear()
            session.messages.clear()
    return recorded(
        session, name, epoch=epoch, seed=seed, answer=answer, ended=ended, scoring=scoring, more=failure
    )  # fmt: skip


def _function(where: str, function: str) -> Agent:
    module = _module(where)
    if not hasattr(module, function):
        own = [name for name, value in vars(module).items()
               if inspect.isfunction(value) and value.__module__ == module.__name__]  # fmt: skip
        raise OptionError(f"no function '{function}' in {where}{nearest(function, own)}")
    found: Agent = getattr(module, function)
    check_agent(found, f"'{function}' in {where}")
    return found


def _module(where: str) -> ModuleType:
    is_file = where.endswith(".py") or os.sep in where
    if is_file and not Path(where).is_file():
        raise OptionError(f"no such file or folder: {where}")
    return _loaded(where, str(Path(where).resolve()) if is_file else "")


@lru_cache(maxsize=64)
def _loaded(where: str, path: str) -> ModuleType:
    """The file or module, run as an import does; it may import what stands beside it."""
    beside = str(Path(path).parent) if path else os.getcwd()  # noqa: PTH109
    if beside not in sys.path:
        sys.path.insert(0, beside)
    try:
        return _run_file(path) if path else import_module(where)
    except ModuleNotFoundError as error:
        if not path and error.name is not None and f"{where}.".startswith(f"{error.name}."):
            raise OptionError(f"no module '{error.name}'; an agent is a built-in one, FILE.py:FUNCTION or "
                              "MODULE:FUNCTION") from None  # fmt: skip
        raise _not_imported(where, path, error) from error
    except (Exception, SystemExit) as error:
        raise _not_imported(where, path, error) from error


def _run_file(path: str) -> ModuleType:
    name = f"corepath_agent_{hashlib.sha256(path.encode()).hexdigest()[:12]}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError("it is no Python file")
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _not_imported(where: str, path: str, error: BaseException) -> InputError:
    if isinstance(error, SyntaxError) and error.filename:
        message, place = error.msg, f"{_shown(error.filename)}:{error.lineno}"
    else:
        message, place = str(error), _place(error, lambda file: file == path if path else "importlib" not in file)
    file, _, line = (place or f"{where}:1").rpartition(":")
    what = "" if file == where else f"{where} "
    return InputError([Problem(file, int(line), 1, f"{what}cannot be imported: {type(error).__name__}: {message}")])


def _place_in(agent: Agent, error: BaseException) -> str:
    """Where in the agent's own file it raised; where that is not known, where anything did."""
    plain = inspect.unwrap(agent)
    code = getattr(plain, "__code__", None) or getattr(getattr(plain, "__call__", None), "__code__", None)  # noqa: B004
    if code is None:
        return _place(error, lambda _: True)
    return _place(error, lambda file: file == code.co_filename) or f"{_shown(code.co_filename)}:{code.co_firstlineno}"


def _place(error: BaseException, wanted: Callable[[str], bool]) -> str:
    """`FILE:LINE` of the innermost wanted file that the error came through."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if wanted(frame.filename)]
    return f"{_shown(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""


def _shown(file: str) -> str:
    """A file as seen from here."""
    path, here = Path(file), Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else file


def _a(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"
