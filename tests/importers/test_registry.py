"""Every format is registered once, loads as a `Format`, and states in the docs what counts as an error."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from pkgutil import iter_modules

import pytest

from corepath.errors import TaskError
from corepath.importers import formats
from corepath.importers.format import Format, Source
from corepath.importers.registry import FORMATS, SOURCES, find_format, find_source, load_format, load_source

ROOT = Path(__file__).parents[2]


def test_every_module_of_formats_is_registered_under_its_name() -> None:
    modules = {module.name for module in iter_modules(formats.__path__)}
    assert modules == {name.replace("-", "_") for name in (*FORMATS, *SOURCES)}
    assert len(FORMATS) == len(set(FORMATS))


@pytest.mark.parametrize("name", FORMATS)
def test_a_registered_format_loads_under_its_name(name: str) -> None:
    found = load_format(name)
    assert isinstance(found, Format)
    assert (found.name, find_format(name)) == (name, found)


@pytest.mark.parametrize("name", SOURCES)
def test_a_registered_source_loads_under_its_name(name: str) -> None:
    found = load_source(name)
    assert isinstance(found, Source)
    assert (found.name, find_source(name)) == (name, found)
    assert found.tool_file is None or found.tool_file.is_file()


def test_the_docs_state_what_each_format_counts_as_an_error() -> None:
    text = (ROOT / "docs" / "import.md").read_text(encoding="utf-8")
    table = text.partition("## What counts as an error")[2].partition("\n## ")[0]
    stated = dict(re.findall(r"^\| `(\w[\w-]*)` \| (.+) \|$", table, re.MULTILINE))
    assert stated == {name: load_format(name).errors for name in FORMATS if name != "corepath"}


def test_only_a_format_that_takes_a_setting_is_found_with_one() -> None:
    for name in ("openai:map.yaml", "generic-map", "generics:map.yaml"):
        with pytest.raises(TaskError, match=f"no format '{name}'"):
            find_format(name)
    with pytest.raises(TaskError, match="no source 'openai'"):
        find_source("openai")


def test_the_registry_imports_no_format_before_it_is_needed() -> None:
    code = "import sys, corepath.importers; print([m for m in sys.modules if 'importers.formats' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
