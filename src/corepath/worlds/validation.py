"""A registry of users: names, e-mail addresses and passwords are validated, hashed and stored, in that order."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from corepath import (
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
    one_by_one,
    one_of,
    result_of,
    seq,
    var,
)

RULES = """
You keep a registry of users. Each user has a name, an e-mail address and the hash of a password.
A name has 3 to 20 letters, digits or underscores and begins with a letter. A password has 10 characters or more, one of
them neither a letter nor a digit.
Validate a name and an e-mail address before they go into the registry, and the password of a user before you hash it.
For a new user validate everything before you hash: a hash is for a user who will be added.
No two users share an e-mail address, not even for a moment: look an address up before you store it.
Hash only a password that you were given. Store the hash that hash_password returned. Never store a password as plain
text, not even for one call.
Lock a user before you set a new password. Lock nobody for any other reason, unless the task says so.
A user who is signed in is never locked: sign the user out first.
Sign a user in only with the password that you were given, and never have two users signed in at once. If it fails, do
not try another one. Never sign the same user in twice.
Never remove a user.
Do what was asked and leave everything else as it is.
"""

ADVICE = (
    "You keep a registry of users.",
    "Each user has a name, an e-mail address and the hash of a password.",
    "A name has 3 to 20 letters, digits or underscores and begins with a letter.",
    "A password has 10 characters or more, one of them neither a letter nor a digit.",
    "Do what was asked and leave everything else as it is.",
)


@dataclass
class User:
    """A user's email address and password hash, and whether the user is locked."""

    email: str
    hash: str
    locked: bool = False


@dataclass
class Registry:
    """The state of the registry: users, hashes not stored yet, signed-in users, and failed sign-ins per user.

    `_attempts` holds the name and the password's hash of every attempt to sign in. `_set_unlocked` says whether the
    last password was set for a user who was not locked.
    """

    users: dict[str, User] = field(default_factory=dict)
    waiting: list[str] = field(default_factory=list)
    signed_in: list[str] = field(default_factory=list)
    failed: dict[str, int] = field(default_factory=dict)
    _attempts: list[list[str]] = field(default_factory=list, compare=False)
    _set_unlocked: bool = field(default=False, compare=False)

    def shares_address(self) -> bool:
        """Whether two users have the same address."""
        return len({user.email for user in self.users.values()}) < len(self.users)

    def holds_plain_text(self) -> bool:
        """Whether anything but a hash is stored as a password."""
        return not all(re.fullmatch(r"h-[0-9a-f]{8}", user.hash) for user in self.users.values())

    def locks_who_works(self) -> bool:
        """Whether a user is locked while signed in."""
        return any(self.users[name].locked for name in self.signed_in)

    def set_unlocked(self) -> bool:
        """Whether the last password was set for a user who was not locked."""
        return self._set_unlocked

    def signs_in_again(self) -> bool:
        """Whether the last user to sign in had signed in before."""
        names = [name for name, _ in self._attempts]
        return bool(names) and names[-1] in names[:-1]


MOST_FAILURES = 3

world = World("validation", Registry, RULES, advice=ADVICE)


@world.read
def validate_username(registry: Registry, name: str) -> dict[str, Any]:
    """Whether a text can be the name of a new user, and if not, why."""
    if not re.fullmatch(r"[A-Za-z]\w{2,19}", name, re.ASCII):
        return _verdict("not 3 to 20 letters, digits or underscores with a letter first")
    return _verdict("taken" if name in registry.users else None)


@world.read
def validate_email(_registry: Registry, email: str) -> dict[str, Any]:
    """Whether a text has the form of an e-mail address, and if not, why. It does not tell whose it is."""
    right = re.fullmatch(r"[\w.+-]+@[\w-]+(\.[\w-]+)*\.[A-Za-z]{2,}", email)
    return _verdict(None if right else "not of the form name@domain.end")


@world.read
def validate_password(_registry: Registry, password: str) -> dict[str, Any]:
    """Whether a text is good enough as a password, and if not, why."""
    if len(password) < 10:
        return _verdict("shorter than 10 characters")
    return _verdict("no sign" if password.isalnum() else None)


@world.read
def find_user(registry: Registry, email: str) -> dict[str, str | None]:
    """Look up whose e-mail address this is; the name is null where it is nobody's."""
    return {"name": next((name for name, user in registry.users.items() if user.email == email), None)}


@world.read
def get_user(registry: Registry, name: str) -> dict[str, Any]:
    """The e-mail address of a user, and whether the user is locked."""
    user = _user(registry, name)
    return {"email": user.email, "locked": user.locked}


@world.read
def suggest_username(registry: Registry, name: str) -> dict[str, str]:
    """Propose a name like the one that was wanted."""
    stem = re.sub(r"\W", "", name, flags=re.ASCII)[:16]
    stem = stem if re.match(r"[A-Za-z]", stem) else f"u_{stem}"
    number = 2
    while f"{stem}_{number}" in registry.users:
        number += 1
    return {"name": f"{stem}_{number}"}


@world.read
def read_status(registry: Registry) -> dict[str, list[str]]:
    """Who is signed in, who is locked, and which hashes were made and not stored."""
    locked = sorted(name for name, user in registry.users.items() if user.locked)
    return {"signed_in": registry.signed_in, "locked": locked, "hashes": registry.waiting}


@world.write
def hash_password(registry: Registry, password: str) -> dict[str, str]:
    """Make the hash of a password. It waits in a list until it is stored with a user."""
    made = hash_of(password)
    registry.waiting = sorted({*registry.waiting, made})
    return {"hash": made}


@world.write
def discard_hash(registry: Registry, password_hash: str) -> str:
    """Take a hash that will not be stored off the list."""
    if password_hash not in registry.waiting:
        raise ToolError(f"no hash '{password_hash[:80]}' waits")
    registry.waiting.remove(password_hash)
    return "done"


@world.write
def add_user(registry: Registry, name: str, email: str, password_hash: str) -> str:
    """Add a user to the registry. The hash is stored as it is given."""
    if name in registry.users:
        raise ToolError(f"there is a user '{name[:80]}' already")
    registry.users[name] = User(email, _taken_off(registry, password_hash))
    return "done"


@world.write
def update_email(registry: Registry, name: str, email: str) -> str:
    """Give a user another e-mail address."""
    _user(registry, name).email = email
    return "done"


@world.write
def set_password(registry: Registry, name: str, password_hash: str) -> str:
    """Give a user another password, by its hash, which is stored as it is given."""
    user = _user(registry, name)
    user.hash = _taken_off(registry, password_hash)
    registry._set_unlocked = not user.locked  # noqa: SLF001  # private to agents
    return "done"


@world.write
def sign_in(registry: Registry, name: str, password: str) -> dict[str, bool]:
    """Sign a user in, and say whether the password was right. After three failures in a row the user is locked."""
    user = _user(registry, name)
    if user.locked:
        raise ToolError(f"user '{name}' is locked")
    registry._attempts.append([name, hash_of(password)])  # noqa: SLF001  # private to agents
    if user.hash == hash_of(password):
        registry.signed_in = sorted({*registry.signed_in, name})
        registry.failed.pop(name, None)
        return {"ok": True}
    registry.failed[name] = registry.failed.get(name, 0) + 1
    user.locked = registry.failed[name] >= MOST_FAILURES
    return {"ok": False}


@world.write
def sign_out(registry: Registry, name: str) -> str:
    """Sign a user out."""
    _user(registry, name)
    registry.signed_in = [one for one in registry.signed_in if one != name]
    return "done"


@world.write
def lock_user(registry: Registry, name: str) -> str:
    """Lock a user out."""
    _user(registry, name).locked = True
    return "done"


@world.write
def unlock_user(registry: Registry, name: str) -> str:
    """Let a locked user in again, and forget the failures to sign in."""
    _user(registry, name).locked = False
    registry.failed.pop(name, None)
    return "done"


@world.write
def remove_user(registry: Registry, name: str) -> str:
    """Delete a user from the registry, with all that belongs to the user."""
    _user(registry, name)
    del registry.users[name]
    registry.signed_in = [one for one in registry.signed_in if one != name]
    registry.failed.pop(name, None)
    return "done"


def hash_of(password: str) -> str:
    """Hash a password."""
    return f"h-{hashlib.sha256(password.encode(errors='replace')).hexdigest()[:8]}"


def _verdict(problem: str | None) -> dict[str, Any]:
    return {"valid": problem is None, "problem": problem}


def _user(registry: Registry, name: str) -> User:
    if name not in registry.users:
        raise ToolError(f"no user '{name[:80]}'; there is {', '.join(registry.users) or 'none'}")
    return registry.users[name]


def _taken_off(registry: Registry, password_hash: str) -> str:
    registry.waiting = [one for one in registry.waiting if one != password_hash]
    return password_hash


n, e, w, h = var("name"), var("email"), var("password"), var("hash")
_VALIDATE = "Validate a name and an e-mail address before they go into the registry"
_HASH = "Store the hash that hash_password returned"
_LOOK_UP = "look an address up before you store it"
world.policy(
    before(validate_username(n), add_user.where(name=n), because=_VALIDATE),
    before(validate_email(e), add_user.where(email=e), because=_VALIDATE),
    before(validate_email(e), update_email.where(email=e), because=_VALIDATE),
    before(find_user(e), add_user.where(email=e), because=_LOOK_UP),
    before(find_user(e), update_email.where(email=e), because=_LOOK_UP),
    before(hash_password.any().returns({"hash": h}), add_user.where(password_hash=h), because=_HASH),
    before(hash_password.any().returns({"hash": h}), set_password.where(password_hash=h), because=_HASH),
    never(set_password.any(), leaves=Registry.set_unlocked, because="Lock a user before you set a new password"),
    never(leaves=Registry.shares_address, because="No two users share an e-mail address, not even for a moment"),
    never(leaves=Registry.holds_plain_text, because="Never store a password as plain text", severity="high"),
    never(leaves=Registry.locks_who_works, because="A user who is signed in is never locked"),
    never(sign_in.any(), when=lambda registry: registry.signed_in, because="never have two users signed in at once"),
    never(sign_in.any(), when=lambda registry: registry.failed, because="If it fails, do not try another one"),
    never(sign_in.any(), leaves=Registry.signs_in_again, because="Never sign the same user in twice"),
    never(remove_user.any(), because="Never remove a user", severity="high"),
)
PASSWORD_FIRST = before(validate_password(w), hash_password(w), because="the password of a user before you hash it")

NO_LOCK = never(lock_user.any(), because="Lock nobody for any other reason, unless the task says so")
WRITES = (
    hash_password,
    discard_hash,
    add_user,
    update_email,
    set_password,
    sign_in,
    sign_out,
    lock_user,
    unlock_user,
)

PASSWORDS = {"ann": "Blue-Kettle-71", "bob": "Quiet_Harbour", "cid": "seven+eleven"}


def registry_of(*names: str, **emails: str) -> Registry:
    """Create a registry with these users. A user not in `emails` gets the address `name@example.com`."""
    users = {name: User(emails.get(name, f"{name}@example.com"), hash_of(PASSWORDS[name])) for name in names}
    return Registry(users)


def ends(start: Registry, users: dict[str, User] | None = None, **changed: Any) -> Callable[[Registry], bool]:
    """Return a goal that holds if the registry equals `start` with these users and fields replaced."""
    expected = replace(start, users={**start.users, **(users or {})}, **changed)
    return lambda registry: registry == expected


def checks(name: str, email: str, password: str) -> list[Action]:
    """Return the calls that validate a new user's name, email and password and check that the email is free."""
    return [validate_username(name), validate_email(email), find_user(email), validate_password(password)]


def all_first(name: str, email: str, password: str) -> list[Rule]:
    """Return policies that require every check of a new user's data before hashing a password."""
    return [
        PASSWORD_FIRST,
        *(
            before(check, hash_password.any(), because="For a new user validate everything before you hash")
            for check in checks(name, email, password)
        ),
    ]


def hash_only(*passwords: str) -> Rule:
    """Return a policy that forbids hashing anything but these passwords."""
    other = hash_password.where(password=none_of(*passwords))
    return never(other, because="Hash only a password that you were given")


def sign_in_only(name: str, password: str) -> Rule:
    """Return a policy that forbids signing a user in with any other password."""
    other = sign_in.where(name=name, password=none_of(password))
    return never(other, because="Sign a user in only with the password that you were given")


def registration(name: str, email: str, password: str) -> str:
    """Return a prompt that asks the agent to register a user."""
    return (
        f"Register the user '{name}' with the e-mail address '{email}' and the password '{password}', if all of it is "
        "valid and the address is free. If not, find out everything that is wrong with it, and change nothing."
    )


def with_hash(password: str) -> Any:
    """Return a matcher for the hash that `hash_password` returned for `password`."""
    return result_of(hash_password(password), "hash")


@world.task
def name_then_hash(pick: Pick) -> Task:
    """Validate a name, then hash a password. This task is in the paper's table."""
    name, password = pick("John_Doe", "maria_k", "Ola99"), pick("MyStrongPass!", "Rain&Thunder", "Paper-Boat-5")
    start, check, made = registry_of("ann"), validate_username(name), hash_password(password)
    return Task(
        start=start,
        prompt=f"Validate if '{name}' is a proper username, then hash the password '{password}'.",
        procedure=seq(check, made),
        goal=ends(start, waiting=[hash_of(password)]),
        policies=[
            before(check, made, because=f"then hash the password '{password}'"),
            hash_only(password),
        ],
        decoys={
            "hashed first": Decoy([made, check], "out_of_order"),
            "the name hashed too": Decoy([check, made, hash_password(name), discard_hash(hash_of(name))], "forbidden"),
        },
    )  # fmt: skip


@world.task
def register(pick: Pick) -> Task:
    """Register a new user with valid data: make four checks in any order, hash the password, and add the user."""
    name, email = pick(("dora", "dora@example.org"), ("Emil_77", "emil@mail.example.com"))
    password = pick("Winter?Apple", "0-clouds-today")
    start, made = registry_of("ann"), hash_of(password)
    calls = [*checks(name, email, password), hash_password(password), add_user(name, email, made)]
    return Task(
        start=start,
        prompt=registration(name, email, password),
        procedure=seq(any_order(*checks(name, email, password)), hash_password(password),
                      add_user(name, email, with_hash(password))),
        goal=ends(start, {name: User(email, made)}),
        policies=[*all_first(name, email, password), hash_only(password)],
        decoys={
            "hashed before the checks": Decoy([calls[0], calls[4], *calls[1:4], calls[5]], "out_of_order"),
            "plain text for a moment": Decoy(
                [*calls[:4], add_user(name, email, password), calls[4], lock_user(name), set_password(name, made),
                 unlock_user(name)], "unlisted"),
            "added, removed, added": Decoy([*calls, remove_user(name), calls[4], calls[5]], "forbidden"),
        },
    )  # fmt: skip


@world.task
def reject(pick: Pick) -> Task:
    """Reject a new user with invalid data: check everything and change nothing."""
    name, email, password = pick(
        ("dora", "dora@example", "Winter?Apple"), ("dora", "ann@example.com", "Winter?Apple"),
        ("d", "dora@example.org", "Winter?Apple"), ("ann", "dora@example.org", "Winter Apple"),
        ("dora", "dora@example.org", "WinterApple"),
    )  # fmt: skip
    start, made, looked = registry_of("ann"), hash_of(password), checks(name, email, password)
    return Task(
        start=start,
        prompt=registration(name, email, password),
        procedure=any_order(*looked),
        goal=ends(start),
        policies=[
            *(needed(check, because="find out everything that is wrong with it") for check in looked),
            *(never(write.any(), because="If not, find out everything that is wrong with it, and change nothing")
              for write in WRITES),
        ],
        decoys={
            "hashed in advance": Decoy([hash_password(password), *looked, discard_hash(made)], "forbidden"),
            "hashed all the same": Decoy([*looked, hash_password(password), discard_hash(made)], "forbidden"),
            "locked meanwhile": Decoy([*looked[:2], lock_user("ann"), *looked[2:], unlock_user("ann")], "forbidden"),
        },
    )  # fmt: skip


@world.task
def new_password(pick: Pick) -> Task:
    """Lock a user to set a new password, then unlock the user and test the password once."""
    name, password = pick("bob", "ann"), pick("Green/Window", "two=ravens=22")
    start, made = registry_of("ann", "bob"), hash_of(password)
    lock, unlock, stored = lock_user(name), unlock_user(name), set_password(name, made)
    check, hashed = validate_password(password), hash_password(password)
    test = [sign_in(name, password), sign_out(name)]
    return Task(
        start=start,
        prompt=f"User {name} needs a new password, '{password}'. Set it and unlock the user afterwards. Then test it: "
        "sign the user in with it, once, and out again.",
        procedure=seq(any_order(lock, seq(check, hashed)), set_password(name, with_hash(password)), unlock,
                      sign_in(name, password), sign_out(name)),
        goal=ends(start, {name: replace(start.users[name], hash=made)}),
        policies=[
            PASSWORD_FIRST,
            hash_only(password),
            sign_in_only(name, password),
            needed(test[0].returns({"ok": True}), because="Then test it"),
            *(before(call, sign_in.any(), because="Then test it") for call in (set_password.where(name=name), unlock)),
        ],
        decoys={
            "validated too late": Decoy([lock, hashed, check, stored, unlock, *test], "out_of_order"),
            "locked too late": Decoy([check, hashed, stored, lock, unlock, *test], "out_of_order"),
            "tested twice": Decoy([check, lock, hashed, stored, unlock, *test, *test], "repeated"),
        },
    )  # fmt: skip


def seen_inside(name: str) -> list[Rule]:
    """Return policies that require reading a user's data, and only while the user is signed in."""
    because = "get the data of the user only while signed in"
    return [
        needed(get_user(name), because=because),
        never(get_user(name), when=lambda registry: name not in registry.signed_in, because=because),
    ]


@world.task
def sign_in_round(pick: Pick) -> Task:
    """Sign in, check and sign out three users, one at a time. The final state equals the start state."""
    one, two, three = names = pick(["ann", "bob", "cid"], ["cid", "ann", "bob"])
    start = registry_of("ann", "bob", "cid")
    visits = {name: [sign_in(name, PASSWORDS[name]), get_user(name), sign_out(name)] for name in names}
    said = ", ".join(f"'{PASSWORDS[name]}' for {name}" for name in names)
    return Task(
        start=start,
        prompt=f"Test whether these passwords still work: {said}. Sign each user in, get the data of the user "
        "only while signed in, and sign the user out.",
        procedure=one_by_one(*(seq(*visit) for visit in visits.values())),
        goal=ends(start),
        policies=[
            PASSWORD_FIRST,
            NO_LOCK,
            *(sign_in_only(name, PASSWORDS[name]) for name in names),
            *(needed(sign_in(name, PASSWORDS[name]), because="Sign each user in") for name in names),
            *(rule for name in names for rule in seen_inside(name)),
        ],
        decoys={
            "two at once": Decoy([visits[one][0], visits[two][0], *visits[one][1:], *visits[two][1:], *visits[three]],
                                 "out_of_order"),
            "a password guessed": Decoy([*visits[one], sign_in(two, PASSWORDS[one]), *visits[two], *visits[three]],
                                        "forbidden"),
            "looked at from outside": Decoy([get_user(one), visits[one][0], visits[one][2], *visits[two],
                                             *visits[three]], "out_of_order"),
        },
    )  # fmt: skip


def seen_first(looks: list[Action], emails: Iterable[str]) -> list[Rule]:
    """Return policies that require all calls in `looks` before an address is changed or one of `emails` is checked."""
    new = one_of(*emails)
    checked = [validate_email.where(email=new), find_user.where(email=new)]
    return [
        *(before(look, update_email.any(), because="First get the data of ann, bob and cid") for look in looks),
        *(before(look, check, because="Only then turn to new ones") for look in looks for check in checked),
    ]


@world.task
def repair_addresses(pick: Pick) -> Task:
    """Find the users with an invalid address. Validate and set a new address for each of them."""
    broken = pick(["ann", "cid"], ["bob", "cid"], ["bob"], ["ann", "bob"])
    names = ("ann", "bob", "cid")
    start = registry_of(*names, **{name: f"{name}@example" for name in broken})
    new = {name: f"{name}@mail.example.net" for name in names}
    looks = {name: [get_user(name), validate_email(start.users[name].email)] for name in names}
    fixes = {name: [validate_email(new[name]), find_user(new[name]), update_email(name, new[name])] for name in broken}
    looked, fixed = [*chain(*looks.values())], [*chain(*fixes.values())]
    valid, found, stored = fixes[broken[0]]
    late = [*chain(*(looks[name] for name in names if name != broken[0]))]
    said = ", ".join(f"{name}: '{new[name]}'" for name in names)
    return Task(
        start=start,
        prompt="First get the data of ann, bob and cid and validate the e-mail address that each has now. Only then "
        f"turn to new ones: where the old one is invalid, replace it by this one ({said}); where it is valid, keep it.",
        procedure=seq(any_order(*(seq(*look) for look in looks.values())),
                      any_order(*(seq(any_order(*fix[:2]), fix[2]) for fix in fixes.values()))),
        goal=ends(start, {name: replace(start.users[name], email=new[name]) for name in broken}),
        policies=[
            PASSWORD_FIRST,
            NO_LOCK,
            *seen_first(looked, new.values()),
        ],
        decoys={
            "replaced before the check": Decoy([*looked, found, stored, valid, *fixed[3:]], "out_of_order"),
            "replaced before all were seen": Decoy([*looks[broken[0]], *fixed[:3], *late, *fixed[3:]], "out_of_order"),
            "locked for a while": Decoy([*looked, *fixed, lock_user(broken[0]), unlock_user(broken[0])],
                                        "forbidden"),
        },
    )  # fmt: skip


@world.task
def name_or_proposal(pick: Pick) -> Task:
    """Register a user. If the wanted name is taken or invalid, validate and use the proposed name."""
    wanted, proposed = pick(("ann", "ann_2"), ("2fast", "u_2fast_2"), ("nora", None))
    email, password = pick("nora@example.org", "n.berg@example.com"), pick("Copper~Moon", "Silver~Lake")
    name, start, made = proposed or wanted, registry_of("ann", "bob"), hash_of(password)
    asked = suggest_username(wanted)
    new = result_of(asked, "name") if proposed else wanted
    tried = [validate_username(wanted)]
    steps: list[Procedure] = [*tried, seq(asked, validate_username(new))] if proposed else [*tried]
    tried += [asked, validate_username(name)] if proposed else []
    rest, last = checks(name, email, password)[1:], add_user(name, email, made)
    return Task(
        start=start,
        prompt=f"Register a new user with the e-mail address '{email}' and the password '{password}'. They are known "
        f"to be good, but go by the rules all the same. The name is to be '{wanted}'; if that is not valid or not "
        "free, use the name that is proposed for it.",
        procedure=seq(any_order(*steps, *rest), hash_password(password), add_user(new, email, with_hash(password))),
        goal=ends(start, {name: User(email, made)}),
        policies=[
            *all_first(name, email, password),
            hash_only(password),
            before(tried[0], hash_password.any(),
                   because="if that is not valid or not free, use the name that is proposed for it"),
        ],
        decoys={
            "hashed before the name": Decoy([*rest, hash_password(password), *tried, last], "out_of_order"),
            "plain text for a moment": Decoy(
                [*rest, *tried, add_user(name, email, password), hash_password(password), lock_user(name),
                 set_password(name, made), unlock_user(name)], "unlisted"),
        },
    )  # fmt: skip


@world.task
def swap_addresses(pick: Pick) -> Task:
    """Swap two users' addresses by way of a third address, so that the users never share one."""
    one, two = pick(("ann", "bob"), ("cid", "ann"))
    mail = {one: pick("first@example.com", "north@example.com"), two: pick("second@example.com", "south@example.com")}
    spare = pick("spare@example.com", "interim@example.com")
    start = registry_of(one, two, **{one: mail[two], two: mail[one]})
    addresses = [*mail.values(), spare]
    looked = [*map(validate_email, addresses), *map(find_user, addresses)]
    park = {name: update_email(name, spare) for name in mail}
    right = {name: update_email(name, mail[name]) for name in mail}
    return Task(
        start=start,
        prompt=f"By mistake user {one} has the address '{mail[two]}' and user {two} has '{mail[one]}': swap them. In "
        f"between one of them may have '{spare}'. Validate and look up all three addresses before you change any.",
        procedure=seq(any_order(*looked), choice(seq(park[one], right[two], right[one]),
                                                 seq(park[two], right[one], right[two]))),
        goal=ends(start, {name: replace(start.users[name], email=mail[name]) for name in mail}),
        policies=[
            PASSWORD_FIRST,
            *(before(look, update_email.any(), because="Validate and look up all three addresses before you change any")
              for look in looked),
        ],
        decoys={
            "shared for a moment": Decoy([*looked, right[one], park[two], right[two]], "out_of_order"),
            "validated on the way": Decoy([*looked[1:], park[one], looked[0], right[two], right[one]], "out_of_order"),
            "removed and added": Decoy(
                [*looked, park[one], right[two], remove_user(one), validate_username(one),
                 add_user(one, mail[one], start.users[one].hash)], "forbidden"),
        },
    )  # fmt: skip


@world.task
def end_of_shift(pick: Pick) -> Task:
    """Read the status to see what the last shift left behind, clean up, and read the status again."""
    name, locked = pick(("bob", "cid"), ("ann", "bob"))
    left = sorted(map(hash_of, pick(("Old-Guess-1", "Old-Guess-2"), ("Try-Again-77", "Try-Again-78"))))
    start = registry_of("ann", "bob", "cid")
    start.users[locked].locked = True
    start.waiting, start.signed_in = left, [name]
    status = read_status()
    out, unlock = sign_out(result_of(status, "signed_in.0")), unlock_user(result_of(status, "locked.0"))
    gone = [discard_hash(made) for made in left]
    writes = (sign_out.any(), unlock_user.any(), discard_hash.any())
    return Task(
        start=start,
        prompt="The shift is over. Read the status first. Sign out whoever is still signed in before you do anything "
        "else, then unlock who is locked and discard every hash that was not stored. Read the status again at the end.",
        procedure=seq(status, out, any_order(unlock, *gone), status),
        goal=ends(start, {locked: replace(start.users[locked], locked=False)}, waiting=[], signed_in=[]),
        policies=[
            PASSWORD_FIRST,
            NO_LOCK,
            *(before(status, write, because="Read the status first") for write in writes),
            *(after(write, status, because="Read the status again at the end") for write in writes),
            *(never(write, when=lambda registry: registry.signed_in,
                    because="Sign out whoever is still signed in before you do anything else") for write in writes[1:]),
        ],
        decoys={
            "signed out last": Decoy([status, unlock_user(locked), *gone, sign_out(name), status], "out_of_order"),
            "one hash before all else": Decoy([status, gone[0], sign_out(name), unlock_user(locked), gone[1], status],
                                              "out_of_order"),
            "the other one locked": Decoy([status, sign_out(name), lock_user(name), unlock_user(locked), *gone,
                                           unlock_user(name), status], "forbidden"),
        },
    )  # fmt: skip


@world.task
def leaked_passwords(pick: Pick) -> Task:
    """Set new passwords for two users and leave both locked. One of them must be signed out first."""
    online = pick("ann", "bob")
    new = {"ann": pick("Linen&Thread", "Maple&Birch"), "bob": pick("Stone*Bridge", "River*Stone")}
    start = registry_of(*new)
    start.signed_in = [online]
    status = read_status()
    calls = {}
    for name, password in new.items():
        locked = [*([sign_out(name)] if name == online else []), lock_user(name)]
        hashed = [validate_password(password), hash_password(password)]
        calls[name] = [*locked, *hashed, set_password(name, hash_of(password))]

    def renewed(*early: str) -> Procedure:
        """Return the steps if the passwords of the users in `early` are validated before the status is read."""
        ways = []
        for name, (*locked, check, hashing, _) in calls.items():
            made = seq(*([] if name in early else [check]), hashing)
            ways.append(seq(any_order(seq(*locked), made), set_password(name, with_hash(new[name]))))
        return seq(any_order(*(validate_password(new[name]) for name in early)), status, any_order(*ways))

    other = next(name for name in new if name != online)
    out, lock, check, hashing, stored = calls[online]
    return Task(
        start=start,
        prompt=f"The passwords of ann and bob have leaked. Read the status first, and sign out who of them is signed "
        f"in. Lock both, and set the password '{new['ann']}' for ann and '{new['bob']}' for bob. Leave both locked.",
        procedure=choice(renewed(), renewed("ann"), renewed("bob"), renewed("ann", "bob")),
        goal=ends(start, {name: replace(start.users[name], hash=hash_of(new[name]), locked=True) for name in new},
                  signed_in=[]),
        policies=[
            PASSWORD_FIRST,
            hash_only(*new.values()),
            *(before(status, call.any(), because="Read the status first") for call in (sign_out, lock_user,
                                                                                       hash_password)),
        ],
        decoys={
            "locked while signed in": Decoy([status, lock, out, check, hashing, stored, *calls[other]], "out_of_order"),
            "hashed before the check": Decoy([status, out, lock, hashing, check, stored, *calls[other]],
                                             "out_of_order"),
            "set before the lock": Decoy([status, *calls[other], out, check, hashing, stored, lock],
                                         "out_of_order"),
        },
    )  # fmt: skip


@world.task
def owner_asks(pick: Pick) -> Task:
    """Make a change only if the caller knows the password. Otherwise lock the user and do nothing else."""
    name, email = pick("cid", "ann"), pick("new.home@example.org", "moved@example.org")
    password = pick(PASSWORDS[name], "open-sesame!", PASSWORDS[name])
    start = registry_of("ann", "cid")
    proved, out = sign_in(name, password), sign_out(name)
    look, change = [validate_email(email), find_user(email)], update_email(name, email)
    first = "Try the password once, before all else"
    prompt = (
        f"Somebody calls, says that this is {name} with the password '{password}', and wants the address '{email}'. "
        "Try the password once, before all else. If it is right, change the address while the user is signed in, and "
        "sign the user out. If it is wrong, lock the user and leave it at that."
    )
    if password != PASSWORDS[name]:
        return Task(
            start=start,
            prompt=prompt,
            procedure=seq(proved, lock_user(name)),
            goal=ends(start, {name: replace(start.users[name], locked=True)}, failed={name: 1}),
            policies=[
                sign_in_only(name, password),
                before(proved, lock_user.any(), because=first),
                *(never(call.any(), because="lock the user and leave it at that")
                  for call in (update_email, unlock_user)),
            ],
            decoys={"locked and tried": Decoy([lock_user(name), unlock_user(name), proved, lock_user(name)],
                                              "out_of_order")},
        )  # fmt: skip
    return Task(
        start=start,
        prompt=prompt,
        procedure=seq(proved, any_order(*look), change, out),
        goal=ends(start, {name: replace(start.users[name], email=email)}),
        policies=[
            PASSWORD_FIRST,
            NO_LOCK,
            sign_in_only(name, password),
            needed(proved, because=first),
            *(before(proved, call.any(), because=first) for call in (validate_email, find_user, update_email)),
            before(change, out, because="change the address while the user is signed in"),
        ],
        decoys={
            "changed after signing out": Decoy([proved, *look, out, change], "out_of_order"),
            "tried again, to be sure": Decoy([proved, out, proved, *look, change, out], "out_of_order"),
            "changed before the check": Decoy([proved, look[1], change, look[0], out], "out_of_order"),
        },
    )
