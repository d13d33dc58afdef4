"""docs/architecture.md matches the import graph, and files and functions are short."""

from __future__ import annotations

import ast
import re
import tomllib

import grimp
import pytest

from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
REGISTRY = "corepath.importers.registry"
GRAPH = grimp.build_graph("corepath", exclude_type_checking_imports=True)


def section(title: str) -> str:
    """The text below a heading, up to the next one."""
    return PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]


def levels() -> list[list[str]]:
    """The rows of the page's table of rooms: the names of the rooms on each level, from top to bottom."""
    rows = re.findall(r"^\| (`.*?) \|", section("The rooms"), re.MULTILINE)
    return [re.findall(r"`([\w.]+)`", row) for row in rows]


def walks() -> dict[str, list[str]]:
    """The modules of each walk, by its title."""
    found = re.findall(r"^### ([^\n]+)\n(.*?)(?=^### |\Z)", section("Four walks"), re.MULTILINE | re.DOTALL)
    return {title: re.findall(r"^\d+\. `([\w.]+)`", text, re.MULTILINE) for title, text in found}


def imports(module: str) -> set[str]:
    """The modules that a module imports; the registry loads the formats of traces by name."""
    by_name = {one for one in GRAPH.modules if one.startswith("corepath.importers.formats.")}
    return GRAPH.find_modules_directly_imported_by(module) | (by_name if module == REGISTRY else set())


def test_the_page_has_every_room_on_its_level() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(one["layers"] for one in contracts if one["type"] == "layers")
    assert levels() == [re.findall(r"[\w.]+", layer) for layer in layers]
    rooms = {name.split(".")[1] for name in GRAPH.modules if "." in name}
    assert {room for level in levels() for room in level} == rooms


def test_rooms_import_only_from_the_levels_below() -> None:
    level_of = {room: number for number, level in enumerate(levels()) for room in level}
    for module in GRAPH.modules:
        for other in GRAPH.find_modules_directly_imported_by(module):
            if "." not in module or "." not in other:  # the package itself gathers names from everywhere
                continue
            room, below = module.split(".")[1], other.split(".")[1]
            assert room == below or level_of[room] <= level_of[below], f"{module} imports {other}"


def test_there_are_four_walks() -> None:
    assert len(walks()) == 4
    assert all(len(modules) >= 6 for modules in walks().values())


@pytest.mark.parametrize("title", walks())
def test_each_module_of_a_walk_is_a_command_or_imported_by_one_before_it(title: str) -> None:
    modules = [f"corepath.{name}" for name in walks()[title]]
    commands = {one for one in GRAPH.modules if one.startswith("corepath.cli.")}
    assert modules[0] in commands
    for place, module in enumerate(modules):
        assert module in GRAPH.modules, f"no module {module}"
        imported = {one for earlier in modules[:place] for one in imports(earlier)}
        assert module in imported | commands, f"{module} is imported by none of {modules[:place]}"


def test_files_and_functions_are_short() -> None:
    for path in (ROOT / "src").rglob("*.py"):
        source = path.read_text("utf-8")
        assert "worlds" in path.parts or source.count("\n") <= 450, path
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert (node.end_lineno or 0) - node.lineno < 50, f"{path}: {node.name}"
