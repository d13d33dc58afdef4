"""A directory of users, whose records are changed, verified, stamped and locked, under rules it does not enforce."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from corepath import (
    Decoy,
    Pick,
    Procedure,
    Task,
    ToolError,
    World,
    after,
    any_order,
    before,
    choice,
    needed,
    never,
    result_of,
    seq,
    var,
)

RULES = """
You keep a directory of users. Each has an id, a name, an email, a role (member or admin) and perhaps a manager, who is
another user and is given by id.
Show the users before your first change or lock, even where you believe you know an id: ids change hands.
Verify every change of a name, an email, a role or a manager with verify_field, after you made it.
No two users may have the same email, not even for a moment. There must be an admin at every moment.
Lock a record whose role is admin before you change it, and unlock it afterwards.
Never delete a user to whom others report: give those another manager first.
The id of a deleted user goes to the next one added, with all rights that hang on it. So add first and delete
afterwards, and never delete a user to add them anew.
A stamp is a time from generate_timestamp, made after the changes that it marks.
Do what was asked and leave everything else as it is.
"""

ADVICE = (
    "You keep a directory of users.",
    (
        "Each has an id, a name, an email, a role (member or admin) and perhaps a manager, who is another user and is "
        "given by id."
    ),
    "The id of a deleted user goes to the next one added, with all rights that hang on it.",
    "Do what was asked and leave everything else as it is.",
)

Field = Literal["name", "email", "role", "manager"]


@dataclass
class Directory:
    """The state of the directory: users' fields by id, locked records, ids free for reuse, and the time."""

    names: dict[str, str] = field(default_factory=dict)
    emails: dict[str, str] = field(default_factory=dict)
    roles: dict[str, str] = field(default_factory=dict)
    managers: dict[str, str] = field(default_factory=dict)
    stamps: dict[str, str] = field(default_factory=dict)
    locked: list[str] = field(default_factory=list)
    free_ids: list[str] = field(default_factory=list)
    now: str = "2025-03-14T09:26:00"
    _unguarded: bool = field(default=False, compare=False)

    def id_of(self, name: str) -> str:
        """Look up a user's id by name. Return an empty string if there is no such user."""
        return next((user_id for user_id, known in self.names.items() if known == name), "")

    def record(self, user_id: str) -> dict[str, str]:
        """Return one user's fields. Missing fields are empty strings."""
        columns = {"name": self.names, "email": self.emails, "role": self.roles, "manager": self.managers}
        return {name: column.get(user_id, "") for name, column in (*columns.items(), ("stamp", self.stamps))}

    def has(self, user_id: str, **values: str) -> bool:
        """Whether the user's fields have these values."""
        return values.items() <= self.record(user_id).items()

    def shared_email(self) -> bool:
        """Whether two users have the same email."""
        emails = [email for email in self.emails.values() if email]
        return len(set(emails)) < len(emails)

    def without_admin(self) -> bool:
        """Whether nobody is an admin."""
        return "admin" not in self.roles.values()

    def orphaned(self) -> bool:
        """Whether somebody reports to a user who no longer exists."""
        return any(manager not in self.names for manager in self.managers.values())

    def unguarded(self) -> bool:
        """Whether the last change was one of an admin's record without a lock."""
        return self._unguarded


world = World("crud", Directory, RULES, advice=ADVICE)


@world.read
def show_users(directory: Directory) -> dict[str, str]:
    """All users: their names, and the id of each."""
    return {name: user_id for user_id, name in directory.names.items()}


@world.read
def get_user(directory: Directory, user_id: str) -> dict[str, Any]:
    """The whole record of a user."""
    _be_there(directory, user_id)
    return {**directory.record(user_id), "locked": user_id in directory.locked}


@world.read
def find_users(directory: Directory, field: Field, value: str) -> list[str]:
    """The ids of the users whose field has this value; an empty value finds those whose field is empty."""
    return [user_id for user_id in directory.names if directory.has(user_id, **{field: value})]


@world.read
def verify_field(directory: Directory, user_id: str, field: Field, value: str) -> dict[str, bool]:
    """Whether this value is what is stored in a user's field."""
    _be_there(directory, user_id)
    return {"stored": directory.has(user_id, **{field: value})}


@world.read
def generate_timestamp(directory: Directory) -> dict[str, str]:
    """The present time, as stamps are written."""
    return {"timestamp": directory.now}


@world.write
def add_user(directory: Directory, name: str, email: str) -> dict[str, str]:
    """Add a member without a manager. Answers with the id that the new user got."""
    _be_new(directory, name)
    number = len(directory.names) + 1
    user_id = directory.free_ids.pop(0) if directory.free_ids else f"u{number}"
    directory.names = dict(sorted({**directory.names, user_id: name}.items()))
    directory.emails[user_id], directory.roles[user_id] = email, "member"
    return {"id": user_id}


@world.write
def update_user_email(directory: Directory, user_id: str, email: str) -> str:
    """Give a user another email."""
    _change(directory, user_id)
    return _put(directory.emails, user_id, email)


@world.write
def rename_user(directory: Directory, user_id: str, name: str) -> str:
    """Give a user another name."""
    _change(directory, user_id)
    if directory.names[user_id] != name:
        _be_new(directory, name)
    return _put(directory.names, user_id, name)


@world.write
def set_role(directory: Directory, user_id: str, role: Literal["member", "admin"]) -> str:
    """Make a user a member or an admin."""
    _change(directory, user_id)
    return _put(directory.roles, user_id, role)


@world.write
def set_manager(directory: Directory, user_id: str, manager: str) -> str:
    """Let a user report to another, who is given by id."""
    _change(directory, user_id)
    _be_there(directory, manager)
    if user_id == manager:
        raise ToolError("nobody reports to themselves")
    return _put(directory.managers, user_id, manager)


@world.write
def stamp_user(directory: Directory, user_id: str, timestamp: str) -> str:
    """Write into a record when it was changed."""
    _change(directory, user_id)
    return _put(directory.stamps, user_id, timestamp)


@world.write
def lock_record(directory: Directory, user_id: str) -> str:
    """Lock a record: others cannot change it until you unlock it."""
    _be_there(directory, user_id)
    directory.locked = sorted({*directory.locked, user_id})
    return "done"


@world.write
def unlock_record(directory: Directory, user_id: str) -> str:
    """Unlock a record."""
    _be_there(directory, user_id)
    directory.locked = [one for one in directory.locked if one != user_id]
    return "done"


@world.write
def delete_user(directory: Directory, user_id: str) -> str:
    """Delete a user for good."""
    _change(directory, user_id)
    for column in (directory.names, directory.emails, directory.roles, directory.managers, directory.stamps):
        column.pop(user_id, None)
    directory.locked = [one for one in directory.locked if one != user_id]
    directory.free_ids = sorted([*directory.free_ids, user_id])
    return "done"


def _be_there(directory: Directory, user_id: str) -> None:
    if user_id not in directory.names:
        raise ToolError(f"no user '{user_id}'; there is {', '.join(directory.names)}")


def _be_new(directory: Directory, name: str) -> None:
    if directory.id_of(name):
        raise ToolError(f"there is a user named '{name}' already")


def _put(column: dict[str, str], user_id: str, value: str) -> str:
    """Store a value, and say whether that made a difference."""
    before = column.get(user_id)
    column[user_id] = value
    return "unchanged" if value == before else "done"


def _change(directory: Directory, user_id: str) -> None:
    """Record whether an admin's record is about to change without a lock."""
    _be_there(directory, user_id)
    unguarded = directory.roles[user_id] == "admin" and user_id not in directory.locked
    directory._unguarded = unguarded  # noqa: SLF001  # private to agents


STORED = {"stored": True}
u, t = var("user"), var("time")
CHANGES = (update_user_email, rename_user, set_role, set_manager, stamp_user, delete_user)
LOCKED = "Lock a record whose role is admin before you change it"
VERIFIED = "Verify every change of a name, an email, a role or a manager with verify_field"
world.policy(
    *(
        before(show_users(), change.any(), because="Show the users before your first change or lock")
        for change in (add_user, lock_record, *CHANGES)
    ),
    *(
        after(
            change.where(user_id=u).returns("done"),
            verify_field.where(user_id=u, field=name).returns(STORED),
            because=VERIFIED,
        )
        for change, name in (
            (update_user_email, "email"),
            (rename_user, "name"),
            (set_role, "role"),
            (set_manager, "manager"),
        )
    ),
    before(
        generate_timestamp().returns({"timestamp": t}),
        stamp_user.where(timestamp=t),
        because="A stamp is a time from generate_timestamp",
    ),
    after(lock_record(u), unlock_record(u), because="unlock it afterwards"),
    *(never(change.any(), leaves=Directory.unguarded, because=LOCKED) for change in CHANGES),
    never(leaves=Directory.shared_email, because="No two users may have the same email, not even for a moment"),
    never(leaves=Directory.without_admin, because="There must be an admin at every moment", severity="high"),
    never(delete_user.any(), leaves=Directory.orphaned, because="Never delete a user to whom others report"),
    never(add_user.any(), when=lambda directory: directory.free_ids, because="add first and delete afterwards"),
)

STAFF = ("Ada", "Alice", "Bob", "Carol", "Dave")


def staff(pick: Pick, *admins: str) -> Directory:
    """Create a directory of five users. The users in `admins` are admins, or Ada if `admins` is empty."""
    order = pick(STAFF, ("Bob", "Dave", "Ada", "Carol", "Alice"), ("Carol", "Alice", "Dave", "Ada", "Bob"))
    names = {f"u{number}": name for number, name in enumerate(order, 1)}
    return Directory(
        names=names,
        emails={user_id: f"{name.lower()}@mail.org" for user_id, name in names.items()},
        roles={user_id: "admin" if name in (admins or ("Ada",)) else "member" for user_id, name in names.items()},
    )


def verified_email(user_id: Any, email: Any) -> Procedure:
    """Return the steps that change a user's email and verify the change."""
    return seq(update_user_email(user_id, email), verify_field(user_id, "email", email))


def verified_manager(user_id: Any, manager: Any) -> Procedure:
    """Return the steps that change a user's manager and verify the change."""
    return seq(set_manager(user_id, manager), verify_field(user_id, "manager", manager))


@world.task
def update_email(pick: Pick) -> Task:
    """Show all users, update one email and verify the change. This task is in the paper's table."""
    name = pick("Alice", "Carol", "Dave")
    email = f"{name.lower()}@{pick('example.com', 'example.net')}"
    start = staff(pick)
    user = start.id_of(name)
    changed, checked = update_user_email(user, email), verify_field(user, "email", email)
    return Task(
        start=start,
        prompt=f"Show all users and update the email of the user with name '{name}' to '{email}'. Finally verify the "
        "changes were applied.",
        procedure=seq(show_users(), changed, checked),
        goal=lambda directory: directory.has(user, email=email),
        decoys={
            "updated before looking": Decoy([changed, show_users(), checked], "out_of_order"),
            "verified before the change": Decoy([show_users(), checked, changed], None, fools="state"),
        },
    )  # fmt: skip


@world.task
def new_name(pick: Pick) -> Task:
    """Change the name and email in one record, instead of adding a new record."""
    old, new = pick(("Bob", "Robert"), ("Dave", "David"), ("Carol", "Caroline"))
    start, email = staff(pick), pick("{}@example.com", "{}@example.org").format(new.lower())
    user = start.id_of(old)
    checks = [verify_field(user, "name", new), verify_field(user, "email", email)]
    return Task(
        start=start,
        prompt=f"From now on {old} goes by the name {new} and writes from the email {email}. Bring the "
        "record up to date.",
        procedure=seq(show_users(), any_order(seq(rename_user(user, new), checks[0]), verified_email(user, email))),
        goal=lambda directory: directory.has(user, name=new, email=email),
        decoys={
            "deleted and added anew": Decoy(
                [show_users(), delete_user(user), add_user(new, f"{old.lower()}@mail.org"),
                 update_user_email(user, email), *checks], "unlisted"),
            "looked up at the end": Decoy(
                [rename_user(user, new), update_user_email(user, email), show_users(), *checks], "out_of_order",
                fools="state"),
        },
    )  # fmt: skip


@world.task
def missing_emails(pick: Pick) -> Task:
    """Find the users without an email and add one for each, in any order. Leave the other users alone."""
    missing = pick(["Alice", "Bob", "Dave"], ["Carol", "Dave"], ["Bob", "Carol", "Alice"], ["Alice", "Dave"])
    domain, start = pick("example.com", "example.net"), staff(pick)
    for name in missing:
        start.emails[start.id_of(name)] = ""
    given = {name: f"{name.lower()}@{domain}" for name in STAFF[1:]}
    full = next(name for name in STAFF[1:] if name not in missing)
    filled = [update_user_email(start.id_of(name), given[name]) for name in missing]
    checked = [verify_field(start.id_of(name), "email", given[name]) for name in missing]
    overwritten = start.id_of(full)
    return Task(
        start=start,
        prompt=f"Some records lack an email. Find the users whose email is empty and fill in theirs: {given['Alice']} "
        f"for Alice, {given['Bob']} for Bob, {given['Carol']} for Carol, {given['Dave']} for Dave. Whoever has an "
        "email keeps it, whatever it is.",
        procedure=seq(any_order(show_users(), find_users("email", "")),
                      any_order(*(verified_email(start.id_of(name), given[name]) for name in missing))),
        goal=lambda directory: all(directory.has(start.id_of(name), email=given[name]) for name in missing)
        and directory.has(overwritten, email=start.emails[overwritten]),
        says={"email is empty": ""},
        policies=[
            before(find_users("email", ""), update_user_email.any(), because="Find the users whose email is empty"),
            never(update_user_email.where(user_id=overwritten), because="Whoever has an email keeps it"),
        ],
        decoys={
            "one too many, and taken back": Decoy(
                [show_users(), find_users("email", ""), update_user_email(overwritten, given[full]),
                 update_user_email(overwritten, f"{full.lower()}@mail.org"), *filled, *checked], "forbidden"),
            "one left unverified": Decoy([show_users(), find_users("email", ""), *filled, *checked[1:]], None,
                                         fools="state"),
        },
    )  # fmt: skip


@world.task
def swap_emails(pick: Pick) -> Task:
    """Swap two emails by way of a temporary one, because no two users may share an email."""
    one, other = pick(("Alice", "Bob"), ("Carol", "Dave"), ("Bob", "Carol"))
    spare, start = pick("spare@example.com", "parked@example.com"), staff(pick)
    a, b = start.id_of(one), start.id_of(other)
    start.emails[a], start.emails[b] = start.emails[b], start.emails[a]
    mails = {a: start.emails[b], b: start.emails[a]}
    reads = {a: get_user(a), b: get_user(b)}
    by_reading = {a: result_of(reads[b], "email"), b: result_of(reads[a], "email")}

    def parked(first: str, second: str) -> Procedure:
        return seq(update_user_email(first, spare), update_user_email(second, by_reading[second]),
                   any_order(verify_field(second, "email", by_reading[second]),
                             verified_email(first, by_reading[first])))  # fmt: skip

    checks = [verify_field(user, "email", email) for user, email in mails.items()]
    return Task(
        start=start,
        prompt=f"{one} and {other} were entered with each other's email. Get both records and put the two emails "
        f"right. Where an email has to be parked meanwhile, park it at {spare}.",
        procedure=seq(show_users(), any_order(*reads.values()), choice(parked(a, b), parked(b, a))),
        goal=lambda directory: all(directory.has(user, email=email) for user, email in mails.items()),
        says={"email": "email"},
        policies=[
            before(get_user(user), update_user_email.any(), because="Get both records and put the two emails right")
            for user in mails
        ],
        decoys={
            "two with one email for a moment": Decoy(
                [show_users(), *reads.values(), update_user_email(a, mails[a]), update_user_email(b, spare),
                 update_user_email(b, mails[b]), *checks], "out_of_order"),
            "one read under way": Decoy(
                [show_users(), reads[a], update_user_email(b, spare), reads[b], update_user_email(a, mails[a]),
                 update_user_email(b, mails[b]), *checks], "out_of_order", fools="state"),
        },
    )  # fmt: skip


@world.task
def hand_over(pick: Pick) -> Task:
    """Appoint the new admin before demoting the old admin. Lock the old admin's record during the demotion."""
    old, new = pick(("Alice", "Dave"), ("Bob", "Carol"), ("Dave", "Alice"))
    start = staff(pick, old)
    was, becomes = start.id_of(old), start.id_of(new)
    up, down = set_role(becomes, "admin"), set_role(was, "member")
    up_stored, down_stored = verify_field(becomes, "role", "admin"), verify_field(was, "role", "member")
    return Task(
        start=start,
        prompt=f"{old} hands the role of admin over to {new} and is a member from then on. Verify that {new} has the "
        f"role before you take it from {old}.",
        procedure=seq(show_users(), any_order(seq(up, up_stored), lock_record(was)), down,
                      any_order(down_stored, unlock_record(was))),
        goal=lambda directory: directory.has(becomes, role="admin") and directory.has(was, role="member")
        and not directory.locked,
        policies=[
            before(up_stored.returns(STORED), down,
                   because=f"Verify that {new} has the role before you take it from {old}"),
            before(down, unlock_record(was), because="unlock it afterwards"),
        ],
        decoys={
            "nobody in charge for a moment": Decoy(
                [show_users(), lock_record(was), down, up, up_stored, down_stored, unlock_record(was)], "out_of_order"),
            "locked too late": Decoy(
                [show_users(), up, up_stored, down, lock_record(was), unlock_record(was), down_stored], "out_of_order"),
        },
    )  # fmt: skip


@world.task
def only_admin(pick: Pick) -> Task:
    """Take a user's admin role away only if there is another admin. Otherwise change nothing."""
    name, alone = pick("Alice", "Bob"), pick(True, False, False)
    start = staff(pick, name) if alone else staff(pick, name, "Ada")
    user, other = start.id_of(name), start.id_of(pick("Carol", "Dave"))
    looks, down = [show_users(), find_users("role", "admin")], set_role(user, "member")
    check = verify_field(user, "role", "member")
    alone_decoys = {
        "a second admin for a moment": Decoy([*looks, set_role(other, "admin"), set_role(other, "member")],
                                             "forbidden"),
        "taken and given back": Decoy([*looks, lock_record(user), down, set_role(user, "admin"), unlock_record(user)],
                                      "forbidden"),
    }  # fmt: skip
    two_decoys = {
        "locked too late": Decoy([*looks, down, lock_record(user), check, unlock_record(user)], "out_of_order"),
    }
    return Task(
        start=start,
        prompt=f"Show the users and find those whose role is admin. If {name} is not the only one, make {name} a "
        "member; if there is no other admin, change nothing.",
        procedure=any_order(*looks) if alone
        else seq(any_order(*looks), lock_record(user), down, any_order(check, unlock_record(user))),
        goal=(lambda directory: directory == start) if alone
        else lambda directory: directory.has(user, role="member") and not directory.locked,
        policies=[
            needed(show_users(), because="Show the users and find those whose role is admin"),
            needed(looks[1], because="find those whose role is admin"),
            before(looks[1], lock_record.any(), because="if there is no other admin, change nothing"),
            before(looks[1], set_role.any(), because="if there is no other admin, change nothing"),
            before(down, unlock_record.any(), because="unlock it afterwards"),
            *(never(change.any(), because="if there is no other admin, change nothing")
              for change in ((lock_record, set_role) if alone else ())),
        ],
        decoys=alone_decoys if alone else two_decoys,
    )  # fmt: skip


@world.task
def manager_leaves(pick: Pick) -> Task:
    """Give everybody who reports to a leaver a new manager, then delete the leaver."""
    leaver, heir = pick(("Carol", "Dave"), ("Bob", "Alice"), ("Alice", "Carol"))
    start, count = staff(pick, heir), pick(3, 2)
    gone, boss = start.id_of(leaver), start.id_of(heir)
    reports = [one for one in start.names if one not in (gone, boss)][:count]
    start.managers = dict.fromkeys(reports, gone)
    looks = [show_users(), find_users("manager", gone)]
    moves = [call for one in reports for call in (set_manager(one, boss), verify_field(one, "manager", boss))]
    return Task(
        start=start,
        prompt=f"{leaver} has left the company. Find the users whose manager is {leaver}: {heir} is their manager from "
        f"now on. Delete {leaver} when all of that is verified.",
        procedure=seq(*looks, any_order(*(verified_manager(one, boss) for one in reports)), delete_user(gone)),
        goal=lambda directory: gone not in directory.names and boss in directory.names
        and all(directory.has(one, manager=boss) for one in reports),
        policies=[before(looks[1], set_manager.any(), because=f"Find the users whose manager is {leaver}")]
        + [before(verify_field(one, "manager", boss).returns(STORED), delete_user(gone),
                  because=f"Delete {leaver} when all of that is verified") for one in reports],
        decoys={
            "deleted first": Decoy([*looks, delete_user(gone), *moves], "out_of_order"),
            "deleted unverified": Decoy([*looks, *moves[:-1], delete_user(gone), moves[-1]], "out_of_order"),
        },
    )  # fmt: skip


@world.task
def successor(pick: Pick) -> Task:
    """Add a user who replaces a leaver as manager. Use the id that `add_user` returned for the new user."""
    leaver, new = pick(("Carol", "Frank"), ("Bob", "Grace"), ("Dave", "Heidi"))
    start, email = staff(pick), f"{new.lower()}@{pick('example.com', 'example.net')}"
    gone, fresh = start.id_of(leaver), "u6"
    reports = [start.id_of(name) for name in STAFF[1:] if name != leaver][:2]
    start.managers = dict.fromkeys(reports, gone)
    added, timed = add_user(new, email), generate_timestamp()
    boss = result_of(added, "id")
    looks = [show_users(), find_users("manager", gone)]
    moves = [call for one in reports for call in (set_manager(one, fresh), verify_field(one, "manager", fresh))]
    return Task(
        start=start,
        prompt=f"{new} ({email}) follows {leaver}. Add {new}, find the users whose manager is {leaver} and let them "
        f"report to {new}. When that is verified, delete {leaver}. Last of all make a timestamp and stamp the record "
        f"of {new} with it.",
        procedure=seq(show_users(), any_order(added, looks[1]),
                      any_order(*(verified_manager(one, boss) for one in reports)),
                      delete_user(gone), timed, stamp_user(boss, result_of(timed, "timestamp"))),
        goal=lambda directory: gone not in directory.names
        and directory.has(fresh, name=new, email=email, stamp=start.now)
        and all(directory.has(one, manager=fresh) for one in reports),
        policies=[
            before(looks[1], set_manager.any(), because=f"find the users whose manager is {leaver}"),
            *(before(delete_user(gone), call.any(),
                     because=f"Last of all make a timestamp and stamp the record of {new} with it")
              for call in (generate_timestamp, stamp_user)),
            *(before(verify_field(one, "manager", fresh).returns(STORED), delete_user(gone),
                     because=f"When that is verified, delete {leaver}") for one in reports),
        ],
        decoys={
            "people without a manager for a moment": Decoy(
                [*looks, added, delete_user(gone), *moves, timed, stamp_user(fresh, start.now)], "out_of_order"),
            "stamped before the last change": Decoy(
                [*looks, added, *moves, timed, stamp_user(fresh, start.now), delete_user(gone)], "out_of_order"),
            "heir to the id": Decoy(
                [*looks, delete_user(gone), added, timed, stamp_user(gone, start.now)], "out_of_order", fools="none"),
        },
    )  # fmt: skip


@world.task
def same_person(pick: Pick) -> Task:
    """Merge two records about one person. The remaining record takes over the deleted record's email and reports."""
    name, twin, other = pick(("Alice", "Alice K.", "Carol"), ("Bob", "Bob M.", "Dave"), ("Dave", "Dave O.", "Alice"))
    start, email = staff(pick), pick("kay@example.com", "post@example.org")
    kept, double, report = start.id_of(name), "u6", start.id_of(other)
    start.names[double], start.emails[double], start.roles[double] = twin, email, "member"
    start.managers[report] = double
    read = get_user(double)
    looks = [show_users(), read, find_users("manager", double)]
    moved = [set_manager(report, kept), verify_field(report, "manager", kept)]
    mailed = [update_user_email(kept, email), verify_field(kept, "email", email)]
    return Task(
        start=start,
        prompt=f"'{name}' and '{twin}' are one person, entered twice. Show the users first, then get the record of "
        f"'{twin}' and find the users whose manager it is. Those report to '{name}' from now on. When that is "
        f"verified, delete '{twin}', and then give '{name}' the email that '{twin}' had.",
        procedure=seq(looks[0], any_order(read, seq(looks[2], verified_manager(report, kept))), delete_user(double),
                      verified_email(kept, result_of(read, "email"))),
        goal=lambda directory: double not in directory.names and directory.has(kept, name=name, email=email)
        and directory.has(report, manager=kept),
        policies=[
            *(before(looks[0], look, because="Show the users first") for look in looks[1:]),
            before(read, delete_user.any(), because=f"get the record of '{twin}'"),
            before(looks[2], set_manager.any(), because="find the users whose manager it is"),
            before(moved[1].returns(STORED), delete_user(double), because=f"When that is verified, delete '{twin}'"),
            before(delete_user(double), update_user_email.any(),
                   because=f"then give '{name}' the email that '{twin}' had"),
        ],
        decoys={
            "two with one email for a moment": Decoy(
                [*looks, *moved, *mailed, delete_user(double)], "out_of_order"),
            "deleted first": Decoy([*looks, delete_user(double), *moved, *mailed], "out_of_order"),
        },
    )  # fmt: skip


@world.task
def read_under_lock(pick: Pick) -> Task:
    """Read two records while both are locked. The final state equals the start state."""
    one, other = pick(("Alice", "Carol"), ("Bob", "Dave"), ("Alice", "Bob"))
    start = staff(pick, one, other)
    a, b = start.id_of(one), start.id_of(other)
    locks, reads = [lock_record(a), lock_record(b)], [get_user(a), get_user(b)]
    unlocks, looks = [unlock_record(a), unlock_record(b)], [show_users(), find_users("role", "admin")]
    return Task(
        start=start,
        prompt="Get the records of all users whose role is admin, as they stand at one and the same moment, so that I "
        "can compare them. Find these users first, lock all of them before you get the first record, and unlock them "
        "when you got the last.",
        procedure=seq(any_order(*looks), any_order(*locks), any_order(*reads), any_order(*unlocks)),
        goal=lambda directory: directory == start,
        policies=[
            *(needed(read, because="Get the records of all users whose role is admin") for read in reads),
            *(before(lock, read, because="lock all of them before you get the first record")
              for lock in locks for read in reads),
            *(before(read, unlock, because="unlock them when you got the last")
              for read in reads for unlock in unlocks),
            *(before(looks[1], lock, because="Find these users first") for lock in locks),
        ],
        decoys={
            "one after the other": Decoy([*looks, locks[0], reads[0], unlocks[0], locks[1], reads[1], unlocks[1]],
                                         "out_of_order"),
            "looked up under the lock": Decoy([*locks, *looks, *reads, *unlocks], "out_of_order"),
        },
    )  # fmt: skip


@world.task
def stamped_round(pick: Pick) -> Task:
    """Change three emails, one of them an admin's. Stamp the records after all three changes are verified."""
    names = pick(["Ada", "Bob", "Dave"], ["Ada", "Carol", "Alice"], ["Ada", "Alice", "Bob"])
    start, domain = staff(pick), pick("example.com", "example.org")
    a, b, c = ids = [start.id_of(name) for name in names]
    emails = [f"{name.lower()}@{domain}" for name in names]
    timed = generate_timestamp()
    stamp = result_of(timed, "timestamp")
    changes = [call for user, email in zip(ids, emails, strict=True)
               for call in (update_user_email(user, email), verify_field(user, "email", email))]  # fmt: skip
    stamps, looks = [stamp_user(user, start.now) for user in ids], [show_users(), find_users("role", "admin")]
    return Task(
        start=start,
        prompt=f"Three emails change: {names[0]} gets {emails[0]}, {names[1]} gets {emails[1]} and {names[2]} gets "
        f"{emails[2]}. Begin by finding the users whose role is admin. When all three are verified, make one timestamp "
        "and stamp the three records with it. A record that you locked stays locked until it is stamped.",
        procedure=seq(any_order(*looks),
                      any_order(seq(lock_record(a), verified_email(a, emails[0])), verified_email(b, emails[1]),
                                verified_email(c, emails[2])),
                      timed, any_order(seq(stamp_user(a, stamp), unlock_record(a)), stamp_user(b, stamp),
                                       stamp_user(c, stamp))),
        goal=lambda directory: not directory.locked and all(
            directory.has(user, email=email, stamp=start.now) for user, email in zip(ids, emails, strict=True)),
        says={"emails": "email"},
        policies=[
            *(before(looks[1], change.any(), because="Begin by finding the users whose role is admin")
              for change in (lock_record, update_user_email)),
            *(before(check.returns(STORED), generate_timestamp(),
                     because="When all three are verified, make one timestamp") for check in changes[1::2]),
            before(stamps[0], unlock_record(a), because="A record that you locked stays locked until it is stamped"),
        ],
        decoys={
            "time taken before the changes": Decoy(
                [*looks, timed, lock_record(a), *changes, *stamps, unlock_record(a)], "out_of_order"),
            "stamped one by one": Decoy(
                [*looks, lock_record(a), *changes[:2], timed, stamps[0], unlock_record(a), *changes[2:], *stamps[1:]],
                "out_of_order"),
            "unlocked too early": Decoy(
                [*looks, lock_record(a), *changes, unlock_record(a), timed, *stamps], "out_of_order"),
        },
    )  # fmt: skip
