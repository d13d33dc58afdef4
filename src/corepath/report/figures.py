"""The figures as data: CORE versus BFCL, the Pareto view and the heat map. `plot` and `pdf` draw them."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from corepath.report.comparison import difference
from corepath.report.plot import SCALE, ink_on, level_of, scatter_svg, short, text_of
from corepath.report.results import Results
from corepath.scoring.summary import Summary, pareto_front


@dataclass(frozen=True)
class Point:
    """A point in a scatter plot, for an agent or for an agent in one world. A marked point is drawn with a ring."""

    x: float
    y: float
    agent: str
    world: str | None = None
    marked: bool = False

    @property
    def label(self) -> str:
        """The agent's name, followed by the world if there is one."""
        return short(self.agent if self.world is None else f"{self.agent} in {self.world}")


@dataclass(frozen=True)
class Scatter:
    """A scatter plot with both axes from 0 to 1.

    If `diagonal` is True, the line on which both scores agree is drawn. If `named` is True, names are written beside
    the points instead of in a legend. `front` has the corners of the Pareto front of both scores, from left to right.
    """

    title: str
    x_title: str
    y_title: str
    points: tuple[Point, ...]
    note: str = ""
    diagonal: bool = False
    named: bool = False
    front: tuple[tuple[float, float], ...] = ()

    @property
    def agents(self) -> list[str]:
        """The agents in order of appearance. This order decides their colours and shapes."""
        return list(dict.fromkeys(point.agent for point in self.points))

    def svg(self) -> str:
        """Return the plot as SVG."""
        return scatter_svg(self)


@dataclass(frozen=True)
class Cell:
    """An agent's mean score in a world, and its difference from the mean of all agents on the same tasks.

    `detectable` is the smallest difference that could have been detected. Fields that cannot be computed are None.
    """

    value: float | None
    difference: float | None = None
    detectable: float | None = None

    @property
    def grey(self) -> bool:
        """Whether the cell has no colour: the difference is unknown, or too small to be detected with these tasks."""
        return self.difference is None or self.detectable is None or abs(self.difference) < self.detectable


@dataclass(frozen=True)
class HeatMap:
    """A heat map of one score, with a row for each agent and a column for each world."""

    title: str
    agents: tuple[str, ...]
    worlds: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]
    note: str

    def html(self) -> str:
        """Return an HTML table whose cells are coloured by value."""
        head = "".join(f'<th scope="col">{text_of(world)}</th>' for world in self.worlds)
        body = "".join(
            f'<tr><th scope="row"><bdi>{text_of(agent)}</bdi></th>{"".join(map(_heat, row))}</tr>'
            for agent, row in zip(self.agents, self.cells, strict=True)
        )
        return (
            f'<table class="heat"><caption>{escape(self.title)}</caption><thead><tr><th scope="col">agent</th>{head}'
            f'</tr></thead><tbody>{body}</tbody></table><p class="note">{escape(self.note)}</p>'
        )

    def svg(self) -> str:
        """Return the heat map as one SVG element, for other documents."""
        name, wide, high = 170, 56, 24
        width, height = name + wide * len(self.worlds), 90 + high * len(self.agents)
        heads = "".join(
            f'<text transform="translate({name + wide * place + 30} 80) rotate(-35)" fill="currentColor">'
            f"{text_of(world, 14)}</text>"
            for place, world in enumerate(self.worlds)
        )
        body = "".join(
            f'<text y="{90 + high * row + 16}" fill="currentColor">{text_of(agent, 24)}</text>'
            + "".join(_svg_cell(cell, name + wide * place, 90 + high * row) for place, cell in enumerate(cells))
            for row, (agent, cells) in enumerate(zip(self.agents, self.cells, strict=True))
        )
        return (
            f'<svg class="heat" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width + 40} {height}" role="img" '
            f'aria-label="{escape(self.title)}" font-family="system-ui, sans-serif" font-size="12">'
            f"<title>{escape(self.title)}</title>{heads}{body}</svg>"
        )


def core_versus_bfcl(results: Results) -> Scatter:
    """Plot path correctness against BFCL state match as in the paper, with one point per agent and world."""
    points = [
        Point(state, path, agent, world)
        for (agent, world), one in results.by_pair.items()
        if (state := one.mean("state_match")) is not None and (path := one.mean("pc")) is not None
    ]
    return Scatter(
        "CORE versus BFCL over (agent, world) pairs", "BFCL State: share of episodes with the right final state",
        "CORE: mean PC", tuple(points),
        "On the line both agree. Below it the final state looks better than the path that led there.", diagonal=True,
    )  # fmt: skip


def pareto_view(results: Results) -> Scatter:
    """Plot agents by acceptance and 1 − harm rate, and mark the Pareto front over all scores."""
    front = set(pareto_front(results.by_agent.values()))
    points = [
        Point(accepted, harmless, one.name, marked=one.name in front)
        for one in results.by_agent.values()
        if (accepted := one.mean("accepted")) is not None and (harmless := one.mean("harm_free")) is not None
    ]
    names = ", ".join(sorted(front)) or "nobody"
    return Scatter(
        "Pareto view", "accepted: share of episodes that finished the task", "1 − HarmRate", tuple(points),
        "Line: the Pareto front of these two scores; no agent is above it or to the right of it. "
        f"Ringed: the Pareto front over all scores of the vector ({names}).",
        named=True, front=_steps([(point.x, point.y) for point in points]),
    )  # fmt: skip


def _steps(points: list[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Return the corners of the line that bounds what is dominated by one of the points, from left to right."""
    corners: list[tuple[float, float]] = []
    left = 0.0
    for x, y in sorted(points, key=lambda point: (-point[1], -point[0])):
        if not corners or x > left:
            corners += [(left, y), (x, y)]
            left = x
    return (*corners, (left, 0.0)) if corners else ()


def heat_map(results: Results, score: str = "pc", title: str = "PC") -> HeatMap:
    """Build a heat map of one score for every agent in every world.

    A cell has no colour if the agent does not differ detectably from the mean of all agents in that world.
    """
    agents, worlds = tuple(results.by_agent), tuple(results.by_world)
    cells = tuple(tuple(_cell(results, agent, world, score) for world in worlds) for agent in agents)
    return HeatMap(
        f"{title} of each agent in each world", agents, worlds, cells,
        "Without colour: the difference from the mean of all agents in that world is too small to detect with these "
        "tasks (80 % power, 5 % level, paired by task). The darker the colour, or in the dark scheme the lighter, the "
        "higher the value.",
    )  # fmt: skip


def _cell(results: Results, agent: str, world: str, score: str) -> Cell:
    own: Summary | None = results.by_pair.get((agent, world))
    value = own.mean(score) if own is not None else None
    if own is None or value is None:
        return Cell(None)
    gap = difference(results.by_world[world], own, score)
    return Cell(value) if gap is None else Cell(value, gap.difference, gap.detectable)


def _heat(cell: Cell) -> str:
    if cell.value is None:
        return '<td class="number none">–</td>'
    tip = ""
    if cell.difference is not None:
        tip = f"{cell.difference:+.3f} from all agents here"
        tip += f"; detectable from {cell.detectable:.3f}" if cell.detectable is not None else "; one task only"
    kind = "grey" if cell.grey else f"heat{level_of(cell.value)}"
    return f'<td class="number {kind}" data-value="{round(cell.value, 6)}" title="{tip}">{cell.value:.2f}</td>'


def _svg_cell(cell: Cell, x: float, y: float) -> str:
    middle = f'x="{x + 28}" y="{y + 16}" text-anchor="middle"'
    if cell.value is None:
        return f'<text {middle} fill="currentColor">–</text>'
    if cell.grey:
        return f'<text {middle} fill="currentColor" fill-opacity=".6" font-style="italic">{cell.value:.2f}</text>'
    fill = SCALE[level_of(cell.value)]
    return (
        f'<rect x="{x + 1}" y="{y + 1}" width="54" height="22" fill="{fill}"/>'
        f'<text {middle} fill="{ink_on(fill)}">{cell.value:.2f}</text>'
    )
