"""Proving a task against its world: executed, not believed. What is wrong is named with a counterexample."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any, Final

from corepath.automaton.alphabet import Role
from corepath.decoy import Decoy
from corepath.errors import CorepathError, count
from corepath.notation.call import REQUIRED, Call
from corepath.notation.matchers import (
    Approx,
    Between,
    Contains,
    Fields,
    Items,
    Literal,
    Matcher,
    NoneOf,
    OneOf,
    Regex,
    SameText,
    Satisfies,
    Unordered,
    depends_on_calls,
)
from corepath.rules.policy import After, breaks, describe, owes
from corepath.scoring.score import score
from corepath.task import Task
from corepath.values import equal
from corepath.verification.search import Search
from corepath.world.candidates import Pool, in_prompt, numbers_in
from corepath.world.examples import arguments_at, count_variants, sample_values, variant
from corepath.world.exploring import Explored, Node, explore, path_text, replay, simulator_of
from corepath.world.world import World, raised

FEWEST_VALUES: Final = 3
"""Values that a matcher without end must be tried with."""
ODD: Final[tuple[Any, ...]] = (0, -1, 10**9, 0.0, -0.5, 1e300, "", " ", "?", "🦉", "x" * 1000, [], [""])
"""Values of the right type and the wrong sense."""
MOST_TOLD: Final = 5
"""Counterexamples told of one kind."""


@dataclass(frozen=True)
class Verdict:
    """What was proven of a task, and what was found wrong."""

    task: str
    world: str
    seed: int
    failures: tuple[str, ...]
    seeds: int = 1
    """How many count_variants were executed."""
    golden_paths: int = 0
    lengths: tuple[int, ...] = ()
    pairs: int = 0
    rounds: int = 0
    nodes: int = 0
    depth: int | None = None
    """Calls off the procedure up to which the search was complete; None where there was none, or it found the end."""
    exhausted: bool = False
    """Whether the search came to its end: there is nothing more to find."""
    decoys: Mapping[str, str] = field(default_factory=dict)
    """Which baselines each decoy fools."""
    policies: tuple[str, ...] = ()
    """Policies that the world itself would let an agent break, and was seen to."""
    says: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.failures

    def to_dict(self) -> dict[str, Any]:
        """The verdict as JSON."""
        return {"task": self.task, "world": self.world, "ok": self.ok, **vars(self)}


def verify(world: World[Any], name: str, seed: int = 0, nodes: int = 0) -> Verdict:
    """A task of a world, proven; `nodes` pairs are searched for ways to the goal that the task does not know."""
    try:
        task = world.make(name, seed)
    except CorepathError as error:
        return Verdict(f"{world.name}/{name}", world.name, seed, tuple(str(error).splitlines()))
    return verify_task(task, world, seed, nodes)


def verify_seeds(world: World[Any], name: str, seeds: int, nodes: int, *, thorough: bool = False) -> Verdict:
    """A task under seeds 0, 1, 2, …: executed at each, searched at seed 0 or, if `thorough`, at each.

    The verdict is that of seed 0, with the failures of all.
    """
    first = verify(world, name, 0, nodes)
    others = (verify(world, name, seed, nodes if thorough else 0) for seed in range(1, seeds))
    failures = [f"seed {found.seed}: {failure}" for found in others for failure in found.failures]
    return replace(first, failures=(*first.failures, *failures), seeds=max(seeds, 1))


def verify_task(task: Task, world: World[Any], seed: int = 0, nodes: int = 0) -> Verdict:
    """The same of a task at hand. What the author's own code raises is a failure too."""
    try:
        return _verdict(task, world, seed, nodes)
    except Exception as error:  # noqa: BLE001  # a goal, a condition or a tool may raise anything
        message = str(error) if isinstance(error, CorepathError) else f"cannot be verified: {raised(error)}"
        return Verdict(task.id, world.name, seed, (message,))


def _verdict(task: Task, world: World[Any], seed: int, nodes: int) -> Verdict:
    rounds = [explore(task, variant(task, number)) for number in range(max(count_variants(task), 1))]
    failures = [*_setup(task, world)]
    failures += _runs(task, rounds)
    failures += _labels(task, rounds, world)
    failures += _loops(task, rounds)
    failures += _let_pass(task, rounds[0], world)
    failures += _odd_arguments(task, world)
    for number in range(len(rounds)):
        failures += _policies_kept(task, number)
    failures += _values_tried(task)
    failures += _values_known(task, rounds[0])
    fools: dict[str, str] = {}
    for decoy_name, decoy in task.decoys.items():
        failures += _decoy(task, decoy_name, decoy, fools)
    found = Search(task, world, nodes).run() if nodes and not failures else None
    if found:
        failures += found.failures
    broken = set(found.broken) if found else set()
    for decoy in task.decoys.values():
        broken |= _broken(task, decoy)
    return Verdict(
        task=task.id,
        world=world.name,
        seed=seed,
        failures=tuple(dict.fromkeys(failures)),
        golden_paths=task.automaton.count,
        lengths=tuple(task.automaton.lengths),
        pairs=len(rounds[0].nodes),
        rounds=len(rounds),
        nodes=found.nodes if found else 0,
        depth=found.depth if found else None,
        exhausted=found.exhausted if found else False,
        decoys=fools,
        policies=tuple(sorted(broken)),
        says=dict(task.says),
    )


# What is written


def _setup(task: Task, world: World[Any]) -> Iterator[str]:
    if not task.prompt.strip():
        yield "the prompt is empty"
    if task.goal is None:
        yield "there is no goal: say what must hold of the state at the end"
    docs = "\n".join(tool.description for tool in world.tools.values())
    told = _squeezed(f"{task.prompt}\n{world.rules}\n{docs}")
    reasons = [(str(policy), policy.because) for policy in task.policies]
    own = {policy.because for policy in task.policies}
    reasons += [
        (f"never {one.call.notation}", one.why or "") for one in task.automaton.alphabet.forbid if one.why not in own
    ]
    for what, because in reasons:
        if not because.strip():
            yield f"{what}: no reason; quote the prompt, the world's rules or a tool's docstring in because="
        elif _squeezed(because) not in told:
            yield f"{what}: '{because}' stands neither in the prompt nor in the world's rules nor in a docstring"
    for phrase in task.says:
        if not phrase.strip() or not in_prompt(_squeezed(phrase), told):
            yield f"says: '{phrase}' stands neither in the prompt nor in the world's rules nor in a docstring"


def _squeezed(text: str) -> str:
    return " ".join(text.split()).casefold()


# Golden paths, executed


def _runs(task: Task, rounds: Sequence[Explored]) -> Iterator[str]:
    goal = task.goal or (lambda _: True)
    for explored in rounds:
        for snag in islice(explored.snags, MOST_TOLD):
            yield f"a golden path does not run: after {path_text(snag.node.calls)}, {snag.why}"
        if not explored.whole:
            yield f"more than {len(explored.nodes):,} pairs of automaton state and world state: too many to run"
        for node in explored.nodes:
            if node.position.accepted and not _holds(goal, node.state):
                yield f"the goal does not hold after the golden path {path_text(node.calls)}"
                break
    yield from _answers(task, rounds[0])


def _answers(task: Task, explored: Explored) -> Iterator[str]:
    """The same call in the same state has the same answer again."""
    world = simulator_of(task)
    for edge in explored.edges:
        again, after = world.answer(edge.node.state, edge.call)
        if world.key(after) != world.key(edge.after.state) or again.failed or not equal(again.result, edge.call.result):
            yield f"{edge.call} does something else the second time: a world has no clock, no chance and no memory"
            return


def _holds(goal: Any, state: Any) -> bool:
    return bool(goal(state))


def _labels(task: Task, rounds: Sequence[Explored], world: World[Any]) -> Iterator[str]:
    """Reads read and writes write, in every world state that golden paths reach."""
    told: set[str] = set()
    for explored in rounds:
        for edge in explored.edges:
            if edge.call.tool in told:
                continue
            if world.tools[edge.call.tool].writes:
                if world.same_public(edge.node.state, edge.after.state):
                    told.add(edge.call.tool)
                    yield f"the write {edge.call} is progress after {path_text(edge.node.calls)} and changes nothing"
            elif world.key(edge.node.state) != world.key(edge.after.state):
                told.add(edge.call.tool)
                yield f"'{edge.call.tool}' is declared a read and changes the state: {edge.call}"
    reads = [tool for tool in world.tools.values() if not tool.writes and tool.name not in told]
    states = {world.key(node.state): node.state for node in rounds[0].nodes}
    pool = Pool(task, world)
    for tool in reads:
        for call in pool.calls(tool.name):
            for state in states.values():
                answered, after = world.answer(state, call)
                if "crashed" in answered.extra:
                    yield f"{call} breaks the world: {answered.error}"
                    break
                if world.key(after) != world.key(state):
                    yield f"'{tool.name}' is declared a read and changes the state: {call}"
                    break
            else:
                continue
            break


def _loops(task: Task, rounds: Sequence[Explored]) -> Iterator[str]:
    """A self-loop leaves the public state as it is in every world state that its state stands for."""
    world, automaton = simulator_of(task), task.automaton
    for number, explored in enumerate(rounds):
        for node in explored.nodes:
            for symbol in automaton.loops(node.position.state):
                arguments = arguments_at(task, node.position, symbol, number)
                if arguments is None:
                    continue
                call = Call(automaton.alphabet.actions[symbol].tool, arguments)
                answered, after = world.answer(node.state, call)
                name = automaton.states[node.position.state]
                if not world.same_public(node.state, after):
                    after_what = path_text(node.calls)
                    yield f"{call} is a self-loop in state '{name}' and changes the state, after {after_what}"
                elif answered.failed and world.tools[call.tool].writes:
                    yield f"{call} is a self-loop in state '{name}' and fails there: {answered.error}"


def _let_pass(task: Task, explored: Explored, world: World[Any]) -> Iterator[str]:
    """No write that the task lets pass, as a read or as neutral, changes the state where golden paths go."""
    pool, alphabet = Pool(task, world), task.automaton.alphabet
    for tool in (tool for tool in world.tools.values() if tool.writes):
        patterns = [one for one in (*alphabet.reads, *alphabet.neutral) if one.fits_tool(tool.name)]
        named_calls = [Call(tool.name, call.arguments) for pattern in patterns for call in pattern.examples()]
        for call in (*named_calls, *pool.calls(tool.name)) if patterns else ():
            reading = alphabet.read(call, {}, {}, failed=False)
            if reading.role is not Role.LOOP:
                continue
            for node in explored.nodes:
                if not world.same_public(node.state, world.answer(node.state, call)[1]):
                    yield f"{call} is let pass and changes the state, after {path_text(node.calls)}"
                    break


def _odd_arguments(task: Task, world: World[Any]) -> Iterator[str]:
    """No tool raises anything but ToolError, and a read answers the same twice, whatever it is called with."""
    for tool in world.tools.values():
        usual = {name: parameter.samples[0] for name, parameter in tool.inputs.items()}
        odd = [{**usual, name: value} for name, one in tool.inputs.items() for value in ODD if one.admits(value)]
        for arguments in (usual, *odd):
            call = Call(tool.name, arguments)
            answered, _ = world.answer(task.start, call)
            if "crashed" in answered.extra:
                yield f"{call} breaks the world: {answered.error}"
                break
            again, _ = world.answer(task.start, call)
            if answered.error != again.error or (not again.failed and not equal(answered.result, again.result)):
                yield f"{call} does something else the second time: a world has no clock, no chance and no memory"
                break


def _policies_kept(task: Task, number: int) -> Iterator[str]:
    """Every golden path keeps every policy: pairs are told apart by what was done and by what is still owed."""
    owing = [policy for policy in task.policies if isinstance(policy, After)]

    def history(node: Node) -> Hashable:
        calls = node.calls if owing else []
        return node.position.done, tuple(owes(policy, calls) for policy in owing)

    explored = explore(task, variant(task, number), also=history)
    if not explored.whole:
        yield f"more than {len(explored.nodes):,} ways to hold against the policies"
    told: set[str] = set()
    for edge in explored.edges:
        done = edge.node.calls
        for policy in task.policies:
            if describe(policy) not in told and breaks(policy, done, edge.call, edge.node.state, edge.after.state):
                told.add(describe(policy))
                yield f"a golden path breaks '{policy}' ({policy.because}): {path_text([*done, edge.call])}"
    for node in explored.nodes:
        for policy in task.policies:
            if node.position.accepted and describe(policy) not in told and owes(policy, node.calls):
                told.add(describe(policy))
                yield f"a golden path lacks '{policy}' ({policy.because}): {path_text(node.calls)}"


# Values


def _values_tried(task: Task) -> Iterator[str]:
    """A matcher that takes many values is tried with at least three of them."""
    alphabet = task.automaton.alphabet
    for number in sorted(alphabet.steps):
        action = alphabet.patterns[number]
        for name, pattern in action.arguments.fields:
            if isinstance(pattern, (Approx, Between, Regex, Contains, SameText, Satisfies, NoneOf)):
                found = len(sample_values(task, number, name))
                finite = isinstance(pattern, Approx) and pattern.number == 0 and not pattern.tol
                if found < FEWEST_VALUES and not finite and not depends_on_calls(pattern):
                    values = count(found, "value")
                    yield f"'{action.notation}': only {values} of '{name}' can be tried; {pattern} needs more examples"


def _values_known(task: Task, explored: Explored) -> Iterator[str]:
    """What a golden path needs is in the prompt, in an earlier result, a default, or a declared alias."""
    told: set[tuple[int, str]] = set()
    alphabet = task.automaton.alphabet
    for edge in explored.edges:
        action = alphabet.patterns[edge.symbol]
        results = [call.result for call in edge.node.calls]
        defaults = (alphabet.tools or {})[action.tool].parameters or {}
        for name, pattern in action.arguments.fields:
            if (edge.symbol, name) in told:
                continue
            known = partial(_known, task=task, results=results, default=defaults.get(name, REQUIRED))
            missing = _missing(pattern, known, task.prompt)
            if missing is not None:
                told.add((edge.symbol, name))
                yield (
                    f"'{action.notation}' needs {missing!r} for '{name}', which is not in the prompt, not in an "
                    "earlier result and no default; name the words that mean it in says="
                )


def _known(value: Any, task: Task, results: Sequence[Any], default: Any) -> bool:
    if (default is not REQUIRED and equal(default, value)) or any(equal(one, value) for one in task.says.values()):
        return True
    return in_prompt(value, task.prompt) or any(_in_result(value, result) for result in results)


def _missing(pattern: Matcher, known: Callable[[Any], bool], prompt: str) -> Any:
    """A value that the pattern needs and the agent could not know; None where there is none."""

    def first(patterns: Iterable[Matcher]) -> Any:
        found = (_missing(one, known, prompt) for one in patterns)
        return next((one for one in found if one is not None), None)

    match pattern:
        case Literal(value=value):
            return _unknown_leaf(value, known)
        case Approx(number):
            return None if known(number) else number
        case Between(low, high):
            inside = isinstance(low, (int, float)) and any(low <= one <= high for one in numbers_in(prompt))
            return None if inside or (known(low) and known(high)) else low
        case OneOf(options):
            unknown = [_missing(option, known, prompt) for option in options]
            return None if None in unknown else unknown[0]
        case SameText(text):
            return None if _squeezed(text) in _squeezed(prompt) or known(text) else text
        case Satisfies():
            return None if any(map(known, pattern.examples())) else pattern.examples()[0]
        case Contains() | Items() | Unordered() | Fields():
            return first(pattern.inner())
    return None


def _unknown_leaf(value: Any, known: Callable[[Any], bool]) -> Any:
    if known(value):
        return None
    if isinstance(value, (list, dict)) and value:
        leaves = value if isinstance(value, list) else value.values()
        return next((leaf for leaf in leaves if not known(leaf)), None)
    return "null" if value is None else value


def _in_result(value: Any, result: Any) -> bool:
    if equal(value, result):
        return True
    if isinstance(result, str):
        return in_prompt(value, result)
    if isinstance(result, Mapping):
        return any(key == value or _in_result(value, item) for key, item in result.items())
    return isinstance(result, (list, tuple)) and any(_in_result(value, item) for item in result)


# Decoys


def _decoy(task: Task, name: str, decoy: Decoy, fools: dict[str, str]) -> Iterator[str]:
    """A decoy runs, is flagged with the kind that it declares, and fools what it says it fools."""
    run = replay(task, decoy.calls)
    for call in run.calls:
        if call.failed:
            yield f"decoy '{name}': {call} fails: {call.error}"
            return
    scored = score(task, run.calls)
    kinds = list(dict.fromkeys(harm.kind.value for harm in scored.harms))
    if decoy.harm is None:
        if kinds or scored.accepted:
            yield f"decoy '{name}' should only leave something out, and is {', '.join(kinds) or 'accepted'}"
    elif not kinds:
        yield f"decoy '{name}' should be {decoy.harm}, and nothing in it is harmful"
    elif str(decoy.harm) not in kinds:
        yield f"decoy '{name}' should be {decoy.harm}, and is {', '.join(kinds)}"
    passed = [what for what, ok in (("state", scored.state_match), ("response", scored.response_match)) if ok]
    fools[name] = "both" if len(passed) == 2 else passed[0] if passed else "none"
    if fools[name] != decoy.fools:
        yield f"decoy '{name}' should fool {decoy.fools}, and fools {fools[name]}"


def _broken(task: Task, decoy: Decoy) -> set[str]:
    """The policies that the decoy breaks without a tool error: the world does not enforce them."""
    run = replay(task, decoy.calls)
    found = {describe(policy) for policy in task.policies if owes(policy, run.calls)}
    for index, call in enumerate(run.calls):
        for policy in task.policies:
            if not call.failed and breaks(policy, run.calls[:index], call, run.states[index], run.states[index + 1]):
                found.add(describe(policy))
    return found
