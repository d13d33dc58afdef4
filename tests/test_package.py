"""The package as it is imported and shipped."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import corepath

ROOT = Path(__file__).parent.parent


def test_public_names_are_sorted_and_complete() -> None:
    constants_classes_functions = [(not name.isupper(), not name[0].isupper(), name) for name in corepath.__all__]
    assert constants_classes_functions == sorted(constants_classes_functions)
    from types import ModuleType

    assert all(hasattr(corepath, name) for name in corepath.__all__)
    defined = {name for name, value in vars(corepath).items() if not isinstance(value, ModuleType)}
    public = {name for name in defined if not name.startswith("_")} - {"TYPE_CHECKING", "Any"}
    assert public <= set(corepath.__all__)


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = "import corepath, sys, json; print(json.dumps(sorted(name.split('.')[0] for name in sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"numpy", "numba", "pyarrow", "inspect_ai", "fastmcp", "matplotlib", "typer", "rich", "re2", "asyncio"} | {
        "pydantic",
        "yaml",
    }
    assert not heavy & set(json.loads(done.stdout))


def test_the_base_install_needs_none_of_the_heavy_packages() -> None:
    from importlib.metadata import requires

    base = {
        re.split(r"[<>=!~ \[;]", requirement)[0].lower()
        for requirement in requires("corepath") or []
        if "extra ==" not in requirement
    }
    assert base == {"google-re2", "pydantic", "pyyaml", "rich", "typer"}


def test_constraints_pin_versions_and_name_no_address() -> None:
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert lines
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]+==[\w.+!]+", line) for line in lines)


def test_the_version_is_one_and_the_same(corepath: object) -> None:
    from importlib.metadata import version

    import corepath as package

    done = corepath("--version")  # type: ignore[operator]
    assert done.stdout.strip() == f"corepath {package.__version__}"
    assert version("corepath") == package.__version__
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"version: {package.__version__}" in citation


def test_nothing_of_the_package_is_left_out_of_what_is_built() -> None:
    """What `.gitignore` names is in no wheel; a folder's name without a leading / matches inside the package too."""
    ignored = [line.rstrip("/") for line in (ROOT / ".gitignore").read_text().splitlines() if line.endswith("/")]
    names = {path.name for path in (ROOT / "src").rglob("*") if path.is_dir()} - {"__pycache__"}
    assert not names & {line for line in ignored if not line.startswith("/")}


@pytest.mark.parametrize("target", ["run", "test"])
def test_make_says_first_what_it_will_do_and_how_long_it_takes(target: str) -> None:
    done = subprocess.run(["make", "-n", "-C", ROOT, target], capture_output=True, text=True, check=True)
    lines = [line for line in done.stdout.splitlines() if not line.startswith("make")]
    assert [line.startswith("echo ") for line in lines[:3]] == [True, True, False]
    assert "minutes" in lines[1]
