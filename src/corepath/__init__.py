"""corepath scores tool-using agents on their whole path of calls, not only on the final state.

>>> from corepath import Task, score, seq, tool
>>> check, approve = tool("check"), tool("approve")
>>> task = Task("legal/approve", procedure=seq(check(policy="P1"), approve(policy="P1")))
>>> score(task, ['approve(policy="P1")']).pc
0.5
"""

from typing import TYPE_CHECKING, Any

from corepath.automaton.automaton import Automaton
from corepath.automaton.condensation import Trace, trace_calls
from corepath.automaton.harm import HarmKind
from corepath.automaton.reading import Forbidden
from corepath.automaton.step import Kind, Position, Step, begin, step
from corepath.decoy import Decoy
from corepath.episode import Episode, events
from corepath.errors import CorepathError, InputError, NotationError, Problem, StepLimitError, TaskError, ToolError
from corepath.files.lookup import task
from corepath.notation.action import Action, Tool
from corepath.notation.call import UNANSWERED, Call
from corepath.notation.matchers import Matcher
from corepath.notation.message import Message
from corepath.notation.parser import action, call, tool
from corepath.notation.patterns import (
    ANY,
    approx,
    between,
    contains,
    none_of,
    one_of,
    regex,
    result_of,
    same_text,
    satisfies,
    unordered,
    var,
)
from corepath.notation.procedure import Procedure, any_order, choice, one_by_one, optional, repeat, seq
from corepath.play.play import play
from corepath.play.recorder import Recorder, episode
from corepath.play.session import Agent, Session
from corepath.rules.parser import parse_rule
from corepath.rules.policy import after, before, needed, never
from corepath.rules.rule import Rule
from corepath.scoring.evidence import Harm, Reference
from corepath.scoring.options import PAPER, RECOMMENDED, Scoring
from corepath.scoring.score import Score, score
from corepath.task import Task
from corepath.world.discovery import installed_worlds, world
from corepath.world.exploring import Replay, replay
from corepath.world.tools import WorldTool
from corepath.world.world import Pick, World

if TYPE_CHECKING:
    from corepath.authoring.learning.learn import Learned, learn
    from corepath.authoring.learning.rules import LearnedRules, learn_rules
    from corepath.evaluation import run
    from corepath.explanation import Explanation, Finding, FindingKind, Note, explain
    from corepath.files.episodes import episode_json, load_episodes
    from corepath.files.tasks import load_task, load_tasks, parse_tasks
    from corepath.report.loading import load_results
    from corepath.report.results import Results
    from corepath.testing.assertion import assert_path
    from corepath.testing.rules import assert_rules
    from corepath.verification.run_check import RunCheck, check_runs

__version__ = "0.1.0"

_LAZY = {
    "assert_path": "corepath.testing.assertion",
    "assert_rules": "corepath.testing.rules",
    "run": "corepath.evaluation",
    **dict.fromkeys(("Explanation", "Finding", "FindingKind", "Note", "explain"), "corepath.explanation"),
    **dict.fromkeys(("episode_json", "load_episodes"), "corepath.files.episodes"),
    **dict.fromkeys(("load_task", "load_tasks", "parse_tasks"), "corepath.files.tasks"),
    "Results": "corepath.report.results",
    "load_results": "corepath.report.loading",
    **dict.fromkeys(("RunCheck", "check_runs"), "corepath.verification.run_check"),
    **dict.fromkeys(("Learned", "learn"), "corepath.authoring.learning.learn"),
    **dict.fromkeys(("LearnedRules", "learn_rules"), "corepath.authoring.learning.rules"),
}


def __getattr__(name: str) -> Any:
    """Import a name on first use if it needs slow packages. Importing all at once would double the import time."""
    if name in _LAZY:
        from importlib import import_module  # noqa: PLC0415

        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'corepath' has no attribute '{name}'")


def __dir__() -> list[str]:
    return __all__


__all__ = [
    "ANY",
    "PAPER",
    "RECOMMENDED",
    "UNANSWERED",
    "Action",
    "Agent",
    "Automaton",
    "Call",
    "CorepathError",
    "Decoy",
    "Episode",
    "Explanation",
    "Finding",
    "FindingKind",
    "Forbidden",
    "Harm",
    "HarmKind",
    "InputError",
    "Kind",
    "Learned",
    "LearnedRules",
    "Matcher",
    "Message",
    "NotationError",
    "Note",
    "Pick",
    "Position",
    "Problem",
    "Procedure",
    "Recorder",
    "Reference",
    "Replay",
    "Results",
    "Rule",
    "RunCheck",
    "Score",
    "Scoring",
    "Session",
    "Step",
    "StepLimitError",
    "Task",
    "TaskError",
    "Tool",
    "ToolError",
    "Trace",
    "World",
    "WorldTool",
    "__version__",
    "action",
    "after",
    "any_order",
    "approx",
    "assert_path",
    "assert_rules",
    "before",
    "begin",
    "between",
    "call",
    "check_runs",
    "choice",
    "contains",
    "episode",
    "episode_json",
    "events",
    "explain",
    "installed_worlds",
    "learn",
    "learn_rules",
    "load_episodes",
    "load_results",
    "load_task",
    "load_tasks",
    "needed",
    "never",
    "none_of",
    "one_by_one",
    "one_of",
    "optional",
    "parse_rule",
    "parse_tasks",
    "play",
    "regex",
    "repeat",
    "replay",
    "result_of",
    "run",
    "same_text",
    "satisfies",
    "score",
    "seq",
    "step",
    "task",
    "tool",
    "trace_calls",
    "unordered",
    "var",
    "world",
]
