"""Import users' own Python files and modules: `FILE.py` or `MODULE`."""

from __future__ import annotations

import hashlib
import os
import sys
import traceback
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from corepath.errors import InputError, OptionError, Problem


def load_module(where: str, wanted: str) -> ModuleType:
    """Import a Python file or a module. The file is executed, as in any import.

    Raises `OptionError` if there is none, and `InputError` with file and line if it cannot be imported. `wanted` says
    what would be right if there is no such module.
    """
    is_file = where.endswith(".py") or os.sep in where
    if is_file and not Path(where).is_file():
        raise OptionError(f"no such file or folder: {where}")
    try:
        return _import(where, str(Path(where).resolve()) if is_file else "")
    except ModuleNotFoundError as error:
        raise OptionError(f"no module '{error.name}'; {wanted}") from None


@lru_cache(maxsize=64)
def _import(where: str, path: str) -> ModuleType:
    """Import the file at `path`, or the module `where` if `path` is empty.

    The file's folder, or the current folder for a module, is added to `sys.path`. Raises `ModuleNotFoundError` only if
    there is no module `where`.
    """
    folder = str(Path(path).parent) if path else os.getcwd()  # noqa: PTH109
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return _run_file(path) if path else import_module(where)
    except ModuleNotFoundError as error:
        if not path and error.name is not None and f"{where}.".startswith(f"{error.name}."):
            raise
        raise _import_error(where, path, error) from error
    except (Exception, SystemExit) as error:
        raise _import_error(where, path, error) from error


def _run_file(path: str) -> ModuleType:
    name = f"corepath_own_{hashlib.sha256(path.encode()).hexdigest()[:12]}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError("it is not a Python file")
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _import_error(where: str, path: str, error: BaseException) -> InputError:
    if isinstance(error, SyntaxError) and error.filename:
        message, place = error.msg, f"{relative_path(error.filename)}:{error.lineno}"
    else:
        message, place = str(error), locate(error, lambda file: file == path if path else "importlib" not in file)
    file, _, line = (place or f"{where}:1").rpartition(":")
    what = "" if file == where else f"{where} "
    return InputError([Problem(file, int(line), 1, f"{what}cannot be imported: {type(error).__name__}: {message}")])


def locate(error: BaseException, wanted: Callable[[str], bool]) -> str:
    """Return `FILE:LINE` for the innermost traceback frame in a file for which `wanted` returns True.

    Return an empty string if there is no such frame.
    """
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if wanted(frame.filename)]
    return f"{relative_path(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""


def relative_path(file: str) -> str:
    """Return the path relative to the current folder if the file is inside that folder, and unchanged otherwise."""
    path, here = Path(file), Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else file
