"""Join the calls in a trace's chat spans with the runs in its tool spans."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from corepath.episode import Episode
from corepath.importers.otlp import Span
from corepath.importers.span_content import Chat, ChatCall, ChatMessage, ToolRun, id_of, last_without_id
from corepath.importers.span_family import Family, ancestors
from corepath.importers.span_history import Heard
from corepath.importers.span_order import Order
from corepath.importers.span_requests import Request, Requests, id_kind
from corepath.importers.transcript import Transcript
from corepath.importers.usage import read_usage
from corepath.notation.call import UNANSWERED, Call
from corepath.notation.message import Message
from corepath.values import arguments_of, equal


@dataclass
class SpanTranscript:
    """A trace's transcript, to which spans are added in order of their start times.

    A call is identified by its index in `calls`, which lists calls in the order in which they were added. The episode
    lists calls in the order of the chat spans instead, because a tool span may start before its chat span if their
    clocks differ.
    """

    family: Family
    chat_kind: str = "chat"
    """The kind of the spans that are added as chat spans."""
    has_output: bool = False
    """Whether a chat span contained a call or text from the agent."""
    has_messages: bool = False
    """Whether a chat span contained any message."""
    _transcript: Transcript = field(default_factory=Transcript)
    _order: Order = field(default_factory=Order)
    _unread: list[str] = field(default_factory=list)
    _has_said: bool = False
    """Whether a chat span has recorded any output."""
    _silent_turns: set[int | None] = field(default_factory=set)
    """The turns whose chat spans have recorded no output."""
    _tools_end: int = 0
    """When the last of the tools ends that have started so far."""
    _requests: Requests = field(default_factory=Requests)
    """The chat spans added so far."""
    _heard: Heard = field(default_factory=Heard)
    """The messages to the model added so far."""
    _chat_calls: dict[str | None, int] = field(default_factory=dict)
    """The index of each call in a chat span, keyed by call id."""
    _other_ids: dict[str, int] = field(default_factory=dict)
    """The indexes of calls that have another id in a chat span's input, keyed by that id."""
    _run_only: dict[str, int] = field(default_factory=dict)
    """The index of each call that only a tool span has recorded so far, keyed by call id."""
    _run_only_without_id: dict[int, int] = field(default_factory=dict)
    """The number of chat spans before each call without an id that only a tool span has recorded so far."""
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
        request = Request.of(span, chat)
        outer = self._find_outer(span, request)
        self._add_usage(request, chat, outer)
        self.has_messages = self.has_messages or bool(chat.sent or chat.output or chat.unread)
        self._unread += [f"span {span.id}: {one}" for one in chat.unread]
        self._order.begin = None
        self._add_history(chat.sent, span, outer)
        self._add_answers(chat.sent)
        if outer is None:
            self._transcript.start_turn()
        request.turn = self._transcript.turn if outer is None else outer.turn
        self._add_output(chat, span.ended, request, outer)
        request.begin = self._order.begin
        self._requests.add(request)

    def add_run(self, span: Span, run: ToolRun) -> None:
        """Add a tool span, either as the run of a call in a chat span or as a call of its own."""
        above = next((id_ for id_, kind in self._ancestors(span) if kind is not None), None)
        id_, (tool, place) = id_of(run.id), self._runs.get(above or "", ("", -1))
        if tool != run.tool:
            place = self._find_call(run)
        if place >= 0:
            self._set_arguments(place, run.arguments)
        else:
            place = self._add_call(run.tool, run.arguments, id_, None)
            if id_ is None:
                self._run_only_without_id[place] = self._requests.count
            else:
                self._run_only[id_] = place
        self._set_time(place, span)
        self._tools_end = max(self._tools_end, span.end)
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
        for one in self._order.entries(self.calls):
            if isinstance(one, Call):
                ordered.calls.append(one)
            elif one.role == "assistant":
                ordered.turn = one.turn or 0
                ordered.add_text(one.content, time=one.time)
            else:
                ordered.add_message(one.role, one.content, time=one.time)
        return ordered.to_episode(unread=self._unread or None, **fields)

    # Chat spans

    def _find_outer(self, span: Span, request: Request) -> Request | None:
        """Return the request of another chat span that records the same request, or None if there is none.

        The other span encloses this one, or runs at the same time and has the same content.
        """
        above, kind = next((one for one in self._ancestors(span) if one[1] is not None), ("", None))
        return self._requests.find(above) if kind == self.chat_kind else self._requests.find_same(request)

    def _add_usage(self, request: Request, chat: Chat, outer: Request | None) -> None:
        """Add the model and the tokens of a request, unless the outer span has recorded them."""
        request.has_model = chat.model is not None or (outer is not None and outer.has_model)
        if chat.model is not None and not (outer is not None and outer.has_model):
            self._transcript.add_usage(None, model=str(chat.model))
        request.has_usage = bool(read_usage(chat.usage, chat.usage.get("cost")))
        if outer is None or not outer.has_usage:
            self._transcript.add_usage(chat.usage, cost=chat.usage.get("cost"))
        if outer is not None:
            outer.has_usage = request.has_usage = outer.has_usage or request.has_usage

    def _add_output(self, chat: Chat, time: float | None, request: Request, outer: Request | None) -> None:
        """Add a chat span's output. Text and calls that the outer span has recorded are not added again."""
        if request.texts or request.calls:
            self._has_said = True
            self._silent_turns.discard(request.turn)
        elif outer is None:
            self._silent_turns.add(request.turn)
        recovered = self._recovered.difference(id_of(one.id) for message in chat.sent for one in message.calls)
        answered = False
        for message in chat.output:
            if message.answers:
                self._add_answers((message,))
                answered = True
                continue
            if answered:
                self._transcript.start_turn()
                request.turn, answered = self._transcript.turn, False
            if message.calls and all(id_of(one.id) in recovered for one in message.calls):
                continue  # already recovered from the next chat span, which has an earlier start time
            self._add_said(message, time, request, outer)

    def _add_said(self, message: ChatMessage, time: float | None, request: Request, outer: Request | None) -> None:
        """Add a message from the agent."""
        if outer is None or not outer.has_text(message.text):
            self._add_text(message.text, time)
        for call in message.calls:
            place = self._find_in_outer(call, outer, request)
            place = self._find_run(call) if place is None else place
            request.places.append(self._add_chat_call(call, place, request.turn, time))

    def _add_text(self, text: Any, time: float | None = None) -> list[int]:
        """Add text from the agent, unless it is empty, and return its keys in the order."""
        if text in (None, "", []):
            return []
        self.has_output = True
        return [self._add_message("assistant", text, time)]

    def _add_message(self, role: str, text: Any, time: float | None) -> int:
        """Add a message that is not empty, and return its key in the order."""
        return self._order.add_message(Message(role, text, time=None if time is None else round(time, 6)))

    def _add_chat_call(
        self, call: ChatCall, place: int | None, turn: int, time: float | None = None, *, stays: bool = False
    ) -> int:
        """Add a call from a chat span and return its index. `place` is its index if another span has recorded it.

        A call that only a tool span has recorded moves to the end of the order, unless it `stays`.
        """
        id_ = id_of(call.id)
        self.has_output = True
        if place is None:
            place = self._add_call(call.tool, call.arguments, id_, time)
            self.calls[place] = replace(self.calls[place], turn=turn)
        elif self._is_run_only(place):
            self._run_only.pop(self.calls[place].id or "", None)
            self._run_only_without_id.pop(place, None)
            self.calls[place] = replace(self.calls[place], turn=turn, id=self.calls[place].id or id_)
            if not stays:
                self._order.add_call(place)
        self._set_arguments(place, call.arguments)
        if id_ is not None:
            self._chat_calls[id_] = place
            if self.calls[place].id != id_:
                self._other_ids[id_] = place
        return place

    def _find_in_outer(self, call: ChatCall, outer: Request | None, request: Request) -> int | None:
        """Return the index of `call` if the outer span has recorded it, or else None."""
        places = [] if outer is None else [one for one in outer.places if one not in request.places]
        by_id = [one for one in places if self._is_same(one, call)]
        return next(iter(by_id or [one for one in places if self._is_alike(one, call)]), None)

    def _find_run(self, call: ChatCall) -> int | None:
        """Return the index of `call` if a tool span has recorded it but no chat span has, or else None."""
        id_ = id_of(call.id)
        if id_ is None:
            recent = (place for place, count in self._run_only_without_id.items() if count == self._requests.count)
            return next((place for place in recent if self._is_same(place, call)), None)
        place = self._run_only.get(id_)
        return place if place is not None and self._is_same(place, call) else None

    def _is_run_only(self, place: int) -> bool:
        return place in self._run_only_without_id or self._run_only.get(self.calls[place].id or "") == place

    def _is_same(self, place: int, call: ChatCall) -> bool:
        """Return True if `call` is the call at index `place`. Calls without an id are compared by their arguments."""
        known, id_ = self.calls[place], id_of(call.id)
        if known.tool != call.tool or known.id != id_:
            return False
        return id_ is not None or self._is_alike(place, call)

    def _is_alike(self, place: int, call: ChatCall) -> bool:
        """Return True if the call at index `place` has the same tool and, as far as is known, the same arguments."""
        known = self.calls[place]
        if known.tool != call.tool:
            return False
        return place in self._without_arguments or _same_arguments(known, call.arguments)

    # What is only in a chat span's input

    def _add_history(self, sent: tuple[ChatMessage, ...], span: Span, outer: Request | None) -> None:
        """Add what a chat span's input has and no earlier span had: messages to the model, and calls.

        Calls made before this trace are left out. New instructions are for this request, so they come after all calls
        before it. If there is an outer span, only messages from those who are not in its input are new.
        """
        before, here = self._heard.ids_before(sent), {id_of(one.id) for message in sent for one in message.calls}
        new: list[tuple[str, Any]] = []
        turn = 0
        for message, role in zip(sent, self._heard.add(sent, by_agent=self._is_in_tool(span)), strict=True):
            if message.calls:
                turn = self._recover_calls(message, before, here, turn) if before else 0
            elif role == "assistant":
                if not self._has_said:
                    self._add_text(message.text)
            else:
                turn = 0
                if role is not None and (outer is None or message.role not in outer.roles):
                    new.append((role, message.text))
                if role is not None and message.role == "user":
                    self._add_messages(new, span.begun, outer)
                    new = []
        self._add_messages(new, span.begun, outer)

    def _add_messages(self, new: list[tuple[str, Any]], time: float | None, outer: Request | None) -> None:
        """Add messages to the model. If there is an outer span, they come before what the outer span has added."""
        keys = [self._add_message(role, text, time) for role, text in new]
        if outer is not None:
            self._order.move(keys, outer.begin)

    def _recover_calls(self, message: ChatMessage, before: set[str | None], here: set[str | None], turn: int) -> int:
        """Add the calls in a message from a chat span's input that no chat span has recorded.

        Left out are the calls `before` this trace. `here` are the ids of all calls in the input. Returns the turn of
        the calls, so that those in the next message can share it. `turn` is 0 if a new turn begins. When they were made
        is not known.
        """
        missing = [one for one in message.calls if id_of(one.id) not in before and not self._is_known(one, here)]
        if not missing:
            return turn
        at = self._order.first(self._find_silent_runs(missing))
        if not turn and at is None:
            self._transcript.start_turn()
        turn = turn or (self._transcript.turn if at is None else self.calls[at].turn or 0)
        keys = self._add_text(message.text)
        for one in missing:
            keys.append(self._add_chat_call(one, self._find_lost_run(one), turn, stays=at is not None))
            self._recovered.add(id_of(one.id))
        self._order.move(keys, at)
        return turn

    def _find_silent_runs(self, calls: list[ChatCall]) -> Iterator[int]:
        """Yield the indexes of calls in an input whose chat span was added, but has recorded no output."""
        for place in map(self._find_lost_run, calls):
            if place is not None and self.calls[place].turn in self._silent_turns:
                yield place

    def _is_known(self, call: ChatCall, here: set[str | None]) -> bool:
        """Return True if a chat span has recorded a call that is in an input, perhaps with an id of another kind."""
        id_ = id_of(call.id)
        if id_ in self._chat_calls:
            return True
        taken = set(self._other_ids.values())
        for place, known in enumerate(self.calls):
            is_free = known.id not in here and place not in taken and not self._is_run_only(place)
            if is_free and id_kind(known.id) != id_kind(id_) and self._is_alike(place, call):
                self._chat_calls[id_] = self._other_ids[id_ or ""] = place
                return True
        return False

    def _find_lost_run(self, call: ChatCall) -> int | None:
        """Return the index of a call in an input if a tool span has recorded it, but no chat span has."""
        if (place := self._run_only.get(id_of(call.id) or "")) is not None:
            return place if self._is_same(place, call) else None
        return next((place for place in self._run_only_without_id if self._is_alike(place, call)), None)

    # Calls

    def _add_call(self, tool: Any, arguments: Any, id_: str | None, time: float | None) -> int:
        """Add a call that no span has recorded before, and return the call's index."""
        self._close_earlier(id_)
        place = len(self.calls)
        self._transcript.add_call(tool, None if arguments is UNANSWERED else arguments, id_, time=time)
        self._order.add_call(place)
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
        if span.begun is not None:
            call = self.calls[place]
            took = {"seconds": round((span.end - span.start) / 10**9, 6)} if span.end >= span.start else {}
            self.calls[place] = replace(call, time=round(span.begun, 6), extra={**call.extra, **took})

    def _find_call(self, run: ToolRun) -> int:
        """Return the index of the call that a tool span ran, or -1 if the call has not been added yet."""
        id_ = id_of(run.id)
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
        waiting |= {id_: place for id_, place in self._other_ids.items() if _is_open(self.calls[place])}
        answers = {id_of(one.id): one for message in messages for one in message.answers}
        for id_, place in waiting.items():
            if id_ is not None and id_ in answers:
                self._answer(place, answers[id_].result, error=answers[id_].error)
        self._add_answers_without_id(messages)

    def _add_answers_without_id(self, messages: tuple[ChatMessage, ...]) -> None:
        """Match results without an id to calls without an id, in the order in which both appear in `messages`."""
        waiting = [place for place in self._transcript.open_calls() if self.calls[place].id is None]
        calls, answers = last_without_id(messages)
        for number, one in enumerate(answers):
            call = calls[number] if number < len(calls) else None
            candidates = [place for place in waiting if call is None or self._is_same(place, call)]
            if candidates:
                waiting.remove(candidates[0])
                self._answer(candidates[0], one.result, error=one.error)

    def _is_in_tool(self, span: Span) -> bool:
        """Return True if a span is inside a tool span, or runs while a tool does."""
        return 0 < span.end <= self._tools_end or any(kind == "tool" for _, kind in self._ancestors(span))

    def _ancestors(self, span: Span) -> Iterator[tuple[str, str | None]]:
        return ancestors(self.family, span.parent, span.id)


def _is_open(call: Call) -> bool:
    return call.result is UNANSWERED and call.error is None


def _same_arguments(call: Call, arguments: Any) -> bool:
    return arguments is UNANSWERED or equal(call.arguments, arguments_of(arguments))
