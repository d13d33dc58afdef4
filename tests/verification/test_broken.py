"""Worlds and tasks that are broken on purpose: verify names what is wrong with each."""

from __future__ import annotations

from pathlib import Path

import pytest

from corepath.errors import CorepathError
from corepath.verification.verify import verify_seeds
from corepath.world.discovery import load_worlds

FOLDER = Path(__file__).parent / "broken"
FILES = sorted(path for path in FOLDER.glob("*.py") if path.stem not in ("__init__", "shop", "sound"))


def failures(path: Path) -> list[str]:
    try:
        (world,) = load_worlds(str(path))
    except CorepathError as error:
        return [str(error)]
    return [failure for name in world.makers for failure in verify_seeds(world, name, 2, 3_000).failures]


def test_there_are_enough_of_them() -> None:
    assert len(FILES) >= 25


def test_nothing_is_wrong_with_what_they_are_made_of() -> None:
    assert failures(FOLDER / "sound.py") == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_verify_says_what_is_wrong(path: Path) -> None:
    reason = path.read_text().split('"""')[1].replace('\\"', '"')
    found = failures(path)
    assert any(reason in failure for failure in found), found
    assert reason
