"""Building a task from a checked task file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, cast

from corepath.automaton.alphabet import Forbidden
from corepath.automaton.automaton import Automaton
from corepath.automaton.harm import HarmKind
from corepath.decoy import Decoy
from corepath.errors import Fault, NotationError, TaskError, nearest
from corepath.files.schema import DecoyEntry, ForbidEntry, PolicyEntry, TaskFile
from corepath.files.yaml import Located
from corepath.notation import parser
from corepath.notation.action import Action, Tool
from corepath.notation.matchers import Fields, Matcher
from corepath.notation.procedure import Procedure
from corepath.rules.policy import Policy, after, before, needed, never
from corepath.task import Task
from corepath.world.discovery import world
from corepath.world.world import World, state_matcher

_OF_WORLDS = ("setup", "goal", "policies", "decoys", "says")
_UNREAD = Action("", Fields(()))
"""Stands for an action whose text does not read, so that what speaks of it is read all the same."""


class TaskBuilder:
    """A task from a checked file: every text in it is read, and all that is wrong is told at once."""

    def __init__(self, document: Located, read: TaskFile) -> None:
        self.document, self.file = document, read
        self.faults: list[Fault] = []
        self.actions: dict[str, Action] = {}
        self.reading: list[str] = []
        self.world: World[Any] | None = None

    def task(self) -> Task:
        """Build the task. Raises `TaskError` with everything that is wrong in the file."""
        file = self.file
        if file.world is not None:
            try:
                self.world = world(file.world)
            except TaskError as error:
                self.faults.append(Fault(str(error), ("world",)))
        common = self.texts()
        procedure, warnings = self.procedure(self.known_tools(common))
        if self.faults:
            raise TaskError(self.faults)
        common |= {
            "id": file.id,
            "prompt": file.prompt,
            "world": file.world,
            "tags": tuple(file.tags),
            "most_calls": file.most_calls,
            "warnings": (*map(str, self.document.warnings), *warnings),
        }
        common |= self.of_world()
        if procedure is not None:
            return self.completed(Task(procedure=procedure, actions=tuple(self.actions.values()), **common))
        rules = {name: common[name] for name in ("reads", "neutral", "forbid", "unlisted")}
        if common["tools"] is not None:
            rules["tools"] = {tool.name: tool for tool in common["tools"]}
        edges = {state: after or {} for state, after in (file.transitions or {}).items()}
        made = Automaton.from_transitions(
            self.actions, file.start or "", file.accept or [], edges, golden=file.golden, **rules
        )
        return self.completed(Task(automaton=made, **common))

    def known_tools(self, texts: Mapping[str, Any]) -> set[str]:
        """The tools that the task speaks of, and those of its world."""
        patterns = (*self.actions.values(), *texts["reads"], *texts["neutral"], *(one.call for one in texts["forbid"]))
        listed = {tool.name for tool in texts["tools"] or ()}
        return listed | {one.tool for one in patterns} | set(self.world.tools if self.world else ())

    def completed(self, task: Task) -> Task:
        """The task with what is odd about it, in its world, where it names one."""
        if told := task.automaton.alphabet.overlaps:
            warnings = (str(self.document.problem(one.message, one.where)) for one in told)
            task = replace(task, warnings=(*task.warnings, *warnings))
        return task if self.world is None else self.world.complete(task)

    def of_world(self) -> dict[str, Any]:
        """What only a task of a world has."""
        file = self.file
        if self.world is None:
            given = [name for name in _OF_WORLDS if getattr(file, name)]
            if given:
                raise TaskError.of(f"'{given[0]}' belongs to a task of a world; name it in 'world'", given[0])
            return {}
        start = self._start(self.world)
        goal = None if file.goal is None else self._text(("goal",), file.goal, parser.matcher)
        policies = [self._policy(place, entry) for place, entry in enumerate(file.policies)]
        decoys = {name: self._decoy(name, entry) for name, entry in file.decoys.items()}
        if self.faults:
            raise TaskError(self.faults)
        return {
            "start": start,
            "goal": None if goal is None else state_matcher(self.world, goal),
            "policies": policies,
            "decoys": decoys,
            "says": file.says,
        }

    def _start(self, world: World[Any]) -> Any:
        setup = self.file.setup or {}
        for name, value in setup.items():
            try:
                world.starting({name: value})
            except TaskError as error:
                self.faults.append(Fault(str(error), ("setup", name)))
        if self.faults:
            raise TaskError(self.faults)
        return world.starting(setup)

    def _policy(self, place: int, entry: PolicyEntry) -> Policy | None:
        kinds: dict[str, Any] = {"before": before, "after": after, "needed": needed, "never": never}
        given = [kind for kind in kinds if getattr(entry, kind) is not None]
        if len(given) != 1:
            self.faults.append(Fault("a policy is one of before, after, needed and never", ("policies", place)))
            return None
        where = ("policies", place, given[0])
        texts = getattr(entry, given[0])
        calls = [self._pattern(where, text) for text in ([texts] if isinstance(texts, str) else texts)]
        return None if None in calls else cast("Policy", kinds[given[0]](*calls, because=entry.because))

    def _decoy(self, name: str, entry: DecoyEntry) -> Decoy:
        where = ("decoys", name, "calls")
        calls = [self._text((*where, place), text, parser.call) for place, text in enumerate(entry.calls)]
        if entry.harm is not None and entry.harm not in list(HarmKind):
            message = f"no kind of harm '{entry.harm}'{nearest(entry.harm, [kind.value for kind in HarmKind])}"
            self.faults.append(Fault(message, ("decoys", name, "harm")))
        return Decoy(calls, entry.harm, entry.fools)

    def texts(self) -> dict[str, Any]:
        """What stands in call notation, but for the procedure."""
        file = self.file
        for name in file.actions:
            self._action(name)
        return {
            "reads": self._patterns("reads", file.reads),
            "neutral": self._patterns("neutral", file.neutral),
            "forbid": self._forbid(),
            "unlisted": file.unlisted,
            "tools": self._tools(),
            "answer": self._answer(),
        }

    def procedure(self, tools: Collection[str] = ()) -> tuple[Procedure | None, tuple[str, ...]]:
        """The procedure, and what is odd about it; `tools` are known to the task."""
        file = self.file
        outright = {"start": file.start, "accept": file.accept, "transitions": file.transitions}
        given = [name for name, value in outright.items() if value is not None]
        if file.procedure is None:
            if not given:
                self.faults.append(Fault("'procedure' is missing: say what may be done, as in create >> deposit"))
            for name in outright:
                if given and name not in given:
                    self.faults.append(Fault(f"'{name}' is missing beside '{given[0]}'", (given[0],)))
            return None, ()
        if given:
            self.faults.append(
                Fault(f"'{given[0]}' and 'procedure' are two ways to say the same; keep one", (given[0],))
            )
        if file.golden != "acyclic":
            self.faults.append(Fault("'golden' goes with 'transitions'; a procedure has no circles", ("golden",)))
        found = self._text(
            ("procedure",),
            file.procedure,
            lambda text: parser.procedure(text, self._action, tuple(file.actions), tools),
        )
        if found is None:
            return None, ()
        told = (self.document.problem(warning, ("procedure",)) for warning in found.warnings)
        return found.procedure, tuple(map(str, told))

    def _action(self, name: str) -> Action | None:
        """The action of that name; those that it speaks of are read first."""
        if name in self.actions or name not in self.file.actions:
            return self.actions.get(name)
        if name in self.reading:
            circle = " → ".join([*self.reading[self.reading.index(name) :], name])
            self.faults.append(Fault(f"result_of goes in a circle: {circle}", ("actions", name)))
            return _UNREAD
        self.reading.append(name)
        text = self.file.actions[name]
        found = self._text(("actions", name), text, lambda text: parser.action(text, self._action))
        self.reading.pop()
        self.actions[name] = (found or _UNREAD).named(name)
        return self.actions[name]

    def _patterns(self, key: str, texts: list[str]) -> tuple[Action, ...]:
        found: list[Action] = []
        for place, text in enumerate(texts):
            where = (key, place)
            read = self._pattern(where, text)
            if read is not None:
                found.append(read)
            elif self.document.cut_at(where):
                break  # what YAML made of the rest of this call is not worth an error each
        return tuple(found)

    def _pattern(self, where: tuple[str | int, ...], text: str) -> Action | None:
        """A pattern of calls, or an action by its name."""
        read: Action | None = self.actions.get(text.strip()) or self._text(where, text, parser.action)
        return read

    def _forbid(self) -> tuple[Forbidden, ...]:
        found: list[Forbidden] = []
        for place, entry in enumerate(self.file.forbid):
            given = ForbidEntry(call=entry, why=None) if isinstance(entry, str) else entry
            where = ("forbid", place) if isinstance(entry, str) else ("forbid", place, "call")
            read = self._pattern(where, given.call)
            if read is not None:
                found.append(Forbidden(read, given.severity, given.why))
        return tuple(found)

    def _tools(self) -> tuple[Tool, ...] | None:
        if self.file.tools is None:
            return None
        found = [self._text(("tools", place), text, parser.tool) for place, text in enumerate(self.file.tools)]
        return tuple(tool for tool in found if tool is not None)

    def _answer(self) -> Matcher | None:
        if self.file.answer is None:
            return None
        read: Matcher | None = self._text(("answer",), self.file.answer, parser.matcher)
        return read

    def _text(self, where: tuple[str | int, ...], text: str, read: Any) -> Any:
        try:
            return read(text)
        except NotationError as error:
            message, offset = error.message, error.position
            if cut := self.document.cut_at(where):
                message = f"YAML ended this text at '{cut}': {text}; put the whole of it in single quotes"
                offset = 0
            self.faults.append(Fault(message, where, offset))
        except TaskError as error:
            self.faults.append(Fault(str(error), where))
        return None
