"""Draw the figures as PDF with matplotlib. This module needs the extra `figures`."""

from __future__ import annotations

from pathlib import Path

from matplotlib import rc_context
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from corepath.report.dots import TINTS, Dots, dots
from corepath.report.figures import HeatMap, Scatter, core_versus_bfcl, heat_map, pareto_view
from corepath.report.plot import COLOURS, SCALE, ink_on, level_of, shape_of, short
from corepath.report.results import Results
from corepath.values import visible


def write_pdfs(results: Results, folder: Path) -> list[Path]:
    """Write all figures to a folder and return their paths. Equal results give equal bytes.

    Fonts are embedded as TrueType (Type 42), since many journals refuse Type 3.
    """
    heat, ranked = heat_map(results), dots(results)
    figures = {"core-versus-bfcl": _scatter(core_versus_bfcl(results)), "pareto": _scatter(pareto_view(results))}
    if heat.cells:
        figures["heat-map"] = _heat_map(heat)
    if ranked.measures:
        figures["agents"] = _dots(ranked)
    paths = []
    for name, figure in figures.items():
        paths.append(folder / f"{name}.pdf")
        with rc_context({"pdf.fonttype": 42}):
            figure.savefig(paths[-1], metadata={"CreationDate": None})
    return paths


def _dots(ranked: Dots) -> Figure:
    """Draw a dot and an interval for each agent, with a panel for each measure and the floor as a band."""
    figure = Figure(figsize=(2.6 + 2.2 * len(ranked.measures), 1.2 + 0.26 * len(ranked.rows)), layout="constrained")
    panels = figure.subplots(1, len(ranked.measures), sharey=True, squeeze=False)[0]
    for place, (axes, measure, band) in enumerate(zip(panels, ranked.measures, ranked.bands, strict=True)):
        if band is not None:
            axes.axvspan(*band, color="0.88", linewidth=0)
        for number, row in enumerate(ranked.rows):
            dot = row.dots[place]
            if dot is None:
                continue
            if dot.interval is not None:
                axes.plot(dot.interval, [number, number], color=TINTS[measure.key], linewidth=1.5)
            axes.plot([dot.mean], [number], "o", color=TINTS[measure.key], markersize=4.5)
        axes.set_title(f"{measure.title}\n{measure.good}", fontsize=8)
        axes.set(xlim=(-0.04, 1.04))
        axes.grid(visible=True, axis="x", color="0.9", linewidth=0.6)
        axes.tick_params(labelsize=7)
    panels[0].set_yticks(range(len(ranked.rows)), [_plain(row.agent) for row in ranked.rows])
    panels[0].invert_yaxis()
    return figure


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
    axes.plot([x for x, _ in scatter.front], [y for _, y in scatter.front], color="black", linewidth=1)
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
    values = [[float("nan") if cell.value is None or cell.grey else cell.value for cell in row] for row in heat.cells]
    axes.imshow(values, vmin=0, vmax=1, cmap=ListedColormap(SCALE), aspect="auto")
    axes.set_xticks(range(len(heat.worlds)), [_plain(world) for world in heat.worlds], rotation=60, ha="right")
    axes.set_yticks(range(len(heat.agents)), [_plain(agent) for agent in heat.agents])
    for row, cells in enumerate(heat.cells):
        for place, cell in enumerate(cells):
            if cell.value is not None:
                colour = "0.4" if cell.grey else ink_on(SCALE[level_of(cell.value)])
                axes.text(place, row, f"{cell.value:.2f}", ha="center", va="center", fontsize=6, color=colour,
                          style="italic" if cell.grey else "normal")  # fmt: skip
    axes.set_title(heat.title, fontsize=9)
    return figure


def _plain(text: str) -> str:
    """Shorten and escape a name for matplotlib, which reads an unescaped `$` as the start of a formula."""
    return visible(short(text, 24)).replace("$", r"\$")
