"""Learn rules from runs: rules that all good runs keep and bad ones break.

    found = learn_rules(good, bad)
    print(found.text)

Candidates are counted quickly (`rule_orders`, `rule_values`, `rule_numbers`, `rule_habits`), ranked (`rule_ranking`),
and the best are judged by the package's own verdicts (`rule_choice`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from corepath.authoring.learning.rule_candidate import Candidate
from corepath.authoring.learning.rule_choice import Choice, choose
from corepath.authoring.learning.rule_habits import find_habits
from corepath.authoring.learning.rule_log import MOST_TOOLS, RuleLog, Run, make_log
from corepath.authoring.learning.rule_numbers import Numbers, find_unused, find_values
from corepath.authoring.learning.rule_orders import Orders
from corepath.authoring.learning.rule_ranking import rank
from corepath.authoring.learning.rule_text import write_rules
from corepath.authoring.learning.rule_values import Values
from corepath.authoring.learning.rule_verdicts import Verdicts
from corepath.episode import Episode, events
from corepath.errors import count
from corepath.notation import parser
from corepath.notation.action import Tool
from corepath.notation.call import Call
from corepath.notation.message import Message
from corepath.rules.rule import Rule
from corepath.values import canonical

LEAST_RUNS: Final = 5
"""In how many good runs a rule must at least apply."""
FEW_RUNS: Final = 20
"""With fewer good runs, rules that are chosen by bad runs often do not hold in unseen good runs."""
MOST_RULES: Final = 20
MOST_SAMPLED: Final = 1_000
"""From how many good and how many bad runs candidates are taken. The rules that are proposed are judged by all runs."""
_NOT_APART: Final = (
    "nothing tells good and bad runs apart: bad runs break no rule that all good runs keep, or too seldom"
)
_NOT_REGULAR: Final = "nothing was found that good runs do more regularly than by chance"

GivenRun = Episode | Iterable[Call | Message | str]
"""An episode, or calls and messages in order. A call may be text, such as `refund(order=7)`."""


@dataclass(frozen=True)
class LearnedRules:
    """Rules learned from `good` and `bad` runs, the best first, and remarks for their reader.

    `choices` has what the runs say about each rule. `more` counts the candidates beyond the rules that are proposed.
    """

    choices: tuple[Choice, ...]
    good: int
    bad: int
    tools: tuple[Tool, ...] | None = None
    more: int = 0
    notes: tuple[str, ...] = ()

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that are proposed."""
        return tuple(one.rule for one in self.choices)

    @cached_property
    def text(self) -> str:
        """The rule file. It is empty if no rule is proposed."""
        return write_rules(self.choices, self.good, self.bad, self.tools) if self.choices else ""


def learn_rules(
    good: Iterable[GivenRun], bad: Iterable[GivenRun] = (), tools: Iterable[Tool | str] | None = None
) -> LearnedRules:
    """Learn at most twenty rules that all good runs keep.

    With bad runs, each rule is broken in some of them. `tools` are the tools that there are; nothing is learned about
    others.
    """
    listed = None if tools is None else tuple(Tool(one) if isinstance(one, str) else one for one in tools)
    names = None if listed is None else {one.name for one in listed}
    kept, broken = [_read(run) for run in good], [_read(run) for run in bad]
    notes = list(_warn(kept, broken, names))
    if len(kept) < LEAST_RUNS or not any(isinstance(item, Call) for run in kept for item in run):
        return LearnedRules((), len(kept), len(broken), listed, 0, tuple(notes))

    def is_wanted(tool: str) -> bool:
        return not any(sign in tool for sign in "*?[") and (names is None or tool in names)

    sample = _sample(kept)
    log, candidates = _find_candidates(sample, _sample(broken), is_wanted)
    if log.left_out:
        notes.append(f"{log.left_out:,} tools are left out: rules are learned about the {MOST_TOOLS:,} most frequent")
    ranked = rank(candidates, len(sample), bad=len(broken))
    chosen = choose(ranked.kept, log, Verdicts(kept, broken), LEAST_RUNS)
    if ranked.doubtful:
        notes.append(f"{count(ranked.doubtful, 'rule')} left out that too many unseen good runs may break; "
                     "more good runs would tell")  # fmt: skip
    elif not chosen:
        notes.append(_NOT_APART if broken else _NOT_REGULAR)
    notes += _conclude(candidates) if broken else ()
    if chosen and broken and len(kept) < FEW_RUNS:
        notes.append(
            f"with only {len(kept)} good runs, unseen good runs may well break these rules; {FEW_RUNS} are better"
        )
    more = max(0, len(chosen) - MOST_RULES)
    return LearnedRules(tuple(chosen[:MOST_RULES]), len(kept), len(broken), listed, more, tuple(notes))


def _sample(runs: Sequence[Run]) -> Sequence[Run]:
    """Return at most `MOST_SAMPLED` of the runs, evenly spread."""
    most = MOST_SAMPLED
    return runs if len(runs) <= most else [runs[place * len(runs) // most] for place in range(most)]


def _read(run: GivenRun) -> Run:
    if isinstance(run, Episode):
        return tuple(events(run))
    if isinstance(run, str):
        raise TypeError(f"a run is a list of calls, such as [{run[:60]!r}], not one text")
    return tuple(parser.call(item) if isinstance(item, str) else item for item in run)


def _find_candidates(
    good: Sequence[Run], bad: Sequence[Run], is_wanted: Callable[[str], bool]
) -> tuple[RuleLog, list[Candidate]]:  # fmt: skip
    log = make_log(good, bad, LEAST_RUNS, is_wanted)
    orders = Orders(log, LEAST_RUNS)
    found = list(orders.find())
    found += Numbers(log, LEAST_RUNS, orders.required).find()
    found += Values(log, LEAST_RUNS).find()
    found += find_habits(good, bad, log, LEAST_RUNS)
    if bad:
        found += [*find_values(log, LEAST_RUNS), *find_unused(good, bad, is_wanted)]
    return log, found


def _warn(good: Sequence[Run], bad: Sequence[Run], names: set[str] | None) -> Iterator[str]:
    """Yield what makes it hard to learn from the runs."""
    if len(good) < LEAST_RUNS:
        yield f"{count(len(good), 'good run')}: too few to tell a rule from chance; at least {LEAST_RUNS} are needed"
    elif not any(isinstance(item, Call) for run in good for item in run):
        yield "the good runs have no calls, so there is nothing to learn rules about"
    if same := _count_same(good, bad):
        yield f"{count(same, 'bad run')} of {len(bad):,} made the same calls as a good run, so no rule tells them apart"
    if names is not None:
        called = {item.tool for run in (*good, *bad) for item in run if isinstance(item, Call)}
        if unknown := sorted(called - names):
            shown = ", ".join(unknown[:3]) + (", …" if len(unknown) > 3 else "")
            yield f"{count(len(unknown), 'tool')} in the runs not listed, so no rules are learned about them: {shown}"


def _count_same(good: Sequence[Run], bad: Sequence[Run]) -> int:
    """Count the bad runs that make the same calls as a good run. Values are compared if the tools are the same."""
    tools = {_tools(run) for run in bad}
    seen = {_calls(run) for run in good if _tools(run) in tools} if tools else set()
    known = {tuple(tool for tool, _, _ in calls) for calls in seen}
    return sum(_tools(run) in known and _calls(run) in seen for run in bad)


def _tools(run: Run) -> tuple[str, ...]:
    return tuple(item.tool for item in run if isinstance(item, Call))


def _calls(run: Run) -> tuple[Any, ...]:
    return tuple((item.tool, canonical(item.arguments), item.failed) for item in run if isinstance(item, Call))


def _conclude(candidates: Sequence[Candidate]) -> Iterator[str]:
    """Say how many candidates the bad runs do not break."""
    if unbroken := sum(not one.misses and not one.broken_bad for one in candidates):
        yield f"{count(unbroken, 'candidate')} left out that no bad run breaks; learn from good runs alone to see them"
