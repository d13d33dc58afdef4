"""Built-in agents, which need no model: the oracle, a few simple agents, and one agent for each kind of mistake.

An agent is a function that takes a `Session`. Built-in agents use no random numbers except the session's, so the same
seed leads to the same calls.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any, Final

from corepath.episode import IMPOSSIBLE
from corepath.errors import TaskError, nearest
from corepath.notation.call import Call
from corepath.notation.matchers import Scope
from corepath.play import mistakes
from corepath.play.golden_run import GoldenRun, random_golden_run
from corepath.play.mistakes import Mistake
from corepath.play.session import Agent, Session
from corepath.play.stray_calls import find_strays
from corepath.world.exploring import simulator_of

PLANTED: Final = "planted"
"""The episode contains the mistake. See also `episode.IMPOSSIBLE`."""
SPARED: Final = "spared"
"""The episode contains no mistake, because the agent makes mistakes in only some episodes."""

MOST_FAULTY_PATHS: Final = 40
"""The most faulty paths to generate before one is chosen at random."""


def oracle(session: Session) -> Any:
    """Play a random golden path."""
    _make_calls(session, _golden_run(session).calls)
    return _answer(session)


def do_nothing(session: Session) -> Any:  # noqa: ARG001
    """Make no calls."""
    return "There is nothing to do."


def reads_only(session: Session) -> Any:
    """Make up to two calls to each tool that only reads, and no other calls."""
    strays = find_strays(session.task)
    tools = [tool.name for tool in strays.world.tools.values() if not tool.writes]
    session.random.shuffle(tools)
    _make_calls(session, [call for tool in tools for call in strays.calls[tool][:2]])
    return "I have looked at everything."


def random(session: Session) -> Any:
    """Make random calls with values from the prompt and the world."""
    strays = find_strays(session.task)
    tools = [tool for tool, calls in strays.calls.items() if calls]
    for _ in range(session.random.randint(1, session.task.automaton.golden.longest + 2)):
        _make_calls(session, [session.random.choice(strays.calls[session.random.choice(tools)])])
    return "Done."


def failing(*kinds: Mistake, rate: float = 1.0) -> Agent:
    """Build an agent that plays golden paths but makes a mistake in some episodes.

    `rate` is the probability of a mistake in an episode. The agent makes the first mistake in `kinds` that is possible
    on the path. `notes["fault"]` records whether the mistake was made. Episodes in which no mistake was possible are
    left out of all means.
    """

    def agent(session: Session) -> Any:
        run = _golden_run(session)
        path = run.calls
        if session.random.random() >= rate:
            session.notes["fault"] = SPARED
        else:
            faulty = next((found for kind in kinds if (found := list(islice(kind(run), MOST_FAULTY_PATHS)))), None)
            session.notes["fault"] = PLANTED if faulty else IMPOSSIBLE
            path = tuple(session.random.choice(faulty)) if faulty else path
        _make_calls(session, path)
        return _answer(session)

    return agent


_FAILING: Final[dict[str, tuple[Mistake, ...]]] = {
    "left_out": (mistakes.left_out,),
    "swapped": (mistakes.swapped,),
    "wrong_argument": (mistakes.wrong_argument,),
    "wrong_tool": (mistakes.wrong_tool,),
    "repeated": (mistakes.repeated, mistakes.repeated_without_effect),
    "harmful_early": (mistakes.harmful_early,),
    "harmful_late": (mistakes.harmful_late,),
    "undone": (mistakes.undone,),
    "redundant_reads": (mistakes.redundant_reads,),
    "wandering": (mistakes.wandering,),
    "early_stop": (mistakes.early_stop,),
}
_PLAIN: Final[dict[str, Agent]] = {
    "oracle": oracle,
    "do_nothing": do_nothing,
    "reads_only": reads_only,
    "random": random,
}

BUILT_IN: Final = (*_PLAIN, *_FAILING)
"""The names of the built-in agents."""
FLOOR: Final = ("do_nothing", "reads_only")
"""The agents that do nothing or only read. Tables compare live models with them."""


def built_in(name: str) -> Agent:
    """Look up a built-in agent by name, e.g. `oracle`, or `swapped:0.3` for mistakes in 30 % of the episodes.

    Raises `TaskError` if there is no such agent or the rate is invalid.
    """
    plain, _, share = name.partition(":")
    if plain not in BUILT_IN:
        raise TaskError.of(f"no agent '{plain}'{nearest(plain, BUILT_IN)}")
    if not share:
        return _PLAIN[plain] if plain in _PLAIN else failing(*_FAILING[plain])
    if plain in _PLAIN:
        raise TaskError.of(f"agent '{plain}' takes no rate: it has no fault")
    try:
        rate = float(share)
    except ValueError:
        rate = -1.0
    if not 0 <= rate <= 1:
        raise TaskError.of(f"the rate of agent '{name}' is no number from 0 to 1; write it as {plain}:0.3")
    return failing(*_FAILING[plain], rate=rate)


def _golden_run(session: Session) -> GoldenRun:
    return random_golden_run(session.task, simulator_of(session.task), session.random)


def _make_calls(session: Session, calls: Iterable[Call]) -> None:
    for call in calls:
        session.repeat(call)


def _answer(session: Session) -> Any:
    """Return an answer that the task accepts, or "Done." if the task asks for no answer."""
    matcher = session.task.answer_matcher
    accepted = (text for text in matcher.examples() if matcher.matches(text, Scope())) if matcher else iter(())
    return next(accepted, "Done.")
