"""Join the calls in a trace's chat spans with the runs in its tool spans."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from corepath.episode import Episode
from corepath.importers.content import parse_result
from corepath.importers.otlp import Span
from corepath.importers.span_content import Chat, ChatAnswer, ChatCall, ChatMessage, ToolRun
from corepath.importers.transcript import Transcript
from corepath.notation.call import UNANSWERED, Call
from corepath.values import arguments_of, canonical, equal

_SPEAKERS: Final = ("user", "system", "developer")

Family = Mapping[str, tuple[str | None, str | None]]
"""The parent id and kind of each span, keyed by span id. Both may be None."""


@dataclass
class SpanTranscript:
    """A trace's transcript, to which spans are added in order of their start times.

    A call is identified by its index in `calls`, which lists calls in the order in which they were added. The episode
    lists calls in the order of the chat spans instead, because a tool span may start before its chat span if their
    clocks differ.
    """

    family: Family
    has_output: bool = False
    """Whether a chat span contained a call or text from the agent."""
    has_messages: bool = False
    """Whether a chat span contained any message."""
    _transcript: Transcript = field(default_factory=Transcript)
    _order: dict[int, Any] = field(default_factory=dict)
    """The episode's order. Keys are call indexes, or negative numbers for the text between calls."""
    _unread: list[str] = field(default_factory=list)
    _initial_ids: dict[str, set[str | None]] = field(default_factory=dict)
    """The ids of the calls made before this trace, keyed by the conversation's beginning."""
    _heard: dict[str, int] = field(default_factory=dict)
    """How many messages to the model were added so far, keyed by the conversation's beginning."""
    _chat_calls: dict[str | None, int] = field(default_factory=dict)
    """The index of each call in a chat span, keyed by call id."""
    _run_only: dict[str, int] = field(default_factory=dict)
    """The index of each call that only a tool span has recorded so far, keyed by call id."""
    _run_only_without_id: dict[int, None] = field(default_factory=dict)
    """The indexes of calls without an id that only a tool span has recorded since the last chat span."""
    _recovered: set[str | None] = field(default_factory=set)
    """The ids of calls that were found in a later chat span's input."""
    _without_arguments: dict[int, None] = field(default_factory=dict)
    """The indexes of calls whose arguments no span has recorded so far."""
    _without_result: dict[int, None] = field(default_factory=dict)
    """The indexes of calls that have a tool span but no recorded result."""
    _runs: dict[str, tuple[str, int]] = field(default_factory=dict)
    """The tool name and call index for each tool span, keyed by span id."""

    @property
    def calls(self) -> list[Call]:
        """The calls added so far."""
        return self._transcript.calls

    @property
    def call_without_arguments(self) -> Call | None:
        """The first call whose arguments no span recorded, or None if there is no such call."""
        return next((self.calls[place] for place in self._without_arguments), None)

    def add_chat(self, span: Span, chat: Chat) -> None:
        """Add a chat span. Its input contains the results of earlier calls, and its output contains calls and text."""
        nested = next((kind for _, kind in self._ancestors(span) if kind is not None), None) == "chat"
        model = None if chat.model is None else str(chat.model)
        used = {} if nested else chat.usage
        self._transcript.add_usage(used, model=model, cost=used.get("cost"))
        self.has_messages = self.has_messages or bool(chat.sent or chat.output or chat.unread)
        self._unread += [f"span {span.id}: {one}" for one in chat.unread]
        self._add_history(chat.sent, span.begun)
        self._add_answers(chat.sent)
        if not nested:
            self._transcript.start_turn()
        self._add_output(chat, span.ended, nested=nested)
        self._run_only_without_id.clear()

    def add_run(self, span: Span, run: ToolRun) -> None:
        """Add a tool span, either as the run of a call in a chat span or as a call of its own."""
        above = next((id_ for id_, kind in self._ancestors(span) if kind is not None), None)
        id_, (tool, place) = _id(run.id), self._runs.get(above or "", ("", -1))
        if tool != run.tool:
            place = self._find_call(run)
        if place >= 0:
            self._set_arguments(place, run.arguments)
        else:
            place = self._add_call(run.tool, run.arguments, id_, None)
            if id_ is None:
                self._run_only_without_id[place] = None
            else:
                self._run_only[id_] = place
        self._set_time(place, span)
        if span.id is not None:
            self._runs[span.id] = (run.tool, place)
        if run.error is not None:
            self._answer(place, run.error, error=True, output=run.result)
        elif run.result is UNANSWERED and _is_open(self.calls[place]):
            self._without_result[place] = None
        else:
            self._answer(place, run.result)

    def to_episode(self, **fields: Any) -> Episode:
        """Build the episode, with calls and text in the order of the chat spans. `fields` are its other fields."""
        ordered = Transcript(models=self._transcript.models, usage=self._transcript.usage)
        for place, message in self._order.items():
            if place >= 0:
                ordered.calls.append(self.calls[place])
            elif message.role == "assistant":
                ordered.add_text(message.content, time=message.time)
            else:
                ordered.add_message(message.role, message.content, time=message.time)
        return ordered.to_episode(unread=self._unread or None, **fields)

    # Text and calls from chat spans

    def _add_output(self, chat: Chat, time: float | None, *, nested: bool) -> None:
        """Add a chat span's output.

        If the span is nested in another chat span, text and calls that the outer span contains are not added again.
        """
        recovered = self._recovered.difference(_id(one.id) for message in chat.sent for one in message.calls)
        answered = False
        for message in chat.output:
            if message.answers:
                self._add_answers((message,))
                answered = True
                continue
            if answered:
                self._transcript.start_turn()
                answered = False
            if message.calls and all(_id(one.id) in recovered for one in message.calls):
                continue  # already recovered from the next chat span, which has an earlier start time
            if not (nested and self._is_last_text(message.text)):
                self._add_text(message.text, time)
            for call in message.calls:
                self._add_chat_call(call, time, nested=nested)

    def _add_text(self, text: Any, time: float | None = None) -> None:
        if text not in (None, "", []):
            self._add_message("assistant", text, time)
            self.has_output = True

    def _add_message(self, role: str, text: Any, time: float | None) -> None:
        if text not in (None, "", []):
            self._transcript.add_message(role, text, time=time)
            self._order[-len(self._transcript.messages)] = self._transcript.messages[-1]

    def _is_last_text(self, text: Any) -> bool:
        """Return True if `text` is the agent's last text and no call after that text has a result."""
        last = next((one for one in reversed(self._transcript.messages) if one.role == "assistant"), None)
        if last is None:
            return text is None
        return last.content == text and all(map(_is_open, self.calls[last.before_call or 0 :]))

    def _add_chat_call(self, call: ChatCall, time: float | None, *, nested: bool) -> None:
        """Add a call from a chat span, unless a tool span or an outer chat span has already added the call."""
        id_ = _id(call.id)
        self.has_output = True
        place = self._find_run(call, id_)
        if place is not None:
            self._run_only.pop(id_ or "", None)
            self._run_only_without_id.pop(place, None)
            self._set_arguments(place, call.arguments)
            self.calls[place] = replace(self.calls[place], turn=self._transcript.turn)
            self._order[place] = self._order.pop(place)
        else:
            waiting = self._transcript.open_calls() if nested else ()
            place = next((one for one in waiting if self._is_same(one, call, id_)), None)
        if place is None:
            place = self._add_call(call.tool, call.arguments, id_, time)
        if id_ is not None:
            self._chat_calls[id_] = place

    def _find_run(self, call: ChatCall, id_: str | None) -> int | None:
        """Return the index of `call` if a tool span has recorded it but no chat span has, or else None."""
        if id_ is None:
            places = tuple(self._run_only_without_id)
        else:
            places = (self._run_only[id_],) if id_ in self._run_only else ()
        return next((place for place in places if self._is_same(place, call, id_)), None)

    def _is_same(self, place: int, call: ChatCall, id_: str | None) -> bool:
        """Return True if `call` is the call at index `place`. Calls without an id are compared by their arguments."""
        known = self.calls[place]
        if known.tool != call.tool or known.id != id_:
            return False
        return id_ is not None or place in self._without_arguments or _same_arguments(known, call.arguments)

    # Calls that are only in a later chat span's input

    def _add_history(self, sent: tuple[ChatMessage, ...], time: float | None) -> None:
        """Add what a chat span's input has and no earlier span had: messages to the model, and calls.

        Calls made before this trace are left out. Only the first conversation in a trace is with the user. In the
        others, agents ask agents, so that their messages count as the system's.
        """
        known, beginning = self._known_ids(sent), _beginning(sent)
        with_user = next(iter(self._heard), beginning) == beginning
        heard, number = self._heard.get(beginning, 0), 0
        for message in sent:
            if message.role in _SPEAKERS and not message.answers:
                number += 1
                if number > heard:
                    self._add_message(message.role if with_user else "system", message.text, time)
            elif known:
                self._recover_calls(message, known, time)
        self._heard[beginning] = max(number, heard)

    def _recover_calls(self, message: ChatMessage, known: set[str | None], time: float | None) -> None:
        """Add the calls in a message from a chat span's input that no span has recorded, except the `known` ones."""
        missing = [one for one in message.calls if _id(one.id) not in known and _id(one.id) not in self._chat_calls]
        if missing:
            self._transcript.start_turn()
            self._add_text(message.text, time)
        for one in missing:
            self._add_chat_call(one, time, nested=False)
            self._recovered.add(_id(one.id))

    def _known_ids(self, sent: tuple[ChatMessage, ...]) -> set[str | None]:
        """Return the ids of calls made before this trace, plus None for calls without an id.

        The set is empty if `sent` has no user message. A conversation is identified by its messages up to the first
        user message. When a conversation is first seen, the calls before its last user message were made before this
        trace.
        """
        by_user = [number for number, message in enumerate(sent) if message.is_by_user]
        if not by_user:
            return set()
        beginning = _beginning(sent)
        if beginning not in self._initial_ids:
            self._initial_ids[beginning] = {_id(one.id) for message in sent[: by_user[-1]] for one in message.calls}
        return self._initial_ids[beginning] | {None}

    # Calls

    def _add_call(self, tool: Any, arguments: Any, id_: str | None, time: float | None) -> int:
        """Add a call that no span has recorded before, and return the call's index."""
        self._close_earlier(id_)
        place = len(self.calls)
        self._transcript.add_call(tool, None if arguments is UNANSWERED else arguments, id_, time=time)
        self._order[place] = None
        if arguments is UNANSWERED:
            self._without_arguments[place] = None
        return place

    def _close_earlier(self, id_: str | None) -> None:
        """Close earlier calls with this id whose tool span recorded no result, so that the id can be reused."""
        if id_ is None or not self._transcript.waits_for(id_):
            return
        for place in list(self._without_result):
            if self.calls[place].id == id_:
                del self._without_result[place]
                self._transcript.answer_call(place, UNANSWERED)

    def _set_arguments(self, place: int, arguments: Any) -> None:
        """Set a call's arguments if no span has recorded them so far."""
        if place in self._without_arguments and arguments is not UNANSWERED:
            self.calls[place] = replace(self.calls[place], arguments=arguments_of(arguments))
            del self._without_arguments[place]

    def _set_time(self, place: int, span: Span) -> None:
        """Set when a call was made, and how long it took, to what its tool span says."""
        if span.begun is not None and span.ended is not None and span.ended >= span.begun:
            call = self.calls[place]
            extra = {**call.extra, "seconds": round(span.ended - span.begun, 6)}
            self.calls[place] = replace(call, time=round(span.begun, 6), extra=extra)

    def _find_call(self, run: ToolRun) -> int:
        """Return the index of the call that a tool span ran, or -1 if the call has not been added yet."""
        id_ = _id(run.id)
        if id_ in self._chat_calls:
            return self._chat_calls[id_]
        candidates = [
            place
            for place in self._transcript.open_calls()
            if self.calls[place].tool == run.tool
            and (id_ is None or self.calls[place].id is None)
            and place not in self._without_result
        ]
        same = (place for place in candidates if _same_arguments(self.calls[place], run.arguments))
        return next(same, candidates[0] if candidates else -1)

    # Answers

    def _answer(self, place: int, value: Any, *, error: bool = False, output: Any = UNANSWERED) -> None:
        """Set a call's result or error, unless `value` was not recorded.

        If the call ran several times, the last result counts. `output` is what a failed call returned next to its
        error.
        """
        if value is UNANSWERED:
            return
        self._without_result.pop(place, None)
        extra = {} if output is UNANSWERED or output == value else {"output": output}
        if _is_open(self.calls[place]):
            self._transcript.answer_call(place, value, error=error, **extra)
        elif error:
            self.calls[place] = replace(self.calls[place], result=UNANSWERED, error=value or "error")
        else:
            self.calls[place] = replace(self.calls[place], result=value, error=None)

    def _add_answers(self, messages: tuple[ChatMessage, ...]) -> None:
        """Add results in `messages` to the calls that have none yet.

        Results are matched by call id. If several results have the same id, the last one counts. Results without an id
        are matched in order.
        """
        waiting = {self.calls[place].id: place for place in self._transcript.open_calls()}
        if not waiting:
            return
        answers = {_id(one.id): one for message in messages for one in message.answers}
        for id_, place in waiting.items():
            if id_ is not None and id_ in answers:
                self._answer(place, _value(answers[id_]), error=answers[id_].error)
        self._add_answers_without_id(messages)

    def _add_answers_without_id(self, messages: tuple[ChatMessage, ...]) -> None:
        """Match results without an id to calls without an id, in the order in which both appear in `messages`."""
        waiting = [place for place in self._transcript.open_calls() if self.calls[place].id is None]
        calls, answers = _last_without_id(messages)
        for number, one in enumerate(answers):
            call = calls[number] if number < len(calls) else None
            candidates = [place for place in waiting if call is None or self._is_same(place, call, None)]
            if candidates:
                waiting.remove(candidates[0])
                self._answer(candidates[0], _value(one), error=one.error)

    def _ancestors(self, span: Span) -> Iterator[tuple[str, str | None]]:
        """Yield the id and kind of each span that encloses `span`, nearest first. The kind may be None."""
        above, seen = span.parent, {span.id}
        while above is not None and above in self.family and above not in seen:
            seen.add(above)
            parent, kind = self.family[above]
            yield above, kind
            above = parent


def _beginning(sent: tuple[ChatMessage, ...]) -> str:
    """Return the messages up to the first user message as text, by which a conversation is recognised."""
    first = next((number for number, message in enumerate(sent) if message.is_by_user), len(sent) - 1)
    return canonical([[message.role, message.text] for message in sent[: first + 1]])


def _last_without_id(messages: tuple[ChatMessage, ...]) -> tuple[list[ChatCall], list[ChatAnswer]]:
    """Return the calls in the last message with calls, and the results after that message.

    Only calls and results without an id are returned.
    """
    last = max((n for n, message in enumerate(messages) if message.calls), default=-1)
    calls = [one for message in messages[max(last, 0) : last + 1] for one in message.calls if _id(one.id) is None]
    return calls, [one for message in messages[last + 1 :] for one in message.answers if _id(one.id) is None]


def _value(one: ChatAnswer) -> Any:
    if one.error:
        return None if one.value is UNANSWERED else one.value
    return parse_result(one.value)


def _id(given: Any) -> str | None:
    """Return a call id as a string, or None if the id is missing or empty."""
    return None if given is None or given == "" else str(given)


def _is_open(call: Call) -> bool:
    return call.result is UNANSWERED and call.error is None


def _same_arguments(call: Call, arguments: Any) -> bool:
    return arguments is UNANSWERED or equal(call.arguments, arguments_of(arguments))
