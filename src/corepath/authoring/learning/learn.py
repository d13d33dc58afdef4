"""Learn a task from good runs.

Writes are steps, and so are reads that every run makes; other reads are self-loops. `orders` learns in which orders the
steps may come, and `arguments` which values their arguments may have. A learned task accepts every run that it was
learned from, without harm.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Literal

from corepath.authoring.derive import tool_patterns
from corepath.authoring.learning.alternatives import merge_alternatives
from corepath.authoring.learning.arguments import find_patterns
from corepath.authoring.learning.arrangement import Form, in_sequence, join
from corepath.authoring.learning.decisive_reads import split_decisive
from corepath.authoring.learning.early import Early, find_early
from corepath.authoring.learning.events import Events, find_events
from corepath.authoring.learning.good_run import GoodRun, read_run
from corepath.authoring.learning.independence import guess_orders
from corepath.authoring.learning.log import Run
from corepath.authoring.learning.names import name_actions
from corepath.authoring.learning.outliers import find_outliers
from corepath.authoring.learning.question_text import describe_question
from corepath.authoring.learning.questions import MOST_QUESTIONS, OrderQuestion, learn_by_asking
from corepath.authoring.learning.required_reads import FEWEST_RUNS
from corepath.authoring.learning.steps import SeenStep, call_at, find_steps
from corepath.authoring.learning.told_apart import tell_apart
from corepath.authoring.learning.unfit import describe_unfit, find_unfit
from corepath.automaton.alphabet import Refused, Unlisted
from corepath.automaton.condensation import Trace, trace_calls
from corepath.automaton.reading import Forbidden
from corepath.automaton.step import Kind
from corepath.episode import Episode
from corepath.errors import TaskError, count
from corepath.files.task_writer import as_yaml
from corepath.files.tool_file import Tools, is_glob
from corepath.notation import matchers
from corepath.notation.action import Action, Tool
from corepath.notation.call import Call
from corepath.notation.procedure import Procedure, choice
from corepath.scoring.hand_over import hands_over
from corepath.task import Task
from corepath.values import canonical

NEVER_CALLED: Final = "no good run calls it"
MOST_STEPS: Final = 2_000
"""If runs have more different steps, they are not runs of one task."""
Unseen = Literal["harm", "ignore"]
_UNLISTED: Final[Mapping[Unseen, Unlisted]] = {"harm": "harm", "ignore": "ignore_other_tools"}
_UNSEEN: Final[Mapping[Unseen, str]] = {
    "harm": "A tool that is in no run is harmful, unless it is listed under reads or neutral (unlisted).",
    "ignore": "A tool that is in no run, and not listed here, is ignored (unlisted).",
}
_REFUSED: Final[Mapping[Refused, str]] = {
    "harm": "A refused call is harmful if it is not expected (refused).",
    "try": "A refused call is a try, and no harm, if a step with the same tool is due (refused).",
    "ignore_other_tools": "A refused call is a try, and no harm, if a step with the same tool is due or none has its "
    "tool (refused).",
}
_FULL, _WITHOUT_READS, _SEEN_ORDERS, _LITERAL = range(4)
"""What is learned: everything; no required reads; only the orders that were seen; these with literal values."""
_ONLY: Final[Mapping[int, str]] = {
    _SEEN_ORDERS: "only the orders of the runs are allowed: a wider task does not accept them all, or is too large",
    _LITERAL: "only the orders and values of the runs are allowed: a wider task does not accept them all, or is too "
    "large",
}


@dataclass(frozen=True)
class Question:
    """Asks whether paths that no run shows are right as well.

    `examples` are such paths as calls, and `seen` is a run that is most like the first of them. `default` is what the
    runs suggest. `paths` counts the golden paths if the answer is no, and if it is yes.
    """

    text: str
    examples: tuple[tuple[Call, ...], ...]
    seen: tuple[Call, ...]
    default: bool
    paths: tuple[int, int]
    early: tuple[Early, ...] = ()
    """The calls of each example that come earlier than in any run, so that they may not know yet what they need to."""
    is_one_choice: bool = True
    """Whether one answer holds for all examples. Otherwise they differ from the runs in different ways."""


Judge = Callable[[Question], Sequence[bool | None]]
"""Says for each example of a question whether it is right. None means that this cannot be told: the default holds."""


@dataclass(frozen=True)
class Learned:
    """A task that was learned from `runs` good runs.

    `support` says for each action what speaks for it. `asked` has the questions with the number of right examples.
    """

    task: Task
    runs: int
    support: dict[str, str]
    asked: tuple[tuple[Question, int], ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    """What may be wrong with the runs."""

    @cached_property
    def text(self) -> str:
        """The task as a YAML task file, with comments that say what speaks for each step."""
        return as_yaml(self.task, self._comments(), self.support, to_read=True)

    def _comments(self) -> Iterator[str]:
        golden = self.task.automaton.golden.count
        yield f"Learned from {count(self.runs, 'good run')}: {count(golden, 'golden path')}."
        yield from self.notes
        for question, right in self.asked:
            answer = "yes" if right == len(question.examples) else "no" if not right else "in part"
            yield f"{question.text} {answer.capitalize()}."


def learn(
    episodes: Iterable[Episode],
    tools: Tools | None = None,
    *,
    judge: Judge | None = None,
    most_questions: int = MOST_QUESTIONS,
    unseen: Unseen | None = None,
    refused: Refused | None = None,
) -> Learned:
    """Learn a task from the good runs of one task. Raises `TaskError` if there is nothing to learn from.

    `tools` says what the tools do; without it, every tool is a write. `judge` answers questions, at most
    `most_questions`. `unseen` says whether calls of tools that no run and no tool file names are harmful. By default
    they are if there is a tool file, since it says that every tool is a write that it does not list as anything else.
    `refused` says how calls are judged that the tool refused. By default they may be tries of a step that is due; if a
    good run has a refused call of a tool that no step has, such calls are harmless too.
    """
    unseen = unseen or ("ignore" if tools is None else "harm")
    tools = Tools() if tools is None else tools
    episodes = list(episodes)
    unfit = find_unfit(episodes, tools)
    runs = [read_run(episode, tools, number) for number, episode in enumerate(episodes) if number not in unfit]
    if not runs:
        raise TaskError.of(f"no runs to learn from{f': {describe_unfit(unfit)}' if unfit else ''}")
    for way in range(_LITERAL + 1):
        draft = _Draft(runs, tools, way, unseen, refused, warnings=[describe_unfit(unfit)] if unfit else [])
        draft.notes += [f"{count(len(unfit), 'more run')} left out: no task accepts their calls."] if unfit else []
        made = draft.learn(judge if way == _FULL else None, most_questions)
        if made is not None:
            return made
    raise TaskError.of("no task was found that accepts all runs; are they of one task?")


@dataclass
class _Draft:
    """A task in the making."""

    runs: Sequence[GoodRun]
    tools: Tools
    way: int
    unseen: Unseen
    refused: Refused | None
    steps: list[SeenStep] = field(default_factory=list)
    asked: list[tuple[Question, int]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    refused_tools: set[str] = field(default_factory=set)
    """The tools of calls that were refused in a good run where no such step was due."""
    ignores_refused: bool = False
    """Whether a good run was refused by a tool that no step has."""
    only_common: bool = False
    """Whether there are too many different calls, so that only those that all runs make are steps."""

    def learn(self, judge: Judge | None, most_questions: int) -> Learned | None:
        """Return the learned task, or None if it does not accept all runs."""
        events = self._find_events()
        answer = None if judge is None else lambda question: self._ask(question, events, judge)
        if self.way in _ONLY:
            arrangement = join(Form.CHOICE, map(in_sequence, events.runs))
        else:
            guessed = guess_orders(self.runs, events)
            if guessed:
                seen = "The run shows one order" if len(self.runs) == 1 else "So few runs show few orders"
                self.notes.append(f"{seen}. Steps on different things are taken to be in any order.")
            arrangement, _ = learn_by_asking(events.runs, events.steps, answer, most_questions, guessed)
        used = sorted(set(events.steps))
        actions = dict(zip(used, name_actions([self.steps[one] for one in used]), strict=True))
        named = [action for found in actions.values() for action in found]
        looks: dict[str, str] = {}
        if not used and (look := self._first_look()) is not None:
            named, looks = look
            procedure = choice(*named)
            self.notes.append("No run changes anything. The step is to look, or to hand over.")
        else:
            if not used:
                self._say_that_nothing_is_right()
            procedure = arrangement.procedure(lambda event: choice(*actions[events.steps[event]]))
        try:
            task = self._make_task(procedure, named)
            task = self._allow_refused(task, procedure, named)
        except TaskError:
            if self.way == _LITERAL:
                raise
            return None
        times = self._count_runs(task)
        if times is None:
            return None
        support = looks or {
            name: self._support(self.steps[one], times[name])
            for one, found in actions.items()
            for name in (str(action.name) for action in found)
        }
        notes, warnings = tuple(self._all_notes()), (*self._warnings(), *self._outliers(events))
        return Learned(task, len(self.runs), support, tuple(self.asked), notes, warnings)

    def _find_events(self) -> Events:
        steps = find_steps(self.runs, self.tools, literal=self.way == _LITERAL)
        if len(steps) > MOST_STEPS:
            steps = self._keep_common(steps)
        sources: frozenset[int] = frozenset()
        if self.way != _LITERAL:
            steps = tell_apart(steps, self.runs)
            steps = merge_alternatives(split_decisive(steps, self.runs) if self.way == _FULL else steps)
            sources = find_patterns(steps, self.runs)
        self.steps = steps
        reads = self.way == _FULL
        return find_events(steps, len(self.runs), sources, required=reads)

    def _keep_common(self, steps: Sequence[SeenStep]) -> list[SeenStep]:
        """Leave out all steps but those that every run has equally often. Raises `TaskError` if there are none."""
        common = [step for step in steps if len(set(Counter(run for run, _ in step.places).values())) == 1]
        common = [step for step in common if len(step.runs) == len(self.runs)]
        many = f"the runs have {len(steps):,} different calls, which are too many for one task"
        advice = "learn from runs of one task at a time, or mark free texts in the tool file, as in send: {text: any}"
        if not common or len(common) > MOST_STEPS:
            none = f"; it has at most {MOST_STEPS:,} steps" if common else ", and none of them is in all runs"
            raise TaskError.of(f"{many}{none}; {advice}")
        self.only_common = True
        are = (
            "the one that all runs make is a step" if len(common) == 1 else f"the {len(common)} that all make are steps"
        )
        self.warnings.append(f"{many}: only {are}, and all others are ignored; {advice}")
        self.notes.append(f"{many[0].upper()}{many[1:]}: only {are}, and all others are ignored (unlisted).")
        return common

    def _ask(self, question: OrderQuestion, events: Events, judge: Judge) -> list[bool | None]:
        """Put a question in terms of calls."""
        made_at: dict[int, list[Call]] = defaultdict(list)
        for run, order, places in zip(self.runs, events.runs, events.places, strict=True):
            for event, place in zip(order, places, strict=True):
                made_at[event].append(run.calls[place])

        def calls(run: Run) -> tuple[Call, ...]:
            return tuple(made_at[event][0] for event in run)

        made = Question(
            describe_question(question, calls), tuple(map(calls, question.examples)), calls(question.seen),
            question.default, question.paths,
            tuple(find_early(run, events.runs, made_at.__getitem__, self.tools) for run in question.examples),
            question.is_one_choice,
        )  # fmt: skip
        answers = list(judge(made))
        known = [answer for answer in answers if answer is not None] or [made.default]
        self.asked.append((made, len(answers) if all(known) else sum(known)))
        return answers

    def _outliers(self, events: Events) -> Iterator[str]:
        """Warn of runs that contradict all others."""
        for run, first, second in find_outliers(events.runs):
            one, other = (call_at(self.runs, self.steps[events.steps[event]].places[0]) for event in (first, second))
            yield (
                f"run {self.runs[run].number + 1} is the only one with {one.label} before {other.label}; is it a good "
                "run? The task allows it"
            )

    def _first_look(self) -> tuple[list[Action], dict[str, str]] | None:
        """Return what is done in a task that changes nothing: one of the reads that all runs make, or handing over.

        Also says what speaks for each action. Returns None if the runs have no read in common, or if some of them hand
        over and others do not: then it does not matter what is done, as long as nothing is changed.
        """
        common = [step for step in self.steps if len(step.runs) == len(self.runs) and not step.varying]
        if self.way != _FULL or self._hand_over_differs():
            return None
        named = [action for found in name_actions(common) for action in found]
        listed = [name for name in self.tools.neutral if not is_glob(name) and hands_over(name)]
        hand_over = [Tool(name).any().named(name) for name in listed]
        is_usual = len(self.runs) >= FEWEST_RUNS and all(map(_hands_over, self.runs))
        if not named and not (hand_over and is_usual):
            return None
        every = f"{len(self.runs)} of {count(len(self.runs), 'run')}"
        return [*named, *hand_over], {str(action.name): every for action in named} | {
            name: self._support_of_tool(name) for name in listed
        }

    def _hand_over_differs(self) -> bool:
        """Whether some runs hand over to a human, and others do not."""
        return len(set(map(_hands_over, self.runs))) > 1

    def _say_that_nothing_is_right(self) -> None:
        why = (
            "some runs hand over and others do not" if self._hand_over_differs() and self.steps
            else "no run has a call that could be a step"
        )  # fmt: skip
        self.warnings.append(f"{why}, so that the task accepts doing nothing")
        self.notes.append(f"{why[0].upper()}{why[1:]}, and none changes anything: doing nothing is right.")

    def _make_task(self, procedure: Procedure, actions: Sequence[Action], neutral: Sequence[Action] = ()) -> Task:
        first = self.runs[0].episode
        used = {action.tool for action in actions} | self.refused_tools
        if self.only_common:
            used |= {call.tool for run in self.runs for call in run.calls}
        others = sorted(name for name in self._known_writes() if name not in used) if self.unseen == "ignore" else ()
        return Task(
            id=first.task or "learned/task",
            prompt=self._prompt(),
            procedure=procedure,
            actions=tuple(actions),
            reads=tuple(tool_patterns(self.tools.reads, self.tools)),
            neutral=(*tool_patterns(self.tools.neutral, self.tools), *neutral),
            forbid=tuple(Forbidden(Tool(name).any(), why=NEVER_CALLED) for name in others),
            unlisted="ignore" if self.only_common else _UNLISTED[self.unseen],
            refused=self._refused,
            tools=None if self.tools.tools is None else tuple(self.tools.tools),
        )

    @property
    def _refused(self) -> Refused:
        """How refused calls are judged."""
        return self.refused or ("ignore_other_tools" if self.ignores_refused else "try")

    def _prompt(self) -> str:
        """Return the user's first message, if it is the same in all runs."""
        said = {next((one.content for one in run.episode.messages if one.role == "user"), None) for run in self.runs}
        first = said.pop() if len(said) == 1 else None
        return first if isinstance(first, str) else ""

    def _known_writes(self) -> set[str]:
        """Return the names of all writes that the tool file or a refused call names."""
        listed = {tool.name for tool in self.tools.tools or ()}
        named = {name for name in (*self.tools.arguments, *self.tools.unsure) if not is_glob(name)}
        refused = {call.tool for run in self.runs for call in run.episode.calls if call.failed and not call.malformed}
        return {name for name in listed | named | refused if self.tools.kind(name) == "write"}

    def _allow_refused(self, task: Task, procedure: Procedure, actions: Sequence[Action]) -> Task:
        """Allow calls of the runs that were refused where they were not expected.

        If no step has the tool of such a call, all refused calls of such tools are harmless. Others are neutral as
        they are.
        """
        found = [*self._unexpected(task)]
        self.refused_tools = {call.tool for call in found}
        if self.refused is None and not all(task.automaton.alphabet.has_step_with(call.tool) for call in found):
            self.ignores_refused = True
            task = self._make_task(procedure, actions)
            found = [*self._unexpected(task)]
        if not found:
            return task
        same = {str(call): Action(call.tool, _literal_fields(call)) for call in found}
        self.notes.append(f"{count(len(same), 'call')} that the tool refused in a good run: under neutral.")
        return self._make_task(procedure, actions, tuple(same.values()))

    def _unexpected(self, task: Task) -> Iterator[Call]:
        """Yield the calls that were refused in a run and that a task takes for harmful."""
        for run in self.runs:
            for step in trace_calls(task.automaton, run.episode.calls, run.params).steps:
                if step.kind is Kind.HARM and step.call.failed and not step.call.malformed:
                    yield step.call

    def _count_runs(self, task: Task) -> Counter[str] | None:
        """Count in how many runs each action is done. Returns None if the task does not accept all runs."""
        found: Counter[str] = Counter()
        for run in self.runs:
            trace = trace_calls(task.automaton, run.episode.calls, run.params)
            if not _is_right(trace):
                return None
            found.update({trace.label(step) for step in trace.steps if step.kind is Kind.PROGRESS})
        return found

    def _support(self, step: SeenStep, times: int) -> str:
        """Say in how many runs a step is, and what speaks for its patterns."""
        parts = [f"{times} of {count(len(self.runs), 'run')}"]
        parts += ["the result decides what follows"] if step.decides else []
        parts += [f"{name}: {why}" for name, why in step.support.items()]
        return "; ".join(parts)

    def _support_of_tool(self, name: str) -> str:
        """Say in how many runs a neutral tool is called."""
        times = sum(any(call.tool == name and not call.failed for call in run.episode.calls) for run in self.runs)
        return f"{times} of {count(len(self.runs), 'run')}"

    def _warnings(self) -> Iterator[str]:
        """Warn of runs that are left out, and if runs have nothing in common: they may be of different tasks."""
        yield from self.warnings
        if self.way in _ONLY:
            yield _ONLY[self.way]
        linked: dict[int, int] = {}
        for step in self.steps:
            if not step.reads:
                together = {linked.get(run, run) for run in step.runs}
                moved = {run for run, group in linked.items() if group in together}
                linked |= dict.fromkeys(moved | step.runs, min(together))
        kinds = Counter(linked.values())
        if len(kinds) > 1:
            sizes = " and ".join(str(number) for _, number in kinds.most_common(3))
            yield f"groups of {sizes} runs have no write in common; are they runs of different tasks?"

    def _all_notes(self) -> Iterator[str]:
        yield from self.notes
        if self.way in _ONLY:
            only = _ONLY[self.way]
            yield f"{only[0].upper()}{only[1:]}."
        if not self.only_common:
            yield _UNSEEN[self.unseen]
        yield _REFUSED[self._refused]


def accepts(task: Task, episode: Episode) -> bool:
    """Whether a task accepts a run without harm."""
    return _is_right(trace_calls(task.automaton, episode.calls, episode.params))


def _is_right(trace: Trace) -> bool:
    return trace.end.accepted and not any(step.kind is Kind.HARM for step in trace.steps)


def _hands_over(run: GoodRun) -> bool:
    """Whether a run hands over to a human."""
    return any(hands_over(call.tool) and not call.failed for call in run.episode.calls)


def _literal_fields(call: Call) -> matchers.Fields:
    """Return a pattern for exactly these arguments."""
    return matchers.Fields(
        tuple((name, matchers.Literal(canonical(value), value)) for name, value in call.arguments.items())
    )
