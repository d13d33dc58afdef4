"""Build a task from a task file that has been validated."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, cast

from corepath.automaton.automaton import Automaton
from corepath.automaton.harm import HarmKind
from corepath.automaton.reading import Forbidden
from corepath.decoy import Decoy
from corepath.errors import Fault, NotationError, TaskError, nearest
from corepath.files.document import Document
from corepath.files.schema import DecoyEntry, ForbidEntry, PolicyEntry, TaskFile
from corepath.notation import parser
from corepath.notation.action import Action, Tool
from corepath.notation.matchers import Fields, Matcher
from corepath.notation.procedure import Procedure
from corepath.rules.parser import parse_rule
from corepath.rules.policy import after, before, needed, never
from corepath.rules.rule import Rule
from corepath.task import Task
from corepath.world.discovery import world
from corepath.world.world import World, state_matcher

_WORLD_FIELDS = ("setup", "goal", "policies", "decoys", "says")
_BROKEN = Action("", Fields(()))
"""Placeholder for an action that does not parse, so that the fields that name it are still checked."""


class TaskBuilder:
    """Parses the call notation in a task file and builds the task. `faults` collects all mistakes."""

    def __init__(self, document: Document, file: TaskFile) -> None:
        self.document, self.file = document, file
        self.faults: list[Fault] = []
        self.actions: dict[str, Action] = {}
        self.world: World[Any] | None = None
        self._parsing: list[str] = []

    def build(self) -> Task:
        """Build the task. Raises `TaskError` with every mistake in the file."""
        file = self.file
        if file.world is not None:
            try:
                self.world = world(file.world)
            except TaskError as error:
                self.faults.append(Fault(str(error), ("world",)))
        fields = self.parse_fields()
        procedure, warnings = self.parse_procedure(self.known_tools(fields))
        if self.faults:
            raise TaskError(self.faults)
        fields |= {
            "id": file.id,
            "prompt": file.prompt,
            "world": file.world,
            "tags": tuple(file.tags),
            "most_calls": file.most_calls,
            "source": file.source,
            "warnings": (*map(str, self.document.warnings), *warnings),
        }
        fields |= self._world_fields()
        if procedure is not None:
            return self._complete(Task(procedure=procedure, actions=tuple(self.actions.values()), **fields))
        return self._complete(Task(automaton=self._automaton(fields), **fields))

    def _automaton(self, fields: Mapping[str, Any]) -> Automaton:
        """Build the automaton that the file spells out with `start`, `accept` and `transitions`."""
        file = self.file
        rules = {name: fields[name] for name in ("reads", "neutral", "forbid", "unlisted", "refused")}
        if fields["tools"] is not None:
            rules["tools"] = {tool.name: tool for tool in fields["tools"]}
        edges = {state: targets or {} for state, targets in (file.transitions or {}).items()}
        return Automaton.from_transitions(
            self.actions, file.start or "", file.accept or [], edges, golden=file.golden, **rules
        )

    def known_tools(self, fields: Mapping[str, Any]) -> set[str]:
        """Return the names of all tools that the task mentions or that its world has."""
        forbidden = (one.call for one in fields["forbid"])
        patterns = (*self.actions.values(), *fields["reads"], *fields["neutral"], *forbidden)
        listed = {tool.name for tool in fields["tools"] or ()}
        return listed | {one.tool for one in patterns} | set(self.world.tools if self.world else ())

    def _complete(self, task: Task) -> Task:
        """Add warnings about overlapping patterns and, if there is a world, the world's tools, reads and policies."""
        if overlaps := task.automaton.alphabet.overlaps:
            warnings = (str(self.document.problem(one.message, one.where)) for one in overlaps)
            task = replace(task, warnings=(*task.warnings, *warnings))
        return task if self.world is None else self.world.complete(task)

    def _world_fields(self) -> dict[str, Any]:
        """Parse the fields that need a world. Raises `TaskError` if the file has such a field but no world."""
        file = self.file
        if self.world is None:
            given = [name for name in _WORLD_FIELDS if getattr(file, name)]
            if given:
                raise TaskError.of(f"'{given[0]}' belongs to a task of a world; name it in 'world'", given[0])
            return {}
        start = self._start(self.world)
        goal = None if file.goal is None else self._parse(("goal",), file.goal, parser.matcher)
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
                world.start_state({name: value})
            except TaskError as error:
                self.faults.append(Fault(str(error), ("setup", name)))
        if self.faults:
            raise TaskError(self.faults)
        return world.start_state(setup)

    def _policy(self, place: int, entry: PolicyEntry) -> Rule | None:
        kinds: dict[str, Any] = {"before": before, "after": after, "needed": needed, "never": never, "rule": None}
        given = [kind for kind in kinds if getattr(entry, kind) is not None]
        if len(given) != 1:
            self.faults.append(Fault("a policy is one of before, after, needed, never and rule", ("policies", place)))
            return None
        where = ("policies", place, given[0])
        if given == ["rule"]:
            rule: Rule | None = self._parse(where, entry.rule or "", parse_rule)
            return None if rule is None else replace(rule, because=entry.because, attempted=False)
        texts = getattr(entry, given[0])
        calls = [self._pattern(where, text) for text in ([texts] if isinstance(texts, str) else texts)]
        return None if None in calls else cast("Rule", kinds[given[0]](*calls, because=entry.because))

    def _decoy(self, name: str, entry: DecoyEntry) -> Decoy:
        where = ("decoys", name, "calls")
        calls = [self._parse((*where, place), text, parser.call) for place, text in enumerate(entry.calls)]
        if entry.harm is not None and entry.harm not in list(HarmKind):
            message = f"no kind of harm '{entry.harm}'{nearest(entry.harm, [kind.value for kind in HarmKind])}"
            self.faults.append(Fault(message, ("decoys", name, "harm")))
        return Decoy(calls, entry.harm, entry.fools)

    def parse_fields(self) -> dict[str, Any]:
        """Parse the fields in call notation, except the procedure, and return them by name."""
        file = self.file
        for name in file.actions:
            self._action(name)
        return {
            "reads": self._patterns("reads", file.reads),
            "neutral": self._patterns("neutral", file.neutral),
            "forbid": self._forbid(),
            "unlisted": file.unlisted,
            "refused": file.refused,
            "tools": self._tools(),
            "answer": self._answer(),
        }

    def parse_procedure(self, tools: Collection[str] = ()) -> tuple[Procedure | None, tuple[str, ...]]:
        """Parse the procedure, and return it with the parser's warnings.

        The procedure is None if the file has no valid procedure. `tools` are the names to suggest if a tool is
        misspelt.
        """
        file = self.file
        outright = {"start": file.start, "accept": file.accept, "transitions": file.transitions}
        given = [name for name, value in outright.items() if value is not None]
        if file.procedure is None:
            self._require_automaton(given, list(outright))
            return None, ()
        if given:
            self.faults.append(
                Fault(f"'{given[0]}' and 'procedure' are two ways to say the same; keep one", (given[0],))
            )
        if file.golden != "acyclic":
            self.faults.append(Fault("'golden' goes with 'transitions'; a procedure has no circles", ("golden",)))
        found = self._parse(
            ("procedure",),
            file.procedure,
            lambda text: parser.procedure(text, self._action, tuple(file.actions), tools),
        )
        if found is None:
            return None, ()
        warnings = (self.document.problem(warning, ("procedure",)) for warning in found.warnings)
        return found.procedure, tuple(map(str, warnings))

    def _require_automaton(self, given: list[str], fields: list[str]) -> None:
        """Add faults for the fields that are missing from a task without a procedure.

        `given` are the automaton fields in the file, and `fields` are all automaton fields.
        """
        if not given:
            self.faults.append(Fault("'procedure' is missing: say what may be done, as in create >> deposit"))
            return
        for name in fields:
            if name not in given:
                self.faults.append(Fault(f"'{name}' is missing beside '{given[0]}'", (given[0],)))

    def _action(self, name: str) -> Action | None:
        """Return the action called `name`, or None if the file has no such action. Actions are parsed on first use."""
        if name in self.actions or name not in self.file.actions:
            return self.actions.get(name)
        if name in self._parsing:
            circle = " → ".join([*self._parsing[self._parsing.index(name) :], name])
            self.faults.append(Fault(f"result_of goes in a circle: {circle}", ("actions", name)))
            return _BROKEN
        self._parsing.append(name)
        text = self.file.actions[name]
        found = self._parse(("actions", name), text, lambda text: parser.action(text, self._action))
        self._parsing.pop()
        self.actions[name] = (found or _BROKEN).named(name)
        return self.actions[name]

    def _patterns(self, key: str, texts: list[str]) -> tuple[Action, ...]:
        found: list[Action] = []
        for place, text in enumerate(texts):
            where = (key, place)
            pattern = self._pattern(where, text)
            if pattern is not None:
                found.append(pattern)
            elif self.document.cut_at(where):
                break  # YAML split this call into several items: one error is enough
        return tuple(found)

    def _pattern(self, where: tuple[str | int, ...], text: str) -> Action | None:
        """Return the action called `text`, or parse `text` as a call pattern. Return None if `text` is neither."""
        pattern: Action | None = self.actions.get(text.strip()) or self._parse(where, text, parser.action)
        return pattern

    def _forbid(self) -> tuple[Forbidden, ...]:
        found: list[Forbidden] = []
        for place, entry in enumerate(self.file.forbid):
            given = ForbidEntry(call=entry, why=None) if isinstance(entry, str) else entry
            where = ("forbid", place) if isinstance(entry, str) else ("forbid", place, "call")
            pattern = self._pattern(where, given.call)
            if pattern is not None:
                found.append(Forbidden(pattern, given.severity, given.why))
        return tuple(found)

    def _tools(self) -> tuple[Tool, ...] | None:
        if self.file.tools is None:
            return None
        found = [self._parse(("tools", place), text, parser.tool) for place, text in enumerate(self.file.tools)]
        return tuple(tool for tool in found if tool is not None)

    def _answer(self) -> Matcher | None:
        if self.file.answer is None:
            return None
        matcher: Matcher | None = self._parse(("answer",), self.file.answer, parser.matcher)
        return matcher

    def _parse(self, where: tuple[str | int, ...], text: str, parse: Any) -> Any:
        """Parse `text`. If that fails, add a fault at `where` and return None."""
        try:
            return parse(text)
        except NotationError as error:
            message, offset = error.message, error.position
            if cut := self.document.cut_at(where):
                message = f"YAML ended this text at '{cut}': {text}; put the whole of it in single quotes"
                offset = 0
            self.faults.append(Fault(message, where, offset))
        except TaskError as error:
            self.faults.append(Fault(str(error), where))
        return None
