"""Learning orders: arrangements, partial orders and required reads, each compared with listing everything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise, permutations, product
from math import factorial, log, prod
from random import Random

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from corepath import Task, tool
from corepath.authoring.learning.arrangement import Arrangement, Form, in_sequence, join, leaf, optional
from corepath.authoring.learning.forks import Forks
from corepath.authoring.learning.likelihood import evidence
from corepath.authoring.learning.log import Log, Run, components
from corepath.authoring.learning.loosening import loosen
from corepath.authoring.learning.occurrences import find_numbering, numbering_of
from corepath.authoring.learning.orders import learn_orders
from corepath.authoring.learning.partial_order import as_alternatives, as_series_parallel, count_orders, drop_weak_pairs
from corepath.authoring.learning.required_reads import Choices, Place, list_choices, settle

MOST_ORDERS = 400
Parts = Sequence[Arrangement]


def list_orders(arrangement: Arrangement) -> set[Run]:
    """List all orders of an arrangement, straight from what its forms mean."""
    inner = [sorted(list_orders(part)) for part in arrangement.parts]
    match arrangement.form:
        case Form.EVENT:
            return {(arrangement.event,)}
        case Form.CHOICE:
            return {run for runs in inner for run in runs}
        case Form.OPTIONAL:
            return {(), *inner[0]}
        case Form.SEQ:
            return {_concatenate(runs) for runs in product(*inner)}
        case Form.ONE_BY_ONE:
            return {_concatenate(turns) for runs in product(*inner) for turns in permutations(runs)}
    found: set[Run] = {()}
    for runs in inner:
        found = {mixed for one, other in product(found, runs) for mixed in _interleave(one, other)}
    return found


def _concatenate(runs: Sequence[Run]) -> Run:
    return tuple(event for run in runs for event in run)


def _interleave(one: Run, other: Run) -> Iterator[Run]:
    for places in combinations(range(len(one) + len(other)), len(one)):
        mine, theirs = iter(one), iter(other)
        yield tuple(next(mine) if place in places else next(theirs) for place in range(len(one) + len(other)))


def _arrange(random: Random, events: Sequence[int], forms: Sequence[Form]) -> Arrangement:
    """Return a random arrangement in which every event stands once."""
    if len(events) == 1:
        return leaf(events[0])
    cuts = sorted(random.sample(range(1, len(events)), random.randint(1, min(3, len(events) - 1))))
    pieces = [events[start:end] for start, end in zip([0, *cuts], [*cuts, len(events)], strict=True)]
    parts = [_arrange(random, piece, forms) for piece in pieces]
    if Form.OPTIONAL in forms:
        parts = [optional(part) if random.random() < 0.25 else part for part in parts]
    return join(random.choice([form for form in forms if form is not Form.OPTIONAL]), parts)


def _has_common_orders(arrangement: Arrangement) -> bool:
    """Whether two alternatives may both be left out: such an order is counted twice."""
    alternatives = arrangement.parts if arrangement.form is Form.CHOICE else ()
    return sum(part.is_optional for part in alternatives) > 1 or any(map(_has_common_orders, arrangement.parts))


def arrangements(*forms: Form, most_events: int = 6) -> st.SearchStrategy[Arrangement]:
    def make(events: int, seed: int) -> Arrangement:
        random = Random(seed)
        return _arrange(random, random.sample(range(events), events), forms)

    return st.builds(make, st.integers(2, most_events), st.integers(0, 10**6))


any_arrangement = arrangements(Form.SEQ, Form.ANY_ORDER, Form.ONE_BY_ONE, Form.CHOICE, Form.OPTIONAL)
series_parallel = arrangements(Form.SEQ, Form.ANY_ORDER)
with_options = arrangements(Form.SEQ, Form.ANY_ORDER, Form.CHOICE, Form.OPTIONAL, most_events=5)
some_runs = st.lists(st.permutations(range(5)).flatmap(lambda run: st.integers(0, 5).map(lambda n: tuple(run[:n]))))
full_runs = st.lists(st.permutations(range(5)).map(tuple), min_size=1, max_size=12)


# arrangements


@given(any_arrangement)
@example(optional(join(Form.SEQ, [optional(leaf(0)), optional(leaf(1))])))
@example(join(Form.ONE_BY_ONE, [optional(leaf(0)), in_sequence((1, 2)), optional(leaf(3))]))
def test_an_arrangement_counts_its_orders(arrangement: Arrangement) -> None:
    assume(not _has_common_orders(arrangement))
    orders = list_orders(arrangement)
    assert arrangement.is_optional == (() in orders)
    assert arrangement.count == len(orders)
    assert arrangement.lengths == Counter(map(len, orders))
    by_events = Counter(map(frozenset, orders))
    for number in range(len(arrangement.events) + 1):
        for events in map(frozenset, combinations(sorted(arrangement.events), number)):
            assert arrangement.size(events) == by_events[events]


@given(any_arrangement, st.integers(0, 99))
def test_an_arrangement_contains_its_orders_and_no_others(arrangement: Arrangement, seed: int) -> None:
    orders = list_orders(arrangement)
    assume(len(orders) <= MOST_ORDERS)
    assert all(run in arrangement for run in orders)
    random, events = Random(seed), sorted(arrangement.events)
    others = (tuple(random.sample(events, random.randint(0, len(events)))) for _ in range(100))
    assert all((run in arrangement) == (run in orders) for run in others)
    assert (*next(iter(orders)), 99) not in arrangement


@given(any_arrangement)
def test_what_may_follow_an_event_are_the_rests_of_the_orders_that_begin_with_it(arrangement: Arrangement) -> None:
    orders = list_orders(arrangement)
    assume(len(orders) <= MOST_ORDERS)
    assert arrangement.first == {run[0] for run in orders if run}
    for event in arrangement.events:
        rest = arrangement.after(event)
        assert (set() if rest is None else list_orders(rest)) == {run[1:] for run in orders if run[:1] == (event,)}


@given(arrangements(*Form.__members__.values(), most_events=4).filter(lambda found: Form.EVENT is not found.form))
def test_drawing_often_enough_gives_all_orders(arrangement: Arrangement) -> None:
    orders, random = list_orders(arrangement), Random(0)
    assume(len(orders) <= 12)
    assert {arrangement.draw(random) for _ in range(1500)} == orders


@given(any_arrangement)
def test_the_procedure_of_an_arrangement_has_the_same_orders(arrangement: Arrangement) -> None:
    orders = list_orders(arrangement)
    assume(len(orders) <= MOST_ORDERS)
    automaton = Task("t", procedure=arrangement.procedure(lambda event: tool(f"t{event}")())).automaton
    events = [int(action.tool[1:]) for action in automaton.alphabet.actions]
    assert {tuple(events[symbol] for symbol in path) for path in automaton.golden.paths()} == orders


def test_optional_parts_in_turn_are_counted_once() -> None:
    turns = join(Form.ONE_BY_ONE, [optional(leaf(0)), leaf(1), optional(in_sequence((2, 3)))])
    assert turns.lengths == {1: 1, 2: 2, 3: 2, 4: 6}


def test_nested_sequences_are_flat_and_equal_alternatives_are_one() -> None:
    assert join(Form.SEQ, [in_sequence((0, 1)), leaf(2)]) == in_sequence((0, 1, 2))
    assert join(Form.CHOICE, [leaf(0), join(Form.CHOICE, [leaf(1), leaf(0)])]).parts == (leaf(0), leaf(1))
    assert optional(optional(leaf(0))) == optional(leaf(0))


# learning


@given(some_runs)
@settings(max_examples=200)
def test_every_run_is_among_the_learned_orders(runs: list[Run]) -> None:
    assume(runs)
    learned = learn_orders(runs)
    assert all(run in learned for run in runs)
    assert set(runs) <= list_orders(learned)


@given(full_runs, st.booleans(), st.integers(0, 99))
def test_every_run_is_among_the_learned_orders_whatever_is_decided(runs: list[Run], asks: bool, seed: int) -> None:
    random, forks = Random(seed), Forks(asks=asks)
    learn_orders(runs, forks)
    settled = {key: random.random() < 0.5 for key in forks.found}
    learned = learn_orders(runs, Forks(settled, asks=asks))
    assert set(runs) <= list_orders(learned)


@given(some_runs, st.integers(0, 99))
def test_names_of_events_do_not_matter(runs: list[Run], seed: int) -> None:
    assume(runs)
    names = Random(seed).sample(range(50), 5)
    renamed = learn_orders([tuple(names[event] for event in run) for run in runs])
    assert list_orders(renamed) == {tuple(names[event] for event in run) for run in list_orders(learn_orders(runs))}


@given(series_parallel, st.integers(0, 99))
def test_sequences_and_parts_in_any_order_are_found_again(arrangement: Arrangement, seed: int) -> None:
    orders = sorted(list_orders(arrangement))
    assume(len(orders) <= MOST_ORDERS)
    Random(seed).shuffle(orders)
    assert list_orders(learn_orders(orders * 3)) == set(orders)


@given(with_options)
def test_choices_and_optional_parts_are_found_again(arrangement: Arrangement) -> None:
    orders = list_orders(arrangement)
    assume(len(orders) <= MOST_ORDERS)
    assert list_orders(learn_orders(sorted(orders) * 10)) == orders


@given(st.integers(2, 3), st.integers(2, 3), st.integers(0, 2))
def test_parts_that_never_interleave_are_one_by_one(first: int, second: int, alone: int) -> None:
    parts = [in_sequence(range(first)), in_sequence(range(first, first + second))]
    parts += [leaf(first + second + number) for number in range(alone)]
    turns = join(Form.ONE_BY_ONE, parts)
    assert list_orders(learn_orders(sorted(list_orders(turns)) * 8)) == list_orders(turns)


def test_two_runs_of_two_parts_are_not_enough_to_say_that_they_never_interleave() -> None:
    assert (0, 2, 1, 3) in learn_orders([(0, 1, 2, 3), (2, 3, 0, 1)])
    assert (0, 2, 1, 3) not in learn_orders([(0, 1, 2, 3), (2, 3, 0, 1)] * 3)


def test_few_runs_of_many_orders_are_enough() -> None:
    steps = join(Form.ANY_ORDER, map(leaf, range(8)))
    random = Random(0)
    assert learn_orders([steps.draw(random) for _ in range(20)]).count == steps.count == 40_320


def test_many_runs_with_few_orders_are_those_orders_only() -> None:
    runs: list[Run] = [(0, 1, 2, 3), (3, 2, 1, 0)]
    assert list_orders(learn_orders(runs * 20)) == set(runs)


def test_no_runs_are_an_error_and_empty_runs_are_not() -> None:
    with pytest.raises(ValueError, match="no runs"):
        learn_orders([])
    assert list_orders(learn_orders([()])) == {()}
    assert list_orders(learn_orders([(), (0, 1)])) == {(), (0, 1)}


# partial orders


def _order(pairs: set[tuple[int, int]], events: Sequence[int]) -> dict[int, int]:
    return {event: sum(1 << other for other in events if (event, other) in pairs) for event in events}


def _pairs(runs: Sequence[Run]) -> set[tuple[int, int]]:
    """Return the pairs of events that all runs have in the same order."""
    return set.intersection(*(set(combinations(run, 2)) for run in runs))


def _extensions(pairs: set[tuple[int, int]], events: Sequence[int]) -> set[Run]:
    return {run for run in permutations(events) if pairs <= set(combinations(run, 2))}


@given(full_runs)
def test_total_orders_are_counted(runs: list[Run]) -> None:
    pairs = _pairs(runs)
    assert count_orders(range(5), _order(pairs, range(5))) == len(_extensions(pairs, range(5)))


def test_counting_orders_gives_up_when_it_takes_too_long() -> None:
    assert count_orders(range(40), dict.fromkeys(range(40), 0)) is None


@given(full_runs)
def test_a_log_knows_what_comes_before_what(runs: list[Run]) -> None:
    log, pairs = Log.of(runs), _pairs(runs)
    assert {event: log.order[event] for event in range(5)} == _order(pairs, range(5))
    both = {(one, other) for one, other in permutations(range(5), 2) if not {(one, other), (other, one)} & pairs}
    assert log.unordered == _order(both, range(5))


@given(series_parallel)
def test_a_series_parallel_order_is_an_arrangement(arrangement: Arrangement) -> None:
    orders = sorted(list_orders(arrangement))
    events = sorted(arrangement.events)
    found = as_series_parallel(events, _order(_pairs(orders), events))
    assert found is not None
    assert list_orders(found) == set(orders)


@given(full_runs)
def test_an_order_is_series_parallel_if_it_has_no_zigzag(runs: list[Run]) -> None:
    pairs = _pairs(runs)
    zigzag = any(
        {(a, c), (b, c), (b, d)} == {pair for pair in permutations((a, b, c, d), 2) if pair in pairs}
        for a, b, c, d in permutations(range(5), 4)
    )
    assert (as_series_parallel(range(5), _order(pairs, range(5))) is None) == zigzag


@given(full_runs)
def test_alternatives_have_the_orders_of_any_partial_order(runs: list[Run]) -> None:
    pairs = _pairs(runs)
    found = as_alternatives(range(5), _order(pairs, range(5)))
    assert found is not None
    assert list_orders(found) == _extensions(pairs, range(5))
    assert found.count == len(_extensions(pairs, range(5)))


@given(full_runs)
def test_without_weak_pairs_there_are_more_orders(runs: list[Run]) -> None:
    found = drop_weak_pairs(Log.of(runs))
    if found is not None:
        assert list_orders(found) > _extensions(_pairs(runs), range(5))


@given(full_runs)
def test_looser_orders_have_all_orders_of_the_runs(runs: list[Run]) -> None:
    looser = [one.found for one in loosen(Log.of(runs)) if one.found is not None]
    languages = [list_orders(found) for found in looser]
    assert languages[0] == _extensions(_pairs(runs), range(5))
    assert all(fewer < more for fewer, more in pairwise(languages))


def test_a_pair_that_runs_have_by_chance_is_given_up_if_it_makes_the_order_crooked() -> None:
    two = join(Form.ANY_ORDER, [in_sequence((0, 1, 2)), in_sequence((3, 4, 5))])
    by_chance = [run for run in sorted(list_orders(two)) if run.index(0) < run.index(5)]
    assert len(by_chance) == two.count - 1
    assert list_orders(learn_orders(by_chance)) == list_orders(two)


def test_a_crooked_order_stays_if_there_is_much_evidence_for_it() -> None:
    crooked = _extensions({(0, 2), (1, 2), (1, 3)}, range(4))
    assert list_orders(learn_orders(sorted(crooked) * 8)) == crooked


@given(arrangements(Form.SEQ, Form.ANY_ORDER, Form.ONE_BY_ONE, most_events=5), st.integers(0, 99))
def test_evidence_is_the_mean_over_two_kinds_of_runs(arrangement: Arrangement, seed: int) -> None:
    orders = sorted(list_orders(arrangement))
    events = sorted(arrangement.events)
    wide = join(Form.ANY_ORDER, map(leaf, events))
    run = Random(seed).choice(orders)
    steps = [{order[place] for order in orders if order[:place] == run[:place]} for place in range(len(events))]
    evenly, stepwise = 1 / len(orders), prod(1 / len(due) for due in steps)
    least = 1 / factorial(len(events))
    assert evidence(Log.of([run]), arrangement, wide) == pytest.approx(
        (log(evenly / least) + log(stepwise / least)) / 2
    )


@given(st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6))))
def test_components_are_joined_by_links(links: set[tuple[int, int]]) -> None:
    both = links | {(other, one) for one, other in links}
    groups = [{number} for number in range(7)]
    for one, other in links:
        mine, theirs = (next(group for group in groups if event in group) for event in (one, other))
        if mine is not theirs:
            groups.remove(theirs)
            mine |= theirs
    found = components(range(7), {event: sum(1 << to for to in range(7) if (event, to) in both) for event in range(7)})
    assert sorted(map(sorted, found)) == sorted(map(sorted, groups))


# required reads

READ = 9


def _surprise(chosen: Mapping[int, Mapping[int, Run]], sure: set[tuple[object, object]]) -> int:
    """Count the pairs of occurrences that are known only the other way round, over all runs."""
    total = 0
    for run in {run for places in chosen.values() for run in places}:
        pairs = set(_pairs_of_run(chosen, run))
        total += sum((two, one) in sure and (one, two) not in sure for one, two in pairs)
    return total


def _pairs_of_run(chosen: Mapping[int, Mapping[int, Run]], run: int) -> Iterator[tuple[object, object]]:
    here = [
        (place, (step, time))
        for step, by_run in chosen.items()
        for time, place in enumerate(by_run.get(run, ()))
    ]  # fmt: skip
    for (_, one), (_, other) in combinations(sorted(here), 2):
        if one[0] != other[0] and READ in (one[0], other[0]):
            yield one, other


@st.composite
def logs_with_a_read(draw: st.DrawFn) -> list[list[int]]:
    """Runs of the writes 0 to 2 in some order, with the read in between, once or more often."""
    runs = []
    for _ in range(draw(st.integers(1, 4))):
        steps = list(draw(st.permutations(range(3)))) + [READ] * draw(st.integers(1, 3))
        runs.append(list(draw(st.permutations(steps))))
    return runs


@given(logs_with_a_read())
def test_the_least_surprising_places_of_a_read_count(runs: list[list[int]]) -> None:
    places: dict[int, list[Place]] = {step: [] for step in (0, 1, 2, READ)}
    for number, run in enumerate(runs):
        for place, step in enumerate(run):
            places[step].append((number, place))
    choices = list_choices(places.pop(READ), len(runs))
    assert choices is not None
    writes = {step: {run: (place,) for run, place in found} for step, found in places.items()}
    sure = {
        pair for run, ways in choices.items()
        for pair in set.intersection(*({*_pairs_of_run({**writes, READ: {run: way}}, run)} for way in ways))
    }  # fmt: skip
    best = {
        run: min(ways, key=lambda way, run=run: (_surprise({**_only(writes, run), READ: {run: way}}, sure), way))  # type: ignore[misc]
        for run, ways in choices.items()
    }
    assert settle(places, {READ: choices}) == {READ: [(run, place) for run, way in best.items() for place in way]}


def _only(writes: Mapping[int, Mapping[int, Run]], run: int) -> dict[int, dict[int, Run]]:
    return {step: {run: places[run]} for step, places in writes.items()}


@given(st.lists(st.lists(st.integers(0, 8), max_size=4, unique=True).map(sorted), min_size=1, max_size=4))
def test_a_read_is_required_as_often_as_in_the_run_that_has_it_least(runs: list[list[int]]) -> None:
    choices = list_choices([(number, place) for number, run in enumerate(runs) for place in run], len(runs))
    least = min(map(len, runs))
    wanted: Choices = {number: [*combinations(run, least)] for number, run in enumerate(runs)}
    assert choices == (wanted if least else None)


def test_two_reads_are_settled_together() -> None:
    """The first run shows read 8, write 0, read 9. The other run makes both reads twice."""
    reads = {8: [(0, 0), (1, 0), (1, 3)], 9: [(0, 2), (1, 1), (1, 4)]}
    choices = {step: list_choices(places, 2) or {} for step, places in reads.items()}
    assert settle({0: [(0, 1), (1, 2)]}, choices) == {8: [(0, 0), (1, 0)], 9: [(0, 2), (1, 4)]}


# occurrences


def test_a_repeated_step_belongs_to_the_step_that_it_goes_with() -> None:
    """One goes back (9) after each of three pages, which are opened in any order."""
    paths = [tuple(step for page in pages for step in (page, 9)) for pages in permutations((1, 2, 3))]
    numbering = find_numbering(paths)
    runs = [numbering.number(path) for path in paths]
    blocks = {run[place : place + 2] for run in runs for place in (0, 2, 4)}
    assert len(blocks) == 3
    learned = learn_orders(runs * 4)
    assert learned.form is Form.ONE_BY_ONE
    assert {tuple(numbering.steps[event] for event in run) for run in list_orders(learned)} == set(paths)


def test_a_repeated_step_may_belong_to_the_step_after_it_and_others_may_come_between() -> None:
    paths = [(7, 8, 1, 7, 2), (7, 1, 8, 7, 2), (8, 7, 2, 7, 1), (7, 2, 7, 8, 1)]
    numbering = find_numbering(paths)
    owned = [{step: run[path.index(step) - before] for step, before in ((1, 1), (2, 1))}
             for path in [(7, 1, 7, 2), (7, 2, 7, 1)] for run in [numbering.number(path)]]  # fmt: skip
    assert owned[0] == owned[1]
    first, last = numbering.number(paths[0]), numbering.number(paths[2])
    assert first[0] == last[3] == owned[0][1]
    assert first[3] == last[1] == owned[0][2]


@given(st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=7).map(tuple), min_size=1, max_size=6))
def test_events_are_the_same_steps_in_the_same_order_each_once(paths: list[Run]) -> None:
    numbering = find_numbering(paths)
    runs = [numbering.number(path) for path in paths]
    assert all(len(set(run)) == len(run) for run in runs)
    assert [tuple(numbering.steps[event] for event in run) for run in runs] == paths
    again = numbering_of(runs, numbering.steps)
    assert [again.number(path) for path in paths] == runs
