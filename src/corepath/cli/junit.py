"""Writes a gate's results as JUnit XML for CI systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

from corepath.cli.printing import usage_error
from corepath.values import visible


@dataclass(frozen=True)
class Case:
    """One episode's result: the limits it broke, or why it could not be scored."""

    name: str
    file: str
    failures: tuple[str, ...] = ()
    error: str | None = None


def write_junit(path: Path, cases: Sequence[Case]) -> None:
    """Write the cases to a JUnit XML file as one test suite."""
    counts = {
        "tests": len(cases),
        "failures": sum(bool(case.failures) for case in cases),
        "errors": sum(case.error is not None for case in cases),
    }
    root = ET.Element("testsuites", {name: str(count) for name, count in counts.items()})
    suite = ET.SubElement(root, "testsuite", {"name": "corepath", **root.attrib})
    for case in cases:
        made = ET.SubElement(suite, "testcase", {"name": visible(case.name), "classname": visible(case.file)})
        if case.failures:
            failed = ET.SubElement(made, "failure", {"message": visible("; ".join(case.failures))})
            failed.text = "\n".join(map(visible, case.failures))
        if case.error is not None:
            ET.SubElement(made, "error", {"message": visible(case.error)})
    ET.indent(root, " ")
    try:
        path.write_bytes(ET.tostring(root, "utf-8", xml_declaration=True) + b"\n")
    except OSError as error:
        usage_error(f"--junit {path}: {error.strerror}")
