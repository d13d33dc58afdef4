"""Calls of chat spans and runs of tool spans, met by the time of their start, joined to one conversation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from corepath.action import UNANSWERED, Call
from corepath.importers.conversation import Conversation, RecordError, result_value
from corepath.importers.otlp import Span
from corepath.json_values import arguments_of, canonical, equal
from corepath.task import Episode

Family = Mapping[str, tuple[str | None, str | None]]
"""The parent and the kind of each span by its id."""


@dataclass(frozen=True)
class Asked:
    """A call in a message of the agent."""

    tool: Any
    arguments: Any
    id: Any = None


@dataclass(frozen=True)
class Answered:
    """The answer to a call in a message to the agent."""

    id: Any
    value: Any
    error: bool = False


@dataclass(frozen=True)
class Message:
    """A message: who said it, the words, and the calls or answers in it."""

    role: str
    text: Any = None
    calls: tuple[Asked, ...] = ()
    answers: tuple[Answered, ...] = ()

    @property
    def of_user(self) -> bool:
        """Words of the user, and no answers to calls."""
        return self.role == "user" and not self.answers


@dataclass(frozen=True)
class Chat:
    """What a chat span holds: all that the model was sent, what it said, and its name."""

    sent: tuple[Message, ...]
    said: tuple[Message, ...]
    model: Any = None
    unread: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ran:
    """What a tool span holds; arguments and result are UNANSWERED where the span does not tell them."""

    tool: str
    arguments: Any = UNANSWERED
    id: Any = None
    result: Any = UNANSWERED
    error: Any = None


@dataclass
class Joining:
    """A conversation that is put together from spans."""

    family: Family
    _made: Conversation = field(default_factory=Conversation)
    _models: dict[str, None] = field(default_factory=dict)
    _unread: list[str] = field(default_factory=list)
    _history: dict[str, set[str | None]] = field(default_factory=dict)
    _asked: dict[str | None, int] = field(default_factory=dict)
    _by_span: dict[int, bool] = field(default_factory=dict)
    _silent: dict[int, None] = field(default_factory=dict)
    _runs: dict[str, tuple[str, int]] = field(default_factory=dict)

    @property
    def calls(self) -> list[Call]:
        """The calls so far."""
        return self._made.calls

    @property
    def messages(self) -> list[Any]:
        """What the agent said so far."""
        return self._made.messages

    def chat(self, span: Span, chat: Chat) -> None:
        """A chat span: what it was sent tells the results of earlier calls, what it said are calls and words."""
        inside = next((kind for _, kind in self._above(span) if kind is not None), None) == "chat"
        if chat.model is not None:
            self._models.setdefault(str(chat.model))
        self._unread += [f"span {span.id}: {one}" for one in chat.unread]
        self._recover(chat.sent)
        self._answers(chat.sent)
        if not inside:
            self._made.next_turn()
        answered = False
        for message in chat.said:
            if message.answers:
                self._answers((message,))
                answered = True
                continue
            if answered:
                self._made.next_turn()
                answered = False
            if not (inside and self._just_said(message.text)):
                self._made.said(message.text)
            for asked in message.calls:
                self._ask(asked, inside=inside)
        self._by_span.clear()

    def ran(self, span: Span, ran: Ran) -> None:
        """A tool span: the result of a call that a chat span told of, or a call of its own."""
        above = next((id_ for id_, kind in self._above(span) if kind is not None), None)
        tool, place = self._runs.get(above or "", ("", -1))
        if tool != ran.tool:
            place = self._place(ran)
        if place < 0:
            self._settle(_name(ran.id))
            place = len(self.calls)
            told = ran.arguments is not UNANSWERED
            self._made.call(ran.tool, ran.arguments if told else None, _name(ran.id))
            self._by_span[place] = told
        if span.id is not None:
            self._runs[span.id] = (ran.tool, place)
        if ran.error is not None:
            self._answer(place, ran.error, error=True, said=ran.result)
        elif ran.result is not UNANSWERED:
            self._answer(place, ran.result)
        elif _is_open(self.calls[place]):
            self._silent[place] = None

    def ended(self) -> None:
        """No span follows: a run of which nobody told the result had one all the same."""
        for place in self._silent:
            if _is_open(self.calls[place]):
                self._made.answer_at(place, None)

    def episode(self, **metadata: Any) -> Episode:
        """The episode."""
        models = list(self._models)
        more = {"models": models} if len(models) > 1 else {}
        return self._made.episode(
            agent=models[0] if models else None, metadata={**metadata, **more}, unread=self._unread or None
        )

    def _just_said(self, text: Any) -> bool:
        """Whether these are the last words, and no call since was answered."""
        last = self.messages[-1] if self.messages else {"content": None}
        return last["content"] == text and all(map(_is_open, self.calls[last.get("before_call", 0) :]))

    def _ask(self, asked: Asked, *, inside: bool) -> None:
        id_ = _name(asked.id)
        known = self._same(asked, id_, inside=inside)
        if known in self._by_span:
            told = self._by_span.pop(known)
            arguments = self.calls[known].arguments if told else arguments_of(asked.arguments)
            self.calls[known] = replace(self.calls[known], arguments=arguments, turn=self._made.turn)
        elif known is None:
            self._settle(id_)
            known = len(self.calls)
            self._made.call(asked.tool, asked.arguments, id_)
        if id_ is not None:
            self._asked[id_] = known

    def _same(self, asked: Asked, id_: str | None, *, inside: bool) -> int | None:
        """The place of the same call, where a span met before told of it: its tool's, or the chat around this one."""
        for place in (*self._by_span, *(self._made.waiting() if inside else ())):
            call = self.calls[place]
            if call.tool == asked.tool and call.id == id_ and (id_ or _same_arguments(call, asked.arguments)):
                return place
        return None

    def _place(self, ran: Ran) -> int:
        """The place of the call that a tool span ran; -1 where no chat span told of it."""
        id_ = _name(ran.id)
        if id_ in self._asked:
            return self._asked[id_]
        fitting = [
            place
            for place in self._made.waiting()
            if self.calls[place].tool == ran.tool
            and (id_ is None or self.calls[place].id is None)
            and place not in self._silent
        ]
        same = (place for place in fitting if _same_arguments(self.calls[place], ran.arguments))
        return next(same, fitting[0] if fitting else -1)

    def _answer(self, place: int, value: Any, *, error: bool = False, said: Any = UNANSWERED) -> None:
        """The result of a call; where it was run again, the last counts."""
        self._silent.pop(place, None)
        extra = {} if said is UNANSWERED or said == value else {"output": said}
        if _is_open(self.calls[place]):
            self._made.answer_at(place, value, error=error, **extra)
        elif error:
            self.calls[place] = replace(self.calls[place], result=UNANSWERED, error=value or "error")
        else:
            self.calls[place] = replace(self.calls[place], result=value, error=None)

    def _answers(self, messages: tuple[Message, ...]) -> None:
        """The results of calls that wait, from messages; the last with an id counts, those without go in order."""
        waiting = {self.calls[place].id: place for place in self._made.waiting()}
        if not waiting:
            return
        told = {_name(one.id): one for message in messages for one in message.answers}
        for id_, place in waiting.items():
            if id_ is not None and id_ in told:
                self._answer(place, _value(told[id_]), error=told[id_].error)
        nameless = [place for place in self._made.waiting() if self.calls[place].id is None]
        last = [one for message in _after_last_calls(messages) for one in message.answers if _name(one.id) is None]
        for place, one in zip(nameless, last, strict=False):
            self._answer(place, _value(one), error=one.error)

    def _recover(self, sent: tuple[Message, ...]) -> None:
        """Calls since the last words of the user, or since a conversation was met before, whose span is missing."""
        last = max((n for n, message in enumerate(sent) if message.of_user), default=-1)
        first = next((n for n, message in enumerate(sent) if message.of_user), -1)
        if last < 0:
            return
        begin = canonical([[message.role, message.text] for message in sent[: first + 1]])
        if begin not in self._history:
            self._history[begin] = {_name(one.id) for message in sent[:last] for one in message.calls}
        known = self._history[begin] | {None}
        for message in sent:
            missing = [one for one in message.calls if _name(one.id) not in known and _name(one.id) not in self._asked]
            if missing:
                self._made.next_turn()
                self._made.said(message.text)
            for one in missing:
                self._ask(one, inside=False)

    def _settle(self, id_: str | None) -> None:
        """Before an id is used again: the run that had it is over, though nobody told its result."""
        for place in list(self._silent):
            if id_ is not None and self.calls[place].id == id_:
                self._answer(place, None)

    def _above(self, span: Span) -> Iterator[tuple[str, str | None]]:
        """The spans around a span with their kinds, the nearest first."""
        above, seen = span.parent, {span.id}
        while above is not None and above in self.family and above not in seen:
            seen.add(above)
            parent, kind = self.family[above]
            yield above, kind
            above = parent


def read_json(text: Any, what: str) -> Any:
    """A value that stands in an attribute as text; raises `RecordError` where the text is no JSON."""
    if not isinstance(text, str):
        return text
    value = result_value(text)
    if isinstance(value, str):
        raise RecordError(f"'{what}' is no JSON; was it cut?")
    return value


def _after_last_calls(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    last = max((n for n, message in enumerate(messages) if message.calls), default=-1)
    return messages[last + 1 :]


def _value(one: Answered) -> Any:
    return one.value if one.error else result_value(one.value)


def _name(id_: Any) -> str | None:
    """A call id as text; some servers send an empty one, which is none."""
    return None if id_ is None or id_ == "" else str(id_)


def _is_open(call: Call) -> bool:
    return call.result is UNANSWERED and call.error is None


def _same_arguments(call: Call, arguments: Any) -> bool:
    return arguments is UNANSWERED or equal(call.arguments, arguments_of(arguments))
