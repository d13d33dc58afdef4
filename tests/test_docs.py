"""Every example in the README and the docs runs and prints the recorded output."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.documentation import PAGES, ROOT, blocks, checked


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_print_what_is_written(page: Path) -> None:
    for block, really, exits in checked(page):
        assert block.body == really
        assert {code for code in exits if code} == {block.exit} - {0}, f"write ```console exit={max(exits)}"


def test_a_command_that_fails_is_announced(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```console exit=3\n$ true\n$ exit 3\n```\n```console\n$ exit 4\n```\n", encoding="utf-8")
    assert [(block.exit, exits) for block, _, exits in checked(page)] == [(3, (0, 3)), (0, (4,))]


def test_a_block_is_run_only_where_the_package_that_it_needs_is_installed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    text = "```console needs=not_installed\n$ exit 3\n```\n```console needs=json\n$ true\n```\n"
    page.write_text(text, encoding="utf-8")
    assert [(block.needs, exits) for block, _, exits in checked(page)] == [("json", (0,))]


def test_every_python_block_is_followed_by_its_output() -> None:
    for page in PAGES:
        kinds = [one.kind for one in blocks(page.read_text(encoding="utf-8")) if one.file is None]
        for place, kind in enumerate(kinds):
            assert kind != "python" or kinds[place + 1 : place + 2] == ["output"], page.name


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), (page.relative_to(ROOT), target)
