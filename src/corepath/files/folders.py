"""Find the files in a folder that may hold tasks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

TASK_ENDINGS = (".yaml", ".yml", ".json")


def find_files(folder: str | Path, *endings: str) -> Iterator[Path]:
    """Yield the files with these endings in a folder and its subfolders, except hidden files and run folders."""
    for path in sorted(Path(folder).rglob("*")):
        if path.suffix in endings and path.is_file() and not _is_hidden(path, folder) and not _is_in_run(path, folder):
            yield path


def _is_hidden(path: Path, folder: str | Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(folder).parts)


def _is_in_run(path: Path, folder: str | Path) -> bool:
    return any((above / "episodes.jsonl").is_file() for above in path.parents if above.is_relative_to(folder))
