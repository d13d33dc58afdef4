"""Agents that need no model: the oracle, the floor, and one for each way of failing.

An agent is a function of a `Session`. These draw only from the session's chance: the same seed, the same calls.
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
from corepath.play.mistakes import Fault, GoldenRun, Strays
from corepath.play.session import Agent, Session
from corepath.task import Simulator
from corepath.world.exploring import simulator_of

PLANTED: Final = "planted"
SPARED: Final = "spared"
"""What became of an episode's fault: it is there, or chance left it out; see also `aggregate.IMPOSSIBLE`."""

MOST_FAULTY: Final = 40
"""Faulty paths of one golden path among which chance decides."""


def oracle(session: Session) -> Any:
    """Plays a golden path, any of them."""
    _make(session, _golden(session).calls)
    return _answer(session)


def do_nothing(session: Session) -> Any:  # noqa: ARG001
    """Makes no call."""
    return "There is nothing to do."


def reads_only(session: Session) -> Any:
    """Looks at everything and changes nothing."""
    strays = _strays(session)
    tools = [tool.name for tool in strays.world.tools.values() if not tool.writes]
    session.random.shuffle(tools)
    _make(session, [call for tool in tools for call in strays.calls[tool][:2]])
    return "I have looked at everything."


def random(session: Session) -> Any:
    """Makes calls by chance, with values from the prompt and the world."""
    strays = _strays(session)
    tools = [tool for tool, calls in strays.calls.items() if calls]
    for _ in range(session.random.randint(1, session.task.automaton.golden.longest + 2)):
        _make(session, [session.random.choice(strays.calls[session.random.choice(tools)])])
    return "Done."


def failing(*ways: Fault, rate: float = 1.0) -> Agent:
    """Plays a golden path with a fault in it, in that share of its episodes; else the golden path as it is.

    Of several ways the first that has a place is taken. `notes["fault"]` says what became of it; where there was no
    place for the fault, the episode counts for nothing.
    """

    def agent(session: Session) -> Any:
        run = _golden(session)
        path = run.calls
        if session.random.random() >= rate:
            session.notes["fault"] = SPARED
        else:
            faulty = next((found for way in ways if (found := list(islice(way(run), MOST_FAULTY)))), None)
            session.notes["fault"] = PLANTED if faulty else IMPOSSIBLE
            path = tuple(session.random.choice(faulty)) if faulty else path
        _make(session, path)
        return _answer(session)

    return agent


_FAILING: Final[dict[str, tuple[Fault, ...]]] = {
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
"""Those that do no harm because they do nothing: every table of live models has them beside."""


def about(name: str) -> str:
    """What a built-in agent does, in a sentence."""
    text = (_PLAIN[name] if name in _PLAIN else _FAILING[name][0]).__doc__ or ""
    return " ".join(text.split()).partition(". ")[0].rstrip(".") + "."


def built_in(name: str) -> Agent:
    """A built-in agent: `oracle`, or `swapped:0.3` for one that fails in that share of its episodes."""
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


def _golden(session: Session) -> GoldenRun:
    return mistakes.golden_run(session.task, _world(session), session.random)


def _strays(session: Session) -> Strays:
    return mistakes.strays_of(session.task)


def _world(session: Session) -> Simulator:
    return simulator_of(session.task)


def _make(session: Session, calls: Iterable[Call]) -> None:
    for call in calls:
        session.call(call.tool, call.arguments)


def _answer(session: Session) -> Any:
    """What the task wants to hear, where it wants something."""
    wanted = session.task.answer_matcher
    fitting = (text for text in wanted.examples() if wanted.matches(text, Scope())) if wanted else iter(())
    return next(fitting, "Done.")
