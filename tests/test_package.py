"""The package as users import it and as it is built."""

from __future__ import annotations

import json
import os
import pickle
import re
import subprocess
import sys
import tarfile
from email import message_from_string
from pathlib import Path

import pytest

import corepath
from tests.conftest import Run
from tests.documentation import PAGES
from tests.lowest import TOOLS, declared, lowest, tools

ROOT = Path(__file__).parent.parent
RELATIVE = re.compile(r"\]\((?!https?:|#)([^)#]+)")  # target of a relative link or picture


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
        "msgspec",
    }
    assert not heavy & set(json.loads(done.stdout))


def test_the_base_install_needs_none_of_the_heavy_packages() -> None:
    from importlib.metadata import requires

    base = {
        re.split(r"[<>=!~ \[;]", requirement)[0].lower()
        for requirement in requires("corepath") or []
        if "extra ==" not in requirement
    }
    assert base == {"google-re2", "msgspec", "pydantic", "pyyaml", "rich", "typer"}


def test_constraints_pin_versions_and_name_no_address() -> None:
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert lines
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]+==[\w.+!]+", line) for line in lines)


def test_every_direct_dependency_has_a_lower_bound() -> None:
    names = {lowest(requirement).partition("==")[0] for part in ("core", "extras") for requirement in declared(part)}
    assert names >= {"google-re2", "pydantic", "PyYAML", "rich", "typer", "inspect-ai", "openai", "mcp", "pandas"}
    with pytest.raises(SystemExit, match="'rich' has no lower bound"):
        lowest("rich")


@pytest.mark.parametrize("part", ["core", "extras"])
def test_the_lowest_versions_are_those_of_pyproject(part: str) -> None:
    text = (ROOT / "pyproject.toml").read_text()
    done = subprocess.run(
        [sys.executable, "tests/lowest.py", part], cwd=ROOT, capture_output=True, text=True, check=True
    )
    pins = [line for line in done.stdout.splitlines() if line not in tools()]
    assert len(pins) == len(declared(part))
    assert all(f'"{pin.replace("==", ">=")}"' in text for pin in pins), pins
    assert len(tools()) == len(TOOLS), "every tool of the tests is pinned in constraints.txt"


def test_a_typer_that_misreads_options_lets_no_gate_pass(tmp_path: Path, corepath: Run) -> None:
    """Typer 0.12 with click 8.5 reads options that take a value as flags."""
    (tmp_path / "sitecustomize.py").write_text(
        "import typer.core\n"
        "init = typer.core.TyperOption.__init__\n"
        "def misread(self, *names, **options):\n"
        "    init(self, *names, **{**options, 'is_flag': True, 'type': None})\n"
        "typer.core.TyperOption.__init__ = misread\n"
    )
    bank = ROOT / "examples" / "bank"
    gate = ("score", "--tasks", bank / "tasks", bank / "episodes.jsonl", "--max-harm", "0")
    assert corepath(*gate).returncode == 1
    done = corepath(*gate, env={"PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])})
    assert (done.returncode, done.stdout) == (2, "")
    assert "this typer misreads options; install one that does not" in done.stderr


def test_the_version_is_one_and_the_same(corepath: object) -> None:
    from importlib.metadata import version

    import corepath as package
    from corepath.scoring.arrays import COMPILED

    done = corepath("--version")  # type: ignore[operator]
    kernel = "compiled" if COMPILED else "plain Python"
    assert done.stdout.strip() == f"corepath {package.__version__} (kernel: {kernel})"
    assert version("corepath") == package.__version__
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"version: {package.__version__}" in citation


def test_nothing_of_the_package_is_left_out_of_what_is_built() -> None:
    """Wheels leave out what `.gitignore` names, and a folder without a leading / also matches inside the package."""
    ignored = [line.rstrip("/") for line in (ROOT / ".gitignore").read_text().splitlines() if line.endswith("/")]
    names = {path.name for path in (ROOT / "src").rglob("*") if path.is_dir()} - {"__pycache__"}
    assert not names & {line for line in ignored if not line.startswith("/")}


@pytest.mark.parametrize("target", ["run", "test"])
def test_make_says_first_what_it_will_do_and_how_long_it_takes(target: str) -> None:
    done = subprocess.run(["make", "-n", "-C", ROOT, target], capture_output=True, text=True, check=True)
    lines = [line for line in done.stdout.splitlines() if not line.startswith("make")]
    assert [line.startswith("echo ") for line in lines[:3]] == [True, True, False]
    assert "minutes" in lines[1]


def build(hook: str, into: Path) -> Path:
    """Call a hook of the build backend, as pip does, and return the path of the result."""
    code = f"import sys, hatchling.build; print(hatchling.build.{hook}(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", code, str(into)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return into / done.stdout.split()[-1]


def test_the_description_on_an_index_has_no_link_or_picture_that_leads_nowhere(tmp_path: Path) -> None:
    metadata = build("prepare_metadata_for_build_wheel", tmp_path) / "METADATA"
    described = message_from_string(metadata.read_text(encoding="utf-8"))
    text = described.get_payload()
    assert isinstance(text, str)
    assert described["Description-Content-Type"] == "text/markdown"
    assert RELATIVE.search((ROOT / "README.md").read_text(encoding="utf-8"))
    assert not RELATIVE.findall(text)
    assert "![" not in text
    assert "<img" not in text
    assert text.count("```") == (ROOT / "README.md").read_text(encoding="utf-8").count("```")


def test_the_source_archive_holds_what_the_pages_name_and_make_needs(tmp_path: Path) -> None:
    with tarfile.open(build("build_sdist", tmp_path)) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    linked = {
        (page.parent / target).resolve().relative_to(ROOT)
        for page in PAGES
        for target in RELATIVE.findall(page.read_text(encoding="utf-8"))
    }
    assert {str(path) for path in linked if (ROOT / path).is_file()} <= held
    named = {
        "Makefile",
        "constraints.txt",
        "pyproject.toml",
        "CHANGELOG.md",
        "CITATION.cff",
        "CONTRIBUTING.md",
        "hatch_build.py",
    }
    assert named | {"LICENSE", "README.md", ".gitignore", "tests/bfcl.txt"} <= held
    for folder in ("src", "tests", "benchmarks", "docs", "examples"):
        files = {path for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts}
        assert {str(path.relative_to(ROOT)) for path in files if path.suffix != ".so"} <= held
    assert not any(name.endswith(".so") for name in held), "the kernel is compiled where it is installed"


def test_errors_reach_other_processes_whole() -> None:
    from corepath.errors import InputError, NotationError, Problem, TaskError

    errors = [
        TaskError.of("no tool 'x'", "actions", 0),
        NotationError("expected a value", "a(b=)", 4),
        InputError([Problem("tasks.yaml", 3, 1, "no such field")]),
    ]
    for error in errors:
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error)
        assert str(again) == str(error)
        assert vars(again) == vars(error)
