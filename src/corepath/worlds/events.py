"""A team's calendar: events and series are booked, moved and cancelled, and people have to hear of it in time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import combinations, product
from typing import Any, TypedDict

from corepath import (
    ANY,
    Action,
    Decoy,
    Pick,
    Procedure,
    Rule,
    Task,
    ToolError,
    World,
    after,
    any_order,
    before,
    choice,
    needed,
    never,
    none_of,
    optional,
    result_of,
    seq,
    var,
)

RULES = """
You keep the calendar of a small team. Every event lasts one hour and has attendees, the team; others may be invited.
A time is written as 2025-02-10T10:00:00, a day as 2025-02-10.
Before you book or move an event, check for conflicts at its new time. Never book over another event, not even for a
moment.
After you move an event or skip a day of a series, notify the attendees: once, when everything about it is settled.
Before you cancel an event, notify its attendees too: afterwards nobody knows who they were.
A reminder rings at the hour for which it was set. Remove it before you move or cancel its event; after a move, set it
again.
Ask whether a person is free before you invite them, and invite nobody who is not.
Look at the holidays and check every day of a series before you book it. Nothing takes place on a holiday: skip that
day.
Outsiders see nothing private: hide a private event before you get a public listing, and show it again when you have
it, not earlier.
Never cancel an event or a series to change it.
Cancel, hide, notify or set a reminder only where the task or a rule asks for that.
Do what was asked and leave everything else as it is.
"""
ADVICE = (
    "You keep the calendar of a small team.",
    "Every event lasts one hour and has attendees, the team; others may be invited.",
    "A time is written as 2025-02-10T10:00:00, a day as 2025-02-10.",
    "A reminder rings at the hour for which it was set.",
    "Do what was asked and leave everything else as it is.",
)

HOUR = timedelta(hours=1)


class Series(TypedDict):
    """A recurring event, with its start, interval in days, number of dates, and skipped days."""

    start: str
    every_days: int
    times: int
    skipped: list[str]


@dataclass
class Calendar:
    """The state of the calendar: events, series, attendees, reminders, and notifications per event."""

    now: str = "2025-02-07T09:00:00"
    events: dict[str, str] = field(default_factory=lambda: {"Team Sync": "2025-02-10T14:00:00"})
    series: dict[str, Series] = field(default_factory=dict)
    attendees: dict[str, list[str]] = field(default_factory=dict)
    busy: dict[str, list[str]] = field(default_factory=lambda: {"Bob": [], "Carol": [], "Dave": []})
    reminders: dict[str, int] = field(default_factory=dict)
    told: dict[str, int] = field(default_factory=dict)
    holidays: list[str] = field(default_factory=lambda: ["2025-02-17", "2025-04-18"])
    private: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)

    def times(self, title: str) -> list[str]:
        """Return an event's time as a list, or the times of all dates in a series."""
        if title in self.events:
            return [self.events[title]]
        one = self.series[title]
        first = datetime.fromisoformat(one["start"])
        days = [first + timedelta(days=one["every_days"] * number) for number in range(one["times"])]
        return [day.isoformat() for day in days if day.date().isoformat() not in one["skipped"]]

    def titles(self) -> list[str]:
        """Return the titles of all events and series."""
        return sorted([*self.events, *self.series])

    def booked_over(self) -> bool:
        """Whether two events overlap."""
        return any(overlap(one, other) for one, other in combinations(self.all_times(), 2))

    def all_times(self) -> list[str]:
        """Return the times of all events and of all dates in all series."""
        return [time for title in self.titles() for time in self.times(title)]

    def told_twice(self) -> bool:
        """Whether attendees were notified twice about the same event."""
        return any(count > 1 for count in self.told.values())


def overlap(one: str, other: str) -> bool:
    """Whether two events that start at these times overlap. Every event lasts an hour."""
    return abs(datetime.fromisoformat(one) - datetime.fromisoformat(other)) < HOUR


world = World("events", Calendar, RULES, advice=ADVICE)


@world.read
def get_event_time(calendar: Calendar, title: str) -> dict[str, Any]:
    """When an event begins, whether it is private, and how many minutes ahead its reminder rings; null for none."""
    _known(calendar, title)
    private, reminder = title in calendar.private, calendar.reminders.get(title)
    return {"start": calendar.times(title)[0], "private": private, "reminder": reminder}


@world.read
def get_remaining_time(calendar: Calendar, title: str) -> dict[str, int]:
    """The days, hours and minutes from now until an event begins."""
    _known(calendar, title)
    left = datetime.fromisoformat(calendar.times(title)[0]) - datetime.fromisoformat(calendar.now)
    return {"days": left.days, "hours": left.seconds // 3600, "minutes": left.seconds // 60 % 60}


@world.read
def check_conflicts(calendar: Calendar, title: str, start: str) -> list[str]:
    """The other events that an event would overlap if it began at that time."""
    _time(start)
    others = [other for other in calendar.titles() if other != title]
    return [other for other in others if any(overlap(time, start) for time in calendar.times(other))]


@world.read
def public_listing(calendar: Calendar, day: str) -> list[str]:
    """The titles of the events on a day as outsiders are given them: all but the hidden ones, also private ones."""
    found = [(time, title) for title in calendar.titles() for time in calendar.times(title)]
    return [title for time, title in sorted(found) if time.startswith(_day(day)) and title not in calendar.hidden]


@world.read
def list_holidays(calendar: Calendar) -> list[str]:
    """The holidays of the year."""
    return list(calendar.holidays)


@world.read
def person_is_free(calendar: Calendar, person: str, start: str) -> dict[str, bool]:
    """Whether a person has the hour free that begins at that time."""
    _time(start)
    return {"free": not any(overlap(time, start) for time in _engagements(calendar, person))}


@world.write
def schedule_event(calendar: Calendar, title: str, start: str) -> str:
    """Book a new event."""
    _new(calendar, title)
    calendar.events[title] = _time(start)
    return "done"


@world.write
def schedule_recurring_event(calendar: Calendar, title: str, start: str, every_days: int, times: int) -> str:
    """Book a series: the first time, the days from one to the next, and how many times it takes place."""
    _new(calendar, title)
    if not (1 <= every_days <= 31 and 1 <= times <= 10):
        raise ToolError("a series comes again after 1 to 31 days, and takes place 1 to 10 times")
    calendar.series[title] = {"start": _time(start), "every_days": every_days, "times": times, "skipped": []}
    return "done"


@world.write
def reschedule_event(calendar: Calendar, title: str, start: str) -> str:
    """Move an event to another time. A series cannot be moved."""
    if title not in calendar.events:
        raise ToolError(f"no single event '{title}'; there is {', '.join(calendar.events)}")
    calendar.events[title] = _time(start)
    return "done"


@world.write
def cancel_event(calendar: Calendar, title: str) -> str:
    """Take an event or a whole series out of the calendar, with its attendees and its reminder."""
    _known(calendar, title)
    for kept in (calendar.events, calendar.series, calendar.attendees, calendar.reminders):
        kept.pop(title, None)
    calendar.hidden = [one for one in calendar.hidden if one != title]
    return "done"


@world.write
def skip_day(calendar: Calendar, title: str, day: str) -> str:
    """Let a series not take place on one of its days."""
    if title not in calendar.series:
        raise ToolError(f"no series '{title}'; there is {', '.join(calendar.series) or 'none'}")
    days = [time[:10] for time in calendar.times(title)]
    if day not in days or len(days) == 1:
        raise ToolError(f"'{title}' takes place on {', '.join(days)}; {day} cannot be skipped")
    calendar.series[title]["skipped"] = sorted([*calendar.series[title]["skipped"], day])
    return "done"


@world.write
def invite(calendar: Calendar, title: str, person: str) -> str:
    """Invite a person to an event; the invitation tells them the time."""
    _known(calendar, title)
    _engagements(calendar, person)
    calendar.attendees[title] = sorted({*calendar.attendees.get(title, []), person})
    return "done"


@world.write
def notify_attendees(calendar: Calendar, title: str) -> str:
    """Tell all attendees of an event how it stands now."""
    _known(calendar, title)
    calendar.told[title] = calendar.told.get(title, 0) + 1
    return "done"


@world.write
def set_reminder(calendar: Calendar, title: str, minutes: int) -> str:
    """Let a reminder ring so many minutes before the event, as it stands now in the calendar."""
    _known(calendar, title)
    if not 0 < minutes <= 1440:
        raise ToolError("a reminder rings 1 to 1440 minutes before the event")
    calendar.reminders[title] = minutes
    return "done"


@world.write
def remove_reminder(calendar: Calendar, title: str) -> str:
    """Let no reminder ring for an event."""
    _known(calendar, title)
    calendar.reminders.pop(title, None)
    return "done"


@world.write
def hide_event(calendar: Calendar, title: str) -> str:
    """Keep an event out of the listing that outsiders see."""
    _known(calendar, title)
    calendar.hidden = sorted({*calendar.hidden, title})
    return "done"


@world.write
def show_event(calendar: Calendar, title: str) -> str:
    """Let outsiders see an event again."""
    _known(calendar, title)
    calendar.hidden = [one for one in calendar.hidden if one != title]
    return "done"


def _known(calendar: Calendar, title: str) -> None:
    if title not in calendar.titles():
        raise ToolError(f"no event '{title}'; there is {', '.join(calendar.titles())}")


def _new(calendar: Calendar, title: str) -> None:
    if title in calendar.titles() or not title.strip():
        raise ToolError(f"'{title}' cannot be the title of a new event")


def _engagements(calendar: Calendar, person: str) -> list[str]:
    if person not in calendar.busy:
        raise ToolError(f"no person '{person}'; there is {', '.join(calendar.busy)}")
    return calendar.busy[person]


def _time(text: str) -> str:
    try:
        if re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d", text, re.ASCII):
            return datetime.fromisoformat(text).isoformat()
    except ValueError:
        pass
    raise ToolError(f"'{text}' is no time; write it as 2025-02-10T10:00:00")


def _day(text: str) -> str:
    if not re.fullmatch(r"20\d\d-\d\d-\d\d", text, re.ASCII):
        raise ToolError(f"'{text}' is no day; write it as 2025-02-10")
    return text


t, s, p = var("title"), var("start"), var("person")
CHECK = "Before you book or move an event, check for conflicts at its new time"
SKIP = "Nothing takes place on a holiday: skip that day"
NOTIFY = "After you move an event or skip a day of a series, notify the attendees"
SETTLED = "notify the attendees: once, when everything about it is settled"
UNASKED = "Cancel, hide, notify or set a reminder only where the task or a rule asks for that"
world.policy(
    before(check_conflicts(t, s), schedule_event(t, s), because=CHECK),
    before(check_conflicts(t, s), reschedule_event(t, s), because=CHECK),
    never(leaves=Calendar.booked_over, because="Never book over another event, not even for a moment"),
    never(leaves=Calendar.told_twice, because=SETTLED),
    after(reschedule_event.where(title=t), notify_attendees(t), because=NOTIFY),
    after(skip_day.where(title=t), notify_attendees(t), because=NOTIFY),
    before(notify_attendees(t), cancel_event(t), because="Before you cancel an event, notify its attendees too"),
    before(
        person_is_free.where(person=p),
        invite.where(person=p),
        because="Ask whether a person is free before you invite them",
    ),
)


def unasked(*calls: Action) -> list[Rule]:
    """Return policies that forbid these calls, because neither the task nor a rule asks for them."""
    return [never(call, because=UNASKED) for call in calls]


def all_needed(calls: Iterable[Action], *, because: str) -> list[Rule]:
    """Return policies that require every one of these calls."""
    return [needed(call, because=because) for call in calls]


def all_before(first: Iterable[Action], then: Iterable[Action], *, because: str) -> list[Rule]:
    """Return policies that require every call in `first` before any call in `then`."""
    return [before(one, other, because=because) for one, other in product(first, then)]


def busy_at(time: str, people: Iterable[str]) -> dict[str, list[str]]:
    """Return a dict from each person to the list `[time]`, for `Calendar.busy`."""
    return {name: [time] for name in people}


def not_invited(title: str, people: Iterable[str]) -> list[Rule]:
    """Return policies that forbid inviting these busy people to the event."""
    return [never(invite(title, name), because="invite nobody who is not") for name in people]


def only_about(*titles: str) -> list[Rule]:
    """Return policies that allow notifications and reminders only for these events, and forbid hiding any event."""
    others = none_of(*titles) if titles else ANY
    return unasked(notify_attendees(others), set_reminder.where(title=others), hide_event.any())


def not_cancelled(*titles: str) -> list[Rule]:
    """Return policies that forbid cancelling these events, which should be changed instead."""
    return [never(cancel_event(title), because="Never cancel an event or a series to change it") for title in titles]


def reminder_off(*titles: str) -> list[Rule]:
    """Return policies that forbid moving an event in `titles` while it has a reminder."""

    def rings(title: str) -> Callable[[Calendar], bool]:
        return lambda calendar: title in calendar.reminders

    because = "Remove it before you move or cancel its event"
    return [never(reschedule_event.where(title=title), when=rings(title), because=because) for title in titles]


def told_when_settled(*titles: str) -> list[Rule]:
    """Return policies that forbid changing an event in `titles` after its attendees were notified."""

    def told(title: str) -> Callable[[Calendar], bool]:
        return lambda calendar: title in calendar.told

    changes = (reschedule_event, skip_day, invite)
    calls = [(title, tool.where(title=title)) for title in titles for tool in changes]
    return [never(call, when=told(title), because=SETTLED) for title, call in calls]


@world.task
def move_and_count(pick: Pick) -> Task:
    """Move an event, notify its attendees and read the remaining time. This task is in the paper's table."""
    title, new = pick("Team Sync", "Retro"), pick("2025-02-10T10:00:00", "2025-02-11T09:30:00", "2025-02-13T16:00:00")
    checked, moved, told = check_conflicts(title, new), reschedule_event(title, new), notify_attendees(title)
    left = get_remaining_time(title)
    return Task(
        start=Calendar(events={title: "2025-02-10T14:00:00", "Lunch Talk": "2025-02-10T12:00:00"}),
        prompt=f"Reschedule '{title}' to '{new}' and check the remaining time until the event.",
        procedure=seq(checked, moved, any_order(told, left)),
        goal=lambda calendar: calendar.events.get(title) == new and calendar.told == {title: 1},
        policies=[
            after(moved, left, because="check the remaining time until the event"),
            *told_when_settled(title),
            *only_about(title),
            *not_cancelled(title),
        ],
        decoys={
            "checked afterwards": Decoy([moved, checked, told, left], "out_of_order"),
            "told ahead": Decoy([checked, told, moved, left], "out_of_order"),
            "cancelled and booked anew": Decoy([checked, told, cancel_event(title), schedule_event(title, new), left],
                                               "forbidden"),
        },
    )  # fmt: skip


def unchanged(start: Calendar) -> Callable[[Calendar], bool]:
    """Return a goal that holds if the calendar equals `start`."""
    return lambda calendar: calendar == start


def has_event(title: str, time: str, people: list[str]) -> Callable[[Calendar], bool]:
    """Return a goal that holds if the event is at this time, these people are invited, and nobody was notified."""
    return lambda calendar: (
        calendar.events.get(title) == time and calendar.attendees.get(title) == people and not calendar.told
    )


@world.task
def first_free_hour(pick: Pick) -> Task:
    """Book an event at the first free hour of two, and invite the people who are free then."""
    taken, busy = pick([0], [], [0], [0, 1]), pick(["Carol"], ["Bob"], [])
    title, day = pick("Budget Review", "Hiring Round"), pick("2025-02-11", "2025-02-12")
    hours = [f"{day}T10:00:00", f"{day}T14:00:00"]
    names = ["Bob", "Carol"]
    start = Calendar(events={f"Visit {number + 1}": hours[number] for number in taken})
    slot = hours[min(len(taken), 1)]
    start.busy |= busy_at(slot, busy)
    full, coming = len(taken) > 1, [name for name in names if name not in busy]
    checks = [check_conflicts(title, hour) for hour in hours[: len(taken) + 1]]
    asked, booked = [person_is_free(name, slot) for name in names], schedule_event(title, slot)
    invited = [invite(title, name) for name in coming]
    late, early = asked if coming[0] == "Bob" else asked[::-1]
    found = seq(any_order(seq(any_order(*checks), booked), *asked), any_order(*invited))
    return Task(
        start=start,
        prompt=f"Book '{title}' at {hours[0]}. If another event stands there, book it at {hours[1]}; if one stands "
        "there too, book nothing. If you can book it, ask whether Bob and Carol are free at that hour, "
        "for both before you invite anyone, and invite those who are.",
        procedure=any_order(*checks) if full else found,
        goal=unchanged(start) if full else has_event(title, slot, coming),
        policies=[
            *all_needed(checks, because=f"If another event stands there, book it at {hours[1]}"),
            before(checks[0], schedule_event.any(), because=f"If another event stands there, book it at {hours[1]}"),
            *all_before(asked, [invite.any()], because="for both before you invite anyone"),
            *all_needed([] if full else asked, because="ask whether Bob and Carol are free at that hour"),
            *not_invited(title, busy),
            *only_about(),
            *unasked(cancel_event.any()),
        ],
        decoys={
            "booked, then cancelled": Decoy([checks[0], schedule_event(title, hours[1]), checks[1],
                                             cancel_event(title)], "forbidden"),
        } if full else {
            "asked after the invitation": Decoy([*checks, booked, late, *invited, early], "out_of_order"),
            "booked before looking": Decoy([*checks[:-1], booked, checks[-1], *asked, *invited], "out_of_order"),
        },
    )  # fmt: skip


@world.task
def swap_two(pick: Pick) -> Task:
    """Swap two events by way of a free hour, because events must never overlap."""
    one, other = pick(("Design Review", "Client Call"), ("Retro", "Planning"))
    day = pick("2025-02-11", "2025-02-12", "2025-02-13")
    here, there, free = f"{day}T09:00:00", f"{day}T11:00:00", f"{day}T16:00:00"
    told = [notify_attendees(one), notify_attendees(other)]

    def by_way(first: str, second: str, at: str, to: str) -> list[tuple[Action, Action]]:
        steps = [(first, free), (second, at), (first, to)]
        return [(check_conflicts(*step), reschedule_event(*step)) for step in steps]

    def chain(steps: list[tuple[Action, Action]], unused: Action) -> Procedure:
        (check1, move1), (check2, move2), (check3, move3) = steps
        moved = seq(any_order(check3, seq(any_order(check2, seq(check1, move1)), move2)), move3)
        return any_order(seq(moved, any_order(*told)), optional(unused))

    ways = by_way(one, other, here, there), by_way(other, one, there, here)
    checks, moves = zip(*ways[0], strict=True)
    return Task(
        start=Calendar(events={one: here, other: there}),
        prompt=f"'{one}' at {here} and '{other}' at {there} are to change places. The hour at {free} is free: move one "
        "of them there in the meantime. Notify the attendees of both when the exchange is complete.",
        procedure=choice(chain(ways[0], ways[1][0][0]), chain(ways[1], ways[0][0][0])),
        goal=lambda calendar: calendar.events == {one: there, other: here} and calendar.told == {one: 1, other: 1},
        policies=[
            *(never(call, when=lambda calendar: calendar.events != {one: there, other: here},
                    because="Notify the attendees of both when the exchange is complete") for call in told),
            *told_when_settled(one, other),
            *only_about(one, other),
            *not_cancelled(one, other),
        ],
        decoys={
            "one over the other": Decoy([*checks, reschedule_event(one, there), reschedule_event(other, free),
                                         reschedule_event(other, here), *told], "out_of_order"),
            "told on the way": Decoy([*checks, *moves[:2], told[1], moves[2], told[0]], "out_of_order"),
            "last hour not checked": Decoy([*checks[:2], *moves, *told, checks[2]], "out_of_order"),
        },
    )  # fmt: skip


@world.task
def series_with_holiday(pick: Pick) -> Task:
    """Book a weekly series. If one day is a holiday, skip that day instead of booking the series again."""
    title, holiday = pick("Standup", "Yoga"), pick("2025-02-17", "2025-02-24", "2025-03-03")
    days = ["2025-02-10", "2025-02-17", "2025-02-24"]
    times = [f"{day}T09:00:00" for day in days]
    start = Calendar(holidays=["2025-01-01", holiday])
    free, checks = list_holidays(), [check_conflicts(title, time) for time in times]
    booked, told = schedule_recurring_event(title, times[0], 7, 3), notify_attendees(title)
    skipped = [skip_day(title, holiday), told] if holiday in days else []
    return Task(
        start=start,
        prompt=f"Book '{title}' as a weekly series, every 7 days, 3 times: at {times[0]}, {times[1]} and {times[2]}.",
        procedure=seq(any_order(free, *checks), booked, *skipped),
        goal=lambda calendar: calendar.series.get(title) == {"start": times[0], "every_days": 7, "times": 3,
                                                             "skipped": [holiday] if skipped else []},
        policies=[
            *(before(read, schedule_recurring_event.any(),
                     because="Look at the holidays and check every day of a series before you book it")
              for read in (free, *checks)),
            *all_needed(skipped[:1], because=SKIP),
            *told_when_settled(title),
            *only_about(*([title] if skipped else [])),
            *not_cancelled(title),
        ],
        decoys={
            "holidays looked up afterwards": Decoy([*checks, booked, free, *skipped], "out_of_order"),
            "booked anew": Decoy([free, *checks, booked, told, cancel_event(title), booked, *skipped[:1]], "forbidden")
            if skipped else Decoy([free, *checks[1:], booked, checks[0]], "out_of_order"),
        },
    )  # fmt: skip


def move_with_reminder(title: str, time: str, *, has_reminder: bool) -> Procedure:
    """Return the steps that move an event.

    If the event has a reminder, the reminder is removed before the move and set again afterwards.
    """
    asked = get_event_time(title)
    off: list[Procedure] = [remove_reminder(title)] if has_reminder else []
    on = [set_reminder(title, result_of(asked, "reminder"))] if has_reminder else []
    return seq(any_order(check_conflicts(title, time), seq(asked, *off)), reschedule_event(title, time),
               any_order(notify_attendees(title), *on))  # fmt: skip


def looked_for_reminders(*titles: str) -> list[Rule]:
    """Return policies that require a look at each of these events, before it is moved or loses its reminder."""
    because = "See for each of them whether it has a reminder"
    tools = (remove_reminder, reschedule_event)
    return [
        *all_needed(map(get_event_time, titles), because=because),
        *(before(get_event_time(name), tool.where(title=name), because=because) for name in titles for tool in tools),
    ]


def calls_that_move(title: str, time: str, minutes: int | None) -> list[Action]:
    """Return the calls that move an event with a reminder of `minutes`, or without one if that is None."""
    off = [] if minutes is None else [remove_reminder(title)]
    on = [] if minutes is None else [set_reminder(title, minutes)]
    looks = [check_conflicts(title, time), get_event_time(title)]
    return [*looks, *off, reschedule_event(title, time), notify_attendees(title), *on]


@world.task
def day_cleared(pick: Pick) -> Task:
    """Move two events to another day. Remove each reminder before the move and set it again afterwards."""
    one, other = pick(("Design Review", "Client Call"), ("Retro", "Planning"))
    with_reminder = pick([one, other], [one], [other], [one, other])
    day = pick("2025-02-13", "2025-02-14")
    new = {one: f"{day}T10:00:00", other: f"{day}T15:00:00"}
    start = Calendar(
        events={one: "2025-02-12T10:00:00", other: "2025-02-12T15:00:00"},
        reminders={title: minutes for title, minutes in ((one, 15), (other, 45)) if title in with_reminder},
    )
    calls = {title: calls_that_move(title, time, start.reminders.get(title)) for title, time in new.items()}
    checked, asked, off, moved, told, on = calls[with_reminder[0]]
    second = calls[one if with_reminder[0] == other else other]
    return Task(
        start=start,
        prompt=f"Wednesday has to be kept free. Move '{one}' to {new[one]} and '{other}' to {new[other]}. See for each "
        "of them whether it has a reminder; where it has one, it is to ring just as long before as now.",
        procedure=any_order(*(move_with_reminder(title, time, has_reminder=title in with_reminder)
                              for title, time in new.items())),
        goal=lambda calendar: calendar.events == new and calendar.reminders == start.reminders
        and calendar.told == {one: 1, other: 1},
        policies=[
            *looked_for_reminders(one, other),
            *reminder_off(one, other),
            *told_when_settled(one, other),
            *(after(reschedule_event.where(title=name), set_reminder.where(title=name),
                    because="after a move, set it again") for name in with_reminder),
            *(never(set_reminder(name, none_of(minutes)), because="it is to ring just as long before as now")
              for name, minutes in start.reminders.items()),
            *only_about(one, other),
            *unasked(*(set_reminder.where(title=name) for name in new if name not in with_reminder)),
            *not_cancelled(one, other),
        ],
        decoys={
            "reminder removed too late": Decoy([checked, asked, moved, off, on, told, *second], "out_of_order"),
            "set again before the move": Decoy([checked, asked, off, on, moved, told, *second], "out_of_order"),
            "told ahead": Decoy([*second, told, checked, asked, off, moved, on], "out_of_order"),
        },
    )  # fmt: skip


@world.task
def for_outsiders(pick: Pick) -> Task:
    """Hide private events while making a listing for outsiders. The final state equals the start state."""
    day, private = pick("2025-02-11", "2025-02-12"), pick(["Dentist", "Visit"], ["Dentist", "Review"], ["Visit"])
    titles = ["Dentist", "Review", "Team Sync", "Visit"]
    times = {title: f"{day}T{9 + number:02}:00:00" for number, title in enumerate(titles)}
    start = Calendar(events=times, private=private)
    asked = {title: get_event_time(title) for title in titles}
    other = next(title for title in titles if title not in private)
    hidden, shown = [hide_event(title) for title in private], [show_event(title) for title in private]
    listing, first = public_listing(day), asked[private[0]]
    rest = [call for call in asked.values() if call != first]
    return Task(
        start=start,
        prompt=f"Get me the public listing of {day} for outsiders, and leave the calendar as it is now. On that day "
        "there are 'Dentist', 'Review', 'Team Sync' and 'Visit'; see for each of them whether it is private.",
        procedure=seq(any_order(*(seq(asked[title], hide_event(title)) if title in private else asked[title]
                                  for title in titles)), listing, any_order(*shown)),
        goal=unchanged(start),
        policies=[
            *all_needed(asked.values(), because="see for each of them whether it is private"),
            needed(listing, because=f"Get me the public listing of {day} for outsiders"),
            *all_needed(hidden, because="hide a private event before you get a public listing"),
            *(before(asked[title], hide_event(title), because="see for each of them whether it is private")
              for title in private),
            *all_before([*asked.values(), *hidden], [listing],
                        because="hide a private event before you get a public listing"),
            *all_before([listing], shown, because="show it again when you have it, not earlier"),
            *unasked(hide_event(none_of(*private)), notify_attendees.any(), cancel_event.any(), set_reminder.any()),
        ],
        decoys={
            "listed before hiding": Decoy([*asked.values(), listing, *hidden, listing, *shown], "forbidden"),
            "shown in between": Decoy([*asked.values(), *hidden, shown[0], hidden[0], listing, *shown], "out_of_order"),
            "hidden on suspicion": Decoy([*rest, *hidden, first, listing, *shown], "out_of_order"),
            "one too many": Decoy([*asked.values(), *hidden, listing, hide_event(other), show_event(other), *shown],
                                  "forbidden"),
        },
    )  # fmt: skip


def hours_that_are(state: str, states: dict[str, str]) -> list[str]:
    """Return the hours that `states` maps to `state`."""
    return [hour for hour, its in states.items() if its == state]


@world.task
def first_that_does(pick: Pick) -> Task:
    """Book the first of three hours when nothing else is booked and Bob is free. If there is none, change nothing."""
    title, day = pick("Workshop", "Training"), pick("2025-02-11", "2025-02-12", "2025-02-13")
    how = pick(["taken", "busy", "taken"], ["busy", "fine", "taken"], ["taken", "busy", "fine"])
    hours = [f"{day}T09:00:00", f"{day}T11:00:00", f"{day}T15:00:00"]
    is_so = dict(zip(hours, how, strict=True))
    start = Calendar(events={f"Audit {hour[11:13]}": hour for hour in hours_that_are("taken", is_so)})
    start.busy["Bob"] = hours_that_are("busy", is_so)
    fine = next(iter(hours_that_are("fine", is_so)), None)
    tried = hours if fine is None else hours[: hours.index(fine) + 1]
    reads = [check_conflicts(title, hour) for hour in tried if is_so[hour] != "busy"]
    reads += [person_is_free("Bob", hour) for hour in tried if is_so[hour] != "taken"]
    busy = start.busy["Bob"][0]
    booked = [] if fine is None else [schedule_event(title, fine)]
    because = f"Book '{title}' at the first of these hours that will do"
    return Task(
        start=start,
        prompt=f"Book '{title}' at the first of these hours that will do: {hours[0]}, {hours[1]}, {hours[2]}. An hour "
        "will do if no other event stands there and Bob is free. If none will do, change nothing.",
        procedure=seq(any_order(*reads), *booked),
        goal=lambda calendar: calendar == start if fine is None else calendar.events.get(title) == fine,
        policies=[
            *all_needed(reads, because=because),
            *all_before(reads, [schedule_event.any()], because=because),
            *only_about(),
            *unasked(cancel_event.any()),
        ],
        decoys={
            "held in the meantime": Decoy([check_conflicts(title, busy), schedule_event(title, busy),
                                           cancel_event(title), *reads], "forbidden"),
        } if fine is None else {
            "asked when it was booked": Decoy([*reads[:-1], *booked, reads[-1]], "out_of_order"),
        },
    )  # fmt: skip


@world.task
def hour_handed_on(pick: Pick) -> Task:
    """Cancel one event and book another at the same time.

    Notify the attendees and remove the reminder before cancelling. Check that the new attendees are free before
    booking.
    """
    old, new, minutes = pick("Offsite", "Demo"), pick("Retro", "Planning"), pick(30, 10)
    time = pick("2025-02-14T13:00:00", "2025-02-18T10:00:00")
    start = Calendar(events={old: time, "Team Sync": "2025-02-10T14:00:00"}, reminders={old: minutes})
    start.attendees = {old: ["Dave"]}
    asked, told, off, gone = get_event_time(old), notify_attendees(old), remove_reminder(old), cancel_event(old)
    begins = result_of(asked, "start")
    people = ["Bob", "Carol"]
    free, invited = [person_is_free(name, time) for name in people], [invite(new, name) for name in people]
    checked, booked = check_conflicts(new, time), schedule_event(new, time)
    return Task(
        start=start,
        prompt=f"'{old}' is to be cancelled. Book '{new}' in its place, at the same time, and invite Bob and Carol. "
        "Look first at when it begins and whether it has a reminder, and ask whether both of them are free before you "
        "book it; they should be.",
        procedure=seq(
            asked,
            any_order(check_conflicts(new, begins), *(person_is_free(name, begins) for name in people),
                      seq(any_order(told, off), gone)),
            schedule_event(new, begins), any_order(*invited)),
        goal=lambda calendar: calendar.events == {new: time, "Team Sync": "2025-02-10T14:00:00"}
        and calendar.attendees == {new: people} and calendar.told == {old: 1} and not calendar.reminders,
        policies=[
            *all_before([asked], [told, off], because="Look first at when it begins and whether it has a reminder"),
            *all_before(free, [schedule_event.any()],
                        because="ask whether both of them are free before you book it"),
            before(off, gone, because="Remove it before you move or cancel its event"),
            *only_about(old),
        ],
        decoys={
            "asked when it was booked": Decoy([asked, checked, told, off, gone, free[0], booked, free[1], *invited],
                                              "out_of_order"),
            "booked over it": Decoy([asked, checked, *free, booked, told, off, gone, *invited], "out_of_order"),
            "reminder left to the calendar": Decoy([asked, checked, *free, told, gone, booked, remove_reminder(new),
                                                    *invited], "out_of_order"),
        },
    )  # fmt: skip


@world.task
def replaced_day(pick: Pick) -> Task:
    """Skip the date in a series that falls on a holiday, and book a single event to replace it."""
    title, holiday = pick("Standup", "Choir"), pick("2025-02-17", "2025-02-24")
    instead = pick("2025-02-18T09:00:00", "2025-02-20T12:00:00")
    series: Series = {"start": "2025-02-10T09:00:00", "every_days": 7, "times": 3, "skipped": []}
    start = Calendar(series={title: series}, attendees={title: ["Bob", "Dave"]}, holidays=["2025-01-01", holiday])
    extra = f"{title} Extra"
    looked, skipped, told = list_holidays(), skip_day(title, holiday), notify_attendees(title)
    checked, booked = check_conflicts(extra, instead), schedule_event(extra, instead)
    return Task(
        start=start,
        prompt=f"Nobody thought of the holidays when '{title}' was booked, every 7 days, 3 times from "
        f"2025-02-10T09:00:00. Look at the holidays, skip the day that is one, and book '{extra}' at {instead} for it.",
        procedure=any_order(seq(looked, skipped, told), seq(checked, booked)),
        goal=lambda calendar: calendar.series == {title: {**series, "skipped": [holiday]}}
        and calendar.events.get(extra) == instead and calendar.told == {title: 1},
        policies=[
            before(looked, skip_day.any(), because="Look at the holidays, skip the day that is one"),
            *told_when_settled(title),
            *only_about(title),
            *not_cancelled(title),
        ],
        decoys={
            "told ahead": Decoy([looked, checked, told, skipped, booked], "out_of_order"),
            "holidays looked up afterwards": Decoy([skipped, looked, told, checked, booked], "out_of_order"),
            "checked afterwards": Decoy([looked, skipped, told, booked, checked], "out_of_order"),
        },
    )  # fmt: skip


@world.task
def next_one_up(pick: Pick) -> Task:
    """Get the remaining time until each of three events, and set a reminder for the earliest event."""
    titles = ["Client Call", "Retro", "Review"]
    number = pick(2, 1, 0)
    order = [*titles[number:], *titles[:number]]
    minutes, soon = pick(30, 20, 45), pick(True, False, True)
    days = ["2025-02-07T15:00:00" if soon else "2025-02-10T15:00:00", "2025-02-11T10:00:00", "2025-02-12T10:00:00"]
    start = Calendar(events=dict(sorted(zip(order, days, strict=True))))
    asked = [get_remaining_time(title) for title in titles]
    first = order[0]
    reminded, told = set_reminder(first, minutes), notify_attendees(first)
    done: list[Action] = [reminded, told] if soon else [reminded]
    return Task(
        start=start,
        prompt="Read the remaining time until 'Client Call', 'Retro' and 'Review', all three. The one that comes first "
        f"gets a reminder {minutes} minutes before. If it begins within one day, notify its attendees as well, when "
        "the reminder is set.",
        procedure=seq(any_order(*asked), *done),
        goal=lambda calendar: calendar.reminders == {first: minutes} and calendar.told == ({first: 1} if soon else {}),
        policies=[
            *all_before(asked, [set_reminder.any()],
                        because="Read the remaining time until 'Client Call', 'Retro' and 'Review', all three"),
            before(set_reminder.any(), notify_attendees.any(),
                   because="notify its attendees as well, when the reminder is set"),
            *unasked(cancel_event.any(), hide_event.any(), notify_attendees(none_of(first)),
                     set_reminder.where(title=none_of(first))),
        ],
        decoys={
            "set before all was read": Decoy([*asked[:2], reminded, asked[2], *done[1:]], "out_of_order"),
            "set for the wrong one": Decoy([*asked, set_reminder(order[1], minutes), remove_reminder(order[1]), *done],
                                           "forbidden"),
        },
    )  # fmt: skip


@world.task
def invitation_round(pick: Pick) -> Task:
    """Look up an event's time, check whether three people are free then, and invite only the free ones."""
    title, time = pick("Launch", "Jubilee"), pick("2025-02-14T11:00:00", "2025-02-19T15:00:00")
    busy = pick(["Carol"], ["Bob"], ["Bob", "Dave"], [])
    people = ["Bob", "Carol", "Dave"]
    start = Calendar(events={title: time, "Team Sync": "2025-02-10T14:00:00"})
    start.busy |= busy_at(time, busy)
    asked = get_event_time(title)
    free = {name: person_is_free(name, time) for name in people}
    coming = [name for name in people if name not in busy]
    invited, told = [invite(title, name) for name in coming], notify_attendees(title)
    return Task(
        start=start,
        prompt=f"Find out when '{title}' begins. Ask whether Bob, Carol and Dave, all three, are free then, "
        "and invite those who are. When everyone who is free is invited, notify the attendees.",
        procedure=seq(
            asked,
            any_order(*(seq(person_is_free(name, result_of(asked, "start")), *([invite(title, name)] if name in coming
                                                                               else [])) for name in people)),
            told),
        goal=lambda calendar: calendar.attendees == {title: coming} and calendar.told == {title: 1},
        policies=[
            *all_needed(free.values(), because="Ask whether Bob, Carol and Dave, all three, are free then"),
            *all_before([*free.values(), *invited], [notify_attendees.any()],
                        because="When everyone who is free is invited, notify the attendees"),
            *not_invited(title, busy),
            *only_about(title),
        ],
        decoys={
            "asked after the invitation": Decoy(
                [asked, *(call for name, call in free.items() if name != coming[0]), *invited, free[coming[0]], told],
                "out_of_order"),
            "told before the last": Decoy([asked, *free.values(), *invited[:-1], told, invited[-1]], "out_of_order"),
        },
    )  # fmt: skip
