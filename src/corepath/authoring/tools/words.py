"""What a tool's name and description say about it: whether it reads, writes or is neutral."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal

Kind = Literal["read", "write", "neutral"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


READS: Final = _words(
    """
    browse calc calculate can check compute count describe fetch find get has is list lookup peek read retrieve
    search view
    """
)
"""Verbs of tools that only read."""
MAY_READ: Final = _words(
    """
    analyse analyze available average balance classify compare convert date detail details detect display divide
    download estimate evaluate examine explore facts forecast free help history identify info information
    inspect listing locate look max mean measure min monitor multiply observe overview plan predict preview
    print query quote recall recommend report review round scan screenshot show snapshot sort square state
    statistics stats status suggest sum summarise summarize test time track tree validate verify version watch
    weather weigh
    """
)
"""Words of tools that read more often than not: they count only if runs or a description agree."""
WRITES: Final = _words(
    """
    accept acknowledge activate add adjust allocate amend append apply approve archive assign attach
    authenticate authorise authorize award ban block book buy call cancel change charge checkin checkout clear
    click clone close comment commit configure confirm connect copy correct create cut deactivate debit decline
    decrease delete deny deploy deposit detach disable discard disconnect dispatch draft drag drain drop
    duplicate edit eject email empty enable enforce enqueue enroll enter erase escalate exchange exec execute
    expire fill finish fire fix flag focus follow fork forward freeze fund give grant harvest hide hold hover
    import increase increment init initialize insert install invite invoice issue join kill launch leave lift
    lock log login logout lower make mark merge message migrate modify mount move mute navigate notify offer
    open order override overwrite park patch pause pay perform pick pin place play poke pop post press promote
    provision publish pull purchase push put reactivate rebook reboot recharge record redeem refill refuel
    refund register reject release reload remind remove rename renew reopen reorder repair replace reply report
    request reschedule reserve reset resize resolve restart restore resume return reverse revert revoke rollback
    rotate run save scale schedule seat select send set share ship sign skip spawn stage stamp start stop store
    submit subscribe subtract suspend swap switch sync tag take terminate toggle touch transfer transmit trigger
    turn type unarchive unassign unban unblock undo unfollow unfreeze uninstall unlink unlock unmount unmute
    unpin unregister unset unshare unsubscribe update upgrade upload upsert use void waive water withdraw write
    """
)
"""Verbs of tools that change something."""
_NOUNS: Final = _words(
    """
    address book call change charge email exchange fire flag hold invoice issue log message offer open order park place
    play position post record register report request return schedule seat set share ship stage state store
    tag time type use water
    """
)
"""Words that are changing verbs as well as common nouns, so that they say nothing in the middle of a sentence."""
_THINGS: Final = frozenset({"message", "order", "invoice", "seat"})
_ABOUT_THINGS: Final = frozenset(
    {"status", "state", "details", "history", "list", "info", "information", "search", "lookup"}
)
"""In `order_status`, the first word is a noun."""
_WRITES_TOGETHER: Final = (("check", "in"), ("check", "out"), ("check", "off"), ("check", "box"), ("read", "receipt"))
"""Words that write together, although the first one reads."""
_READS_TOGETHER: Final = (("look", "up"), ("look", "at"), ("look", "for"))
_NEUTRAL: Final = re.compile(
    r"think|respond|reply_to_user|final_answer|escalate|done|"
    r"(?:transfer|escalate|hand_?off|hand_?over)_to_(?:a_)?(?:human|person|agent|operator|supervisor|representative)\w*"
)
_COMMANDS: Final[Mapping[str, Kind]] = {
    **dict.fromkeys(_words("cat diff du grep head ls pwd stat tail wc whoami"), "read"),
    **dict.fromkeys(_words("chmod chown cp ln mkdir mv rm rmdir"), "write"),
}
"""Names of shell commands, which count only if they are the whole name."""
_SHARED: Final = 3
_JOINTS: Final = frozenset({"and", "or", "then"})
_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_a-zA-Z]+")
_LONGEST: Final = 500
_WORD: Final = re.compile(r"[a-z]+")
_RETURNS: Final = frozenset({"return", "returns"})
_ENDINGS: Final = ("ing", "ed", "es", "s", "d")


@dataclass(frozen=True)
class Hint:
    """What a text says about a tool's kind. If it is not `sure`, something else has to agree."""

    kind: Kind
    word: str
    sure: bool = True


def split_name(name: str) -> list[str]:
    """Split a tool's name into lower-case words: `mcp__shop__getOrder` becomes `get`, `order`.

    What comes before the last `__`, `.`, `/` or `:` says where the tool comes from, and is left out.
    """
    last = re.split(r"__+|[./:]", name[:_LONGEST].strip("_./:"))[-1]
    return [part.lower() for part in _PARTS.findall(last)]


def common_prefixes(names: Iterable[str]) -> frozenset[str]:
    """Return the first words that several tools share and that are no verbs, as in `slack_post`, `slack_get`."""
    first = Counter(words[0] for words in map(split_name, names) if len(words) > 1)
    return frozenset(
        word for word, times in first.items() if times >= _SHARED and word not in READS | MAY_READ | WRITES
    )


def read_name(name: str, prefixes: Collection[str] = ()) -> Hint | None:
    """Return what a tool's name says, or None if it says nothing. A first word in `prefixes` is left out."""
    words = split_name(name)
    if found := _NEUTRAL.fullmatch("_".join(words)):
        return Hint("neutral", found[0])
    words = words[1:] if len(words) > 1 and words[0] in prefixes else words
    if not words:
        return None
    first = words[0]
    if len(words) == 1 and first in _COMMANDS:
        return Hint(_COMMANDS[first], first)
    if word := _changing_words(words):
        return Hint("write", word)
    if first in READS or tuple(words[:2]) in _READS_TOGETHER:
        doubtful = words in (["check"], ["list"]) or any(word in (WRITES - _NOUNS) | {"next"} for word in words[1:])
        return Hint("read", first, sure=not doubtful)
    if first in MAY_READ:
        return Hint("read", first, sure=False)
    return _read_later_words(words)


def _changing_words(words: list[str]) -> str | None:
    """Return the words that say that a tool writes: its verb, `check_in`, or `get_or_create`."""
    pairs = list(pairwise(words))
    if together := next((pair for pair in pairs if pair in _WRITES_TOGETHER), None):
        return " ".join(together)
    if words[0] in WRITES:
        return None if words[0] in _THINGS and words[-1] in _ABOUT_THINGS else words[0]
    return next((word for before, word in pairs if before in _JOINTS and word in WRITES), None)


def _read_later_words(words: list[str]) -> Hint | None:
    """Return what a name says whose first word is no verb: `order_status`, `user_create`, `home_status`."""
    rest = words[1:]
    if changing := next((word for word in (*rest[:1], *rest[-1:]) if word in WRITES - MAY_READ - _NOUNS), None):
        return Hint("write", changing)
    found = next((word for word in (*reversed(rest), *words) if word in READS | MAY_READ), None)
    return None if found is None else Hint("read", found, sure=False)


def read_description(text: str, name: str) -> Hint | None:
    """Return what the first word of a tool's description says, or None if it says nothing.

    A description that begins with a reading verb and goes on with a changing one says nothing.
    """
    sentence = re.split(r"[.\n]", text.strip()[:_LONGEST], maxsplit=1)[0].lower()
    words = _WORD.findall(sentence)
    if not words:
        return None
    first = _stem(words[0], READS | MAY_READ | WRITES | _RETURNS)
    if first in _RETURNS:
        is_item = "return" in split_name(name)  # returning an item that was bought
        return None if is_item or _changes(words[1:]) else Hint("read", words[0])
    if first in READS:
        together = tuple(words[:2]) in _WRITES_TOGETHER
        return None if together or _changes(words[1:]) else Hint("read", words[0])
    if first in WRITES:
        return Hint("write", words[0])
    return None


def _changes(words: list[str]) -> bool:
    stems = {_stem(word, WRITES) for word in words}
    return any(stem in WRITES and stem not in _NOUNS for stem in stems)


def _stem(word: str, known: frozenset[str]) -> str:
    """Return the verb that a word is a form of: `creates`, `created` and `creating` become `create`."""
    if word in known:
        return word
    for ending in _ENDINGS:
        base = word.removesuffix(ending)
        forms = (base, f"{base}e", base[:-1] if base[-1:] == base[-2:-1] else base)
        if base != word and (found := next((form for form in forms if form in known), None)):
            return found
    return word
