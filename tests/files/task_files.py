"""Task files for tests, and what the index finds in them."""

from __future__ import annotations

from pathlib import Path

from corepath import InputError
from corepath.files.task_index import TaskIndex


def write(folder: Path, text: str, name: str = "tasks.yaml") -> Path:
    file = folder / name
    file.parent.mkdir(exist_ok=True, parents=True)
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    return file


def ids_of(file: Path) -> list[str] | None:
    """The ids that the index finds, or None if it reports problems."""
    try:
        return list(TaskIndex(file).entries())
    except InputError:
        return None


def problems_of_all(file: Path) -> list[str]:
    """The problems that are reported when every task that the index finds is built."""
    found: list[str] = []
    index = TaskIndex(file)
    try:
        entries = index.entries()
    except InputError as error:
        return list(map(str, error.problems))
    for id_ in entries:
        try:
            assert index.build(id_).id == id_
        except InputError as error:
            found += map(str, error.problems)
    return found
