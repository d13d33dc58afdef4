"""Draw the figures as PDF with matplotlib. This module needs the extra `figures`."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from corepath.report.figures import HeatMap, Scatter, core_versus_bfcl, heat_map, pareto_view
from corepath.report.plot import COLOURS, shape_of, short
from corepath.report.results import Results
from corepath.values import visible


def write_pdfs(results: Results, folder: Path) -> list[Path]:
    """Write all figures to a folder and return their paths. Equal results give equal bytes."""
    heat = heat_map(results)
    figures = {"core-versus-bfcl": _scatter(core_versus_bfcl(results)), "pareto": _scatter(pareto_view(results))}
    if heat.cells:
        figures["heat-map"] = _heat_map(heat)
    paths = []
    for name, figure in figures.items():
        paths.append(folder / f"{name}.pdf")
        figure.savefig(paths[-1], metadata={"CreationDate": None})
    return paths


def _scatter(scatter: Scatter) -> Figure:
    figure = Figure(figsize=(6.2, 5.2), layout="constrained")
    axes = figure.subplots()
    for number, agent in enumerate(scatter.agents):
        own = [point for point in scatter.points if point.agent == agent]
        axes.scatter(
            [point.x for point in own], [point.y for point in own], s=26, alpha=0.75, label=_plain(agent),
            color=COLOURS[number % len(COLOURS)], marker="os^D"[shape_of(number)],
            edgecolors=["black" if point.marked else "none" for point in own],
        )  # fmt: skip
    if scatter.diagonal:
        axes.plot([0, 1], [0, 1], linestyle="--", color="grey", linewidth=0.8)
    axes.set(xlabel=scatter.x_title, ylabel=scatter.y_title, xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
    if scatter.agents:
        figure.legend(loc="outside lower center", ncols=4, fontsize=7, frameon=False)
    return figure


def _heat_map(heat: HeatMap) -> Figure:
    width, height = 4 + 0.6 * len(heat.worlds), 3 + 0.3 * len(heat.agents)
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    values = [[float("nan") if cell.value is None else cell.value for cell in row] for row in heat.cells]
    axes.imshow(values, vmin=0, vmax=1, cmap="viridis", aspect="auto")
    axes.set_xticks(range(len(heat.worlds)), [_plain(world) for world in heat.worlds], rotation=60, ha="right")
    axes.set_yticks(range(len(heat.agents)), [_plain(agent) for agent in heat.agents])
    for row, cells in enumerate(heat.cells):
        for place, cell in enumerate(cells):
            if cell.value is not None:
                colour = "white" if cell.value < 0.6 else "black"
                axes.text(place, row, f"{cell.value:.2f}", ha="center", va="center", fontsize=6, color=colour,
                          alpha=0.5 if cell.grey else 1)  # fmt: skip
    axes.set_title(heat.title, fontsize=9)
    return figure


def _plain(text: str) -> str:
    """Shorten and escape a name for matplotlib, which reads an unescaped `$` as the start of a formula."""
    return visible(short(text, 24)).replace("$", r"\$")
