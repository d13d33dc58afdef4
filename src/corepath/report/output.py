"""Write a report to a folder: the page, every table in four formats, and the figures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from corepath.report.dots import dots
from corepath.report.figures import core_versus_bfcl, heat_map, pareto_view
from corepath.report.fix_tables import fixes_table, tools_table
from corepath.report.page import page
from corepath.report.results import Result, Results
from corepath.report.summary_table import MORE_COLUMNS, Means
from corepath.report.table import Table
from corepath.report.tables import (
    agents_table,
    faults_table,
    harms_table,
    pairs_table,
    reward_table,
    rules_table,
    tasks_table,
    worlds_table,
)
from corepath.runs.folder import replace_file

PAGE = "index.html"


def tables_of(results: Results) -> dict[str, Table]:
    """Return a report's tables, keyed by file name. Tables with nothing to show are left out."""
    tables = {
        "agents": agents_table(results),
        "worlds": worlds_table(results),
        "failure-modes": faults_table(results),
        "harms": harms_table(results),
        "fixes": fixes_table(results.fixes),
        "harms-by-tool": tools_table(results.fixes),
        "rules": rules_table(results),
        "reward": reward_table(results.agreements),
        "agents-with-intervals": agents_table(results, Means(MORE_COLUMNS, intervals=True)),
        "agents-by-world": pairs_table(results, Means(MORE_COLUMNS)),
        "tasks": tasks_table(results, Means(MORE_COLUMNS)),
    }
    return {name: table for name, table in tables.items() if table is not None}


def write_report(results: Results, folder: Path, shown: Sequence[Result] | None = None) -> Path:
    """Write the page, the tables and the SVG figures to a folder, and return the page's path.

    The page has the episodes of `shown`, or all episodes if it is None.
    """
    folder.mkdir(parents=True, exist_ok=True)
    replace_file(folder / PAGE, page(results, shown))  # first: tables use what it explains
    for name, table in tables_of(results).items():
        formats = {"txt": table.text(), "md": table.markdown(), "csv": table.csv(), "tex": table.latex()}
        for ending, text in formats.items():
            replace_file(folder / f"{name}.{ending}", text + "\n")
    figures = {
        "agents": dots(results).svg(), "core-versus-bfcl": core_versus_bfcl(results).svg(),
        "pareto": pareto_view(results).svg(), "heat-map": heat_map(results).svg(),
    }  # fmt: skip
    for name, figure in figures.items():
        replace_file(folder / f"{name}.svg", figure + "\n")
    replace_file(folder / "fixes.json", json.dumps(results.fixes.to_dict(), indent=1) + "\n")
    return folder / PAGE


def write_figures(results: Results, folder: Path) -> list[Path] | None:
    """Write the figures as PDF and return their paths, or None if the extra `figures` is not installed."""
    try:
        from corepath.report.pdf import write_pdfs  # noqa: PLC0415  # an extra
    except ImportError:
        return None
    return write_pdfs(results, folder)
