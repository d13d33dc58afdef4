"""Print the lowest versions that pyproject.toml allows, for pip: `python tests/lowest.py core`, or `extras`."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
TOOLS = ("hypothesis", "jsonschema", "playwright", "pytest", "pytest-xdist")  # the tests need them; pinned too


def declared(part: str) -> list[str]:
    """Direct dependencies of the package (`core`), or of all its extras except `dev` (`extras`)."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    if part == "core":
        return list(project["dependencies"])
    return [one for extra, some in project["optional-dependencies"].items() if extra != "dev" for one in some]


def lowest(requirement: str) -> str:
    """Pin a requirement to its lower bound: `rich>=13.9.4` becomes `rich==13.9.4`."""
    bound = re.fullmatch(r"([\w.-]+)>=([\w.]+)", requirement)
    if bound is None:
        raise SystemExit(f"pyproject.toml: {requirement!r} has no lower bound; write it as name>=version")
    return f"{bound[1]}=={bound[2]}"


def tools() -> list[str]:
    pinned = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in pinned if line.partition("==")[0] in TOOLS]


if __name__ == "__main__":
    print("\n".join([*map(lowest, declared(sys.argv[1])), *tools()]))
