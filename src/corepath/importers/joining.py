"""Calls of chat spans and runs of tool spans, met by the time of their start, joined to one conversation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from corepath.episode import Episode
from corepath.importers.messages import Conversation, result_value
from corepath.importers.otlp import Span
from corepath.importers.span_messages import Answered, Asked, Chat, Message, Ran
from corepath.notation.call import UNANSWERED, Call
from corepath.values import arguments_of, canonical, equal

Family = Mapping[str, tuple[str | None, str | None]]
"""The parent and the kind of each span by its id."""


@dataclass
class Joining:
    """A conversation that is put together from spans.

    Calls are known by their place among `calls`, where they stand as they were met. The episode has them as a chat span
    told them, though the span of the tool may have been met before: by another clock it began earlier.
    """

    family: Family
    _made: Conversation = field(default_factory=Conversation)
    _order: dict[int, Any] = field(default_factory=dict)
    """The places of the calls as the episode has them and, under negative numbers, the words between them."""
    _models: dict[str, None] = field(default_factory=dict)
    _unread: list[str] = field(default_factory=list)
    _history: dict[str, set[str | None]] = field(default_factory=dict)
    _asked: dict[str | None, int] = field(default_factory=dict)
    _ahead: dict[str, int] = field(default_factory=dict)
    """Calls that only their tool's span told of, by id; those without an id, since the last chat span, are below."""
    _nameless: dict[int, None] = field(default_factory=dict)
    heard: bool = False
    """Whether a chat span told of a call, or said something."""
    recorded: bool = False
    """Whether a chat span tells of any message."""
    _recovered: set[str | None] = field(default_factory=set)
    _untold: dict[int, None] = field(default_factory=dict)
    _silent: dict[int, None] = field(default_factory=dict)
    _runs: dict[str, tuple[str, int]] = field(default_factory=dict)

    @property
    def calls(self) -> list[Call]:
        """The calls so far."""
        return self._made.calls

    @property
    def untold(self) -> Call | None:
        """The first call whose arguments no span tells."""
        return next((self.calls[place] for place in self._untold), None)

    def chat(self, span: Span, chat: Chat) -> None:
        """A chat span: what it was sent tells the results of earlier calls, what it said are calls and words."""
        inside = next((kind for _, kind in self._above(span) if kind is not None), None) == "chat"
        if chat.model is not None:
            self._models.setdefault(str(chat.model))
        self.recorded = self.recorded or bool(chat.sent or chat.said or chat.unread)
        self._unread += [f"span {span.id}: {one}" for one in chat.unread]
        self._recover(chat.sent)
        self._answers(chat.sent)
        if not inside:
            self._made.next_turn()
        late = self._recovered.difference(_name(one.id) for message in chat.sent for one in message.calls)
        answered = False
        for message in chat.said:
            if message.answers:
                self._answers((message,))
                answered = True
                continue
            if answered:
                self._made.next_turn()
                answered = False
            if message.calls and all(_name(one.id) in late for one in message.calls):
                continue  # by another clock it was said later than what followed it
            if not (inside and self._just_said(message.text)):
                self._say(message.text)
            for asked in message.calls:
                self._ask(asked, inside=inside)
        self._nameless.clear()

    def ran(self, span: Span, ran: Ran) -> None:
        """A tool span: the result of a call that a chat span told of, or a call of its own."""
        above = next((id_ for id_, kind in self._above(span) if kind is not None), None)
        id_, (tool, place) = _name(ran.id), self._runs.get(above or "", ("", -1))
        if tool != ran.tool:
            place = self._place(ran)
        if place >= 0:
            self._tell(place, ran.arguments)
        else:
            place = self._call(ran.tool, ran.arguments, id_)
            if id_ is None:
                self._nameless[place] = None
            else:
                self._ahead[id_] = place
        if span.id is not None:
            self._runs[span.id] = (ran.tool, place)
        if ran.error is not None:
            self._answer(place, ran.error, error=True, said=ran.result)
        elif ran.result is UNANSWERED and _is_open(self.calls[place]):
            self._silent[place] = None
        else:
            self._answer(place, ran.result)

    def episode(self, **metadata: Any) -> Episode:
        """The episode."""
        models = list(self._models)
        more = {"models": models} if len(models) > 1 else {}
        ordered = Conversation()
        for place, words in self._order.items():
            if place < 0:
                ordered.said(words)
            else:
                ordered.calls.append(self.calls[place])
        return ordered.episode(
            agent=models[0] if models else None, metadata={**metadata, **more}, unread=self._unread or None
        )

    def _say(self, text: Any) -> None:
        if text not in (None, "", []):
            self._made.said(text)
            self._order[-len(self._made.messages)] = text
            self.heard = True

    def _just_said(self, text: Any) -> bool:
        """Whether these are the last words, and no call since was answered."""
        last = self._made.messages[-1] if self._made.messages else {"content": None}
        return last["content"] == text and all(map(_is_open, self.calls[last.get("before_call", 0) :]))

    def _call(self, tool: Any, arguments: Any, id_: str | None) -> int:
        """A call that no span told of before; its place."""
        self._settle(id_)
        place = len(self.calls)
        self._made.call(tool, None if arguments is UNANSWERED else arguments, id_)
        self._order[place] = None
        if arguments is UNANSWERED:
            self._untold[place] = None
        return place

    def _tell(self, place: int, arguments: Any) -> None:
        """The arguments of a call, where no span told them before."""
        if place in self._untold and arguments is not UNANSWERED:
            self.calls[place] = replace(self.calls[place], arguments=arguments_of(arguments))
            del self._untold[place]

    def _ask(self, asked: Asked, *, inside: bool) -> None:
        id_ = _name(asked.id)
        self.heard = True
        place = self._met(asked, id_)
        if place is not None:
            self._ahead.pop(id_ or "", None)
            self._nameless.pop(place, None)
            self._tell(place, asked.arguments)
            self.calls[place] = replace(self.calls[place], turn=self._made.turn)
            self._order[place] = self._order.pop(place)
        else:
            waiting = self._made.waiting() if inside else ()
            place = next((one for one in waiting if self._is_same(one, asked, id_)), None)
        if place is None:
            place = self._call(asked.tool, asked.arguments, id_)
        if id_ is not None:
            self._asked[id_] = place

    def _met(self, asked: Asked, id_: str | None) -> int | None:
        """The place of the call, where only the span of its tool told of it."""
        places = self._nameless if id_ is None else (self._ahead[id_],) if id_ in self._ahead else ()
        return next((place for place in places if self._is_same(place, asked, id_)), None)

    def _is_same(self, place: int, asked: Asked, id_: str | None) -> bool:
        call = self.calls[place]
        if call.tool != asked.tool or call.id != id_:
            return False
        return id_ is not None or place in self._untold or _same_arguments(call, asked.arguments)

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
        """The result of a call, where it was recorded; where it was run again, the last counts."""
        if value is UNANSWERED:
            return
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
        calls, answers = _last_nameless(messages)
        for number, one in enumerate(answers):
            asked = calls[number] if number < len(calls) else None
            fitting = [place for place in nameless if asked is None or self._is_same(place, asked, None)]
            if fitting:
                nameless.remove(fitting[0])
                self._answer(fitting[0], _value(one), error=one.error)

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
                self._say(message.text)
            for one in missing:
                self._ask(one, inside=False)
                self._recovered.add(_name(one.id))

    def _settle(self, id_: str | None) -> None:
        """Before an id is used again: the run that had it is over, though nobody told its result."""
        if id_ is None or not self._made.waits_for(id_):
            return
        for place in list(self._silent):
            if self.calls[place].id == id_:
                del self._silent[place]
                self._made.answer_at(place, UNANSWERED)

    def _above(self, span: Span) -> Iterator[tuple[str, str | None]]:
        """The spans around a span with their kinds, the nearest first."""
        above, seen = span.parent, {span.id}
        while above is not None and above in self.family and above not in seen:
            seen.add(above)
            parent, kind = self.family[above]
            yield above, kind
            above = parent


def _last_nameless(messages: tuple[Message, ...]) -> tuple[list[Asked], list[Answered]]:
    """The calls without an id in the last message that has calls, and the answers without one after it."""
    last = max((n for n, message in enumerate(messages) if message.calls), default=-1)
    calls = [one for message in messages[max(last, 0) : last + 1] for one in message.calls if _name(one.id) is None]
    return calls, [one for message in messages[last + 1 :] for one in message.answers if _name(one.id) is None]


def _value(one: Answered) -> Any:
    if one.error:
        return None if one.value is UNANSWERED else one.value
    return result_value(one.value)


def _name(id_: Any) -> str | None:
    """A call id as text; some servers send an empty one, which is none."""
    return None if id_ is None or id_ == "" else str(id_)


def _is_open(call: Call) -> bool:
    return call.result is UNANSWERED and call.error is None


def _same_arguments(call: Call, arguments: Any) -> bool:
    return arguments is UNANSWERED or equal(call.arguments, arguments_of(arguments))
