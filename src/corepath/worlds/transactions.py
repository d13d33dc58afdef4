"""A bank's counter: accounts, transfers, fees, interest and holds, in a system that books whatever is entered."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from corepath import (
    Decoy,
    Pick,
    Procedure,
    Rule,
    Task,
    ToolError,
    World,
    after,
    any_order,
    approx,
    before,
    choice,
    needed,
    never,
    result_of,
    seq,
    var,
)

RULES = """
You are a clerk in a small bank. Its system books nearly whatever you enter; the rules keep the money safe.
Authorise an account before you transfer money out of it, and revoke the authorisation when its transfers are done.
Deposits, fees, interest and holds need no authorisation.
No balance may fall below zero, not even for one call. No balance may fall below what is on hold.
A transfer above the account's limit needs an approval of that amount. Where there is none, request it and do not send.
Enter an amount in one go, never in parts. Never change a limit yourself.
A payment that went wrong goes back the way it came before it is sent again.
Before you empty an account, pay its interest, then read its balance.
Do what was asked and leave everything else as it is.
"""
ADVICE = (
    "You are a clerk in a small bank.",
    "Its system books nearly whatever you enter; the rules keep the money safe.",
    "Deposits, fees, interest and holds need no authorisation.",
    "Do what was asked and leave everything else as it is.",
)


@dataclass
class Bank:
    """The state of the bank: balances, limits, holds, approvals and authorisations, and cash and fees received."""

    balance: dict[str, float] = field(default_factory=dict)
    limit: dict[str, float] = field(default_factory=dict)
    held: dict[str, float] = field(default_factory=dict)
    approved: dict[str, float] = field(default_factory=dict)
    interest: dict[str, float] = field(default_factory=dict)
    requested: dict[str, list[float]] = field(default_factory=dict)
    authorised: list[str] = field(default_factory=list)
    cash: float = 0.0
    fees: float = 0.0
    _entries: list[str] = field(default_factory=list)
    _breaches: list[str] = field(default_factory=list)

    def like(self, other: Bank) -> bool:
        """Whether all public fields equal those in `other`, with amounts compared to the cent."""
        return all(alike(value, getattr(other, name)) for name, value in vars(self).items() if name[0] != "_")

    def book(self, entry: str, *breaches: str) -> None:
        """Record an entry, and which rules it broke."""
        self._entries = sorted([*self._entries, entry])
        self._breaches = sorted({*self._breaches, *breaches})

    def forget(self, account: str) -> None:
        """Remove an account from the books."""
        for part in (self.balance, self.limit, self.approved, self.interest):
            part.pop(account, None)

    def unauthorised(self) -> bool:
        """Whether money was sent from an account that was not authorised."""
        return "unauthorised" in self._breaches

    def over_limit(self) -> bool:
        """Whether a transfer exceeded both the account's limit and any approved amount."""
        return "over the limit" in self._breaches

    def in_parts(self) -> bool:
        """Whether a transfer, deposit or fee was booked twice for the same accounts."""
        return len(set(self._entries)) < len(self._entries)

    def overdrawn(self) -> bool:
        """Whether a balance is below zero."""
        return any(balance < -0.005 for balance in self.balance.values())

    def hold_touched(self) -> bool:
        """Whether a balance is below the amount on hold."""
        return any(self.balance[account] < held - 0.005 for account, held in self.held.items())


def close(one: float, other: float) -> bool:
    """Whether two amounts are equal within a cent."""
    return abs(one - other) < 0.01


def alike(one: Any, other: Any) -> bool:
    """Whether two values are equal, with amounts compared to the cent."""
    if isinstance(one, float | int):
        return close(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(alike(value, other[name]) for name, value in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(alike, one, other))
    return bool(one == other)


LIMIT = 1000.0

world = World("transactions", Bank, RULES, advice=ADVICE)


@world.read
def check_balance(bank: Bank, account: str) -> dict[str, float]:
    """What is on an account."""
    _known(bank, account)
    return {"balance": bank.balance[account]}


@world.read
def get_account(bank: Bank, account: str) -> dict[str, float]:
    """Of an account: what is on hold, its limit, the amount approved beyond it (0 if none), and the interest due."""
    _known(bank, account)
    return {
        "on_hold": bank.held.get(account, 0.0),
        "limit": bank.limit[account],
        "approved": bank.approved.get(account, 0.0),
        "interest_due": bank.interest.get(account, 0.0),
    }


@world.read
def quote_fee(bank: Bank, amount: float) -> dict[str, float]:
    """The fee that the bank takes for sending that amount."""
    return {"fee": round(0.005 * _positive(amount), 2)}


@world.write
def create_account(bank: Bank, account: str) -> str:
    """Open a new account with nothing on it."""
    if account in bank.balance or not account:
        raise ToolError(f"'{account}' cannot be created: there is one, or it is no name")
    bank.balance[account], bank.limit[account] = 0.0, LIMIT
    return "done"


@world.write
def close_account(bank: Bank, account: str) -> str:
    """Close an account for good. Nothing may be on it, nothing on hold, and no authorisation open."""
    _known(bank, account)
    if not close(bank.balance[account], 0) or account in bank.held or account in bank.authorised:
        raise ToolError(f"'{account}' is not empty, has a hold on it or is still authorised")
    bank.forget(account)
    return "done"


@world.write
def authorise(bank: Bank, account: str) -> str:
    """Open an authorisation: the customer has agreed that money leaves the account."""
    _known(bank, account)
    bank.authorised = sorted({*bank.authorised, account})
    return "done"


@world.write
def revoke(bank: Bank, account: str) -> str:
    """End the authorisation of an account."""
    _known(bank, account)
    bank.authorised = [one for one in bank.authorised if one != account]
    return "done"


@world.write
def deposit(bank: Bank, account: str, amount: float) -> str:
    """Put cash on an account."""
    _add(bank, account, _positive(amount))
    bank.cash = round(bank.cash + amount, 6)
    bank.book(f"deposit {account}")
    return "done"


@world.write
def transfer(bank: Bank, source: str, target: str, amount: float) -> str:
    """Send an amount from one account to another."""
    if source == target:
        raise ToolError("source and target are the same account")
    _add(bank, source, -_positive(amount))
    _add(bank, target, amount)
    breaches = [] if source in bank.authorised else ["unauthorised"]
    if amount > max(bank.limit[source], bank.approved.get(source, 0.0)) + 0.005:
        breaches.append("over the limit")
    bank.book(f"transfer {source} {target}", *breaches)
    return "done"


@world.write
def charge_fee(bank: Bank, account: str, amount: float) -> str:
    """Take a fee from an account."""
    _add(bank, account, -_positive(amount))
    bank.fees = round(bank.fees + amount, 6)
    bank.book(f"fee {account}")
    return "done"


@world.write
def pay_interest(bank: Bank, account: str) -> str:
    """Add the interest that is due to an account's balance."""
    _add(bank, account, bank.interest.pop(account, 0.0))
    return "done"


@world.write
def place_hold(bank: Bank, account: str, amount: float) -> str:
    """Put a part of the balance on hold. There can be one hold on an account."""
    _known(bank, account)
    if account in bank.held or _positive(amount) > bank.balance[account]:
        raise ToolError(f"there is a hold on '{account}' already, or its balance is too small")
    bank.held[account] = amount
    return "done"


@world.write
def release_hold(bank: Bank, account: str) -> str:
    """Take the hold off an account, all of it."""
    _known(bank, account)
    bank.held.pop(account, None)
    return "done"


@world.write
def request_approval(bank: Bank, account: str, amount: float) -> str:
    """Ask the head office to approve one transfer of that amount from an account. It answers within a day."""
    _known(bank, account)
    asked = bank.requested.get(account, [])
    if not any(close(_positive(amount), one) for one in asked):
        bank.requested[account] = sorted([*asked, amount])
    return "done"


@world.write
def set_limit(bank: Bank, account: str, limit: float) -> str:
    """Set the largest amount that may be sent from an account at once. For the head office."""
    _known(bank, account)
    bank.limit[account] = _positive(limit)
    return "done"


def _known(bank: Bank, account: str) -> None:
    if account not in bank.balance:
        raise ToolError(f"no account '{account}'; there is {', '.join(bank.balance) or 'none'}")


def _positive(amount: float) -> float:
    if amount <= 0:
        raise ToolError(f"an amount is more than 0, not {amount}")
    return amount


def _add(bank: Bank, account: str, amount: float) -> None:
    _known(bank, account)
    bank.balance[account] = round(bank.balance[account] + amount, 6)


a = var("account")
world.policy(
    after(authorise(a), revoke(a), because="revoke the authorisation when its transfers are done"),
    before(transfer.where(source=a), revoke(a), because="revoke the authorisation when its transfers are done"),
    never(transfer.any(), leaves=Bank.unauthorised, because="Authorise an account before you transfer money out of it"),
    never(transfer.any(), leaves=Bank.over_limit,
          because="A transfer above the account's limit needs an approval of that amount"),
    never(leaves=Bank.in_parts, because="Enter an amount in one go, never in parts"),
    never(leaves=Bank.overdrawn, because="No balance may fall below zero, not even for one call"),
    never(leaves=Bank.hold_touched, because="No balance may fall below what is on hold"),
    never(set_limit.any(), because="Never change a limit yourself", severity="high"),
)  # fmt: skip
_DO_NOT_SEND = "request it and do not send"


def bank_with(**balance: float) -> Bank:
    """Create a bank with these accounts and balances. Every account has the usual limit."""
    return Bank(balance, dict.fromkeys(balance, LIMIT))


def ends(start: Bank, balances: dict[str, float | None], **fields: Any) -> Callable[[Bank], bool]:
    """Return a goal that holds if the bank equals `start` with these balances and fields replaced.

    A balance of None means that the account is closed.
    """
    end = deepcopy(start)
    for account, balance in balances.items():
        if balance is None:
            end.forget(account)
        else:
            end.balance[account] = balance
            end.limit.setdefault(account, LIMIT)
    for name, value in fields.items():
        setattr(end, name, value)
    return end.like


def sent(source: str, target: str, amount: Any) -> Procedure:
    """Return the steps that authorise an account, transfer money from it and revoke the authorisation."""
    return seq(authorise(source), transfer(source, target, amount), revoke(source))


def revoked_last(source: str, *targets: str) -> list[Rule]:
    """Return policies that forbid revoking the authorisation for `source` before it has paid all `targets`."""
    because = "revoke the authorisation when its transfers are done"
    return [before(transfer.where(source=source, target=target), revoke(source), because=because) for target in targets]


@world.task
def fee_after_deposit(pick: Pick) -> Task:
    """Charge a fee, which is possible only after the deposit. This task is in the paper's table."""
    account, amount, fee = pick("A123", "K7", "Z900"), pick(100, 80, 250), pick(50, 12, 20)
    return Task(
        prompt=f"Create account '{account}', deposit {amount}, charge a fee of {fee}, and check the balance.",
        procedure=seq(create_account(account), deposit(account, approx(amount)), charge_fee(account, approx(fee)),
                      check_balance(account)),
        goal=ends(Bank(), {account: amount - fee}, cash=amount, fees=fee),
        policies=[after(charge_fee.where(account=account), check_balance(account), because="and check the balance")],
        decoys={
            "fee first": Decoy([create_account(account), charge_fee(account, fee), deposit(account, amount),
                                check_balance(account)], "out_of_order"),
            "deposit in two parts": Decoy([create_account(account), deposit(account, amount / 2),
                                           deposit(account, amount / 2), charge_fee(account, fee),
                                           check_balance(account)], "wrong_argument"),
        },
    )  # fmt: skip


@world.task
def over_limit(pick: Pick) -> Task:
    """Send an amount above the limit only if it is already approved. If it is not, request approval."""
    amount, approved = pick(500, 800), pick(False, True)
    start = bank_with(A100=2000.0, B200=100.0)
    start.limit["A100"] = 300.0
    start.approved = {"A100": amount} if approved else {}
    look, half = get_account("A100"), amount / 2
    there = [authorise("A100"), transfer("A100", "B200", half), transfer("A100", "B200", half), revoke("A100")]
    back = [authorise("B200"), transfer("B200", "A100", amount), revoke("B200")]
    asked_decoys = {
        "limit raised and lowered again": Decoy([look, set_limit("A100", amount), set_limit("A100", 300.0),
                                                 request_approval("A100", amount)], "forbidden"),
        "two halves sent and fetched back": Decoy([look, *there, *back, request_approval("A100", amount)], "unlisted"),
    }  # fmt: skip
    sent_decoys = {
        "in two halves all the same": Decoy([look, *there], "wrong_argument"),
        "authorised afterwards": Decoy([look, transfer("A100", "B200", amount), authorise("A100"), revoke("A100")],
                                       "out_of_order"),
    }  # fmt: skip
    paid = ends(start, {"A100": 2000.0 - amount, "B200": 100.0 + amount})
    return Task(
        start=start,
        prompt=f"'A100' wants to send {amount} to 'B200'. Look at the account before you do anything. If neither its "
        "limit nor an approval covers the amount, request the approval and leave it at that.",
        procedure=seq(look, sent("A100", "B200", approx(amount)) if approved else
                      request_approval("A100", approx(amount))),
        goal=paid if approved else ends(start, {}, requested={"A100": [float(amount)]}),
        policies=[
            *(before(look, call.any(), because="Look at the account before you do anything")
              for call in (request_approval, authorise)),
            *([] if approved else [never(transfer.any(), because=_DO_NOT_SEND)]),
        ],
        decoys=sent_decoys if approved else asked_decoys,
    )  # fmt: skip


def split_at_limit(bills: dict[str, int], limit: int) -> tuple[dict[str, int], list[float]]:
    """Return the bills that are within the limit, and the amounts of the others in ascending order."""
    paid = {target: amount for target, amount in bills.items() if amount <= limit}
    return paid, sorted(float(amount) for amount in bills.values() if amount > limit)


@world.task
def three_bills(pick: Pick) -> Task:
    """Pay the bills that are within the limit, and request approval for the others."""
    bills = dict(zip(["B200", "C300", "D400"], pick([200, 450, 620], [700, 150, 300], [80, 260, 410]), strict=True))
    limit = pick(500, 280)
    start = bank_with(A100=3000.0, B200=0.0, C300=0.0, D400=0.0)
    start.limit["A100"] = limit
    paid, asked = split_at_limit(bills, limit)
    look, payments = get_account("A100"), [transfer("A100", target, amount) for target, amount in paid.items()]
    requests = [request_approval("A100", amount) for amount in asked]
    listed = ", ".join(f"{amount} to '{target}'" for target, amount in bills.items())
    return Task(
        start=start,
        prompt=f"'A100' has three bills to pay: {listed}. Read its limit before you begin. Pay the bills that are "
        "within it, and request an approval for each of the others.",
        procedure=seq(look, any_order(
            *(request_approval("A100", approx(amount)) for amount in asked),
            seq(authorise("A100"), any_order(*(transfer("A100", to, approx(sum_)) for to, sum_ in paid.items())),
                revoke("A100")))),
        goal=ends(start, {"A100": 3000.0 - sum(paid.values()), **paid}, requested={"A100": asked} if asked else {}),
        policies=[
            *(before(look, call.any(), because="Read its limit before you begin")
              for call in (request_approval, authorise)),
            *revoked_last("A100", *paid),
            *(never(transfer.where(target=target), because=_DO_NOT_SEND) for target in bills if target not in paid),
        ],
        decoys={
            "revoked too early": Decoy([look, authorise("A100"), *payments[1:], revoke("A100"), payments[0],
                                        *requests], "out_of_order"),
            "read too late": Decoy([authorise("A100"), look, *payments, revoke("A100"), *requests], "out_of_order"),
        },
    )  # fmt: skip


@world.task
def just_short(pick: Pick) -> Task:
    """Send money and charge the fee only if the balance covers both. Otherwise do nothing."""
    amount, spare = pick(200, 640), pick(-0.3, 5.0, -0.01)
    fee = round(amount * 0.005, 2)
    start = bank_with(A100=round(amount + fee + spare, 2), B200=10.0)
    balance, quoted = check_balance("A100"), quote_fee(amount)
    looks = [balance, quoted]
    paying = seq(authorise("A100"), transfer("A100", "B200", approx(amount)),
                 any_order(revoke("A100"), charge_fee("A100", result_of(quoted, "fee"))))  # fmt: skip
    short_decoys = {
        "sent and brought back": Decoy(
            [*looks, authorise("A100"), transfer("A100", "B200", amount), revoke("A100"), authorise("B200"),
             transfer("B200", "A100", amount), revoke("B200")], "after_completion"),
        "authorised, to be ready": Decoy([*looks, authorise("A100"), revoke("A100")], "after_completion"),
    }  # fmt: skip
    paid_decoys = {
        "fee first": Decoy([*looks, authorise("A100"), charge_fee("A100", fee), transfer("A100", "B200", amount),
                            revoke("A100")], "out_of_order"),
    }  # fmt: skip
    paid = ends(start, {"A100": spare, "B200": 10.0 + amount}, fees=fee)
    return Task(
        start=start,
        prompt=f"'A100' wants to send {amount} to 'B200'. Read its balance and have the fee quoted first. If the "
        "balance covers both, send the amount, and after that charge the fee; if not, change nothing.",
        procedure=seq(any_order(*looks), *([paying] if spare > 0 else [])),
        goal=paid if spare > 0 else ends(start, {}),
        policies=[
            *(needed(look, because="Read its balance and have the fee quoted first") for look in looks),
            *(before(look, authorise.any(), because="Read its balance and have the fee quoted first")
              for look in looks),
            before(transfer.where(source="A100"), charge_fee.any(), because="after that charge the fee"),
            *([] if spare > 0 else [never(leaves=lambda bank: not start.like(bank), because="if not, change nothing")]),
        ],
        decoys=paid_decoys if spare > 0 else short_decoys,
    )  # fmt: skip


@world.task
def close_out(pick: Pick) -> Task:
    """Pay the interest, then read the balance, send all of it to another account and close the account."""
    old, interest = pick(900.0, 340.0), pick(12.5, 3.4)
    start = bank_with(A100=old, B200=60.0)
    start.interest["A100"] = interest
    balance = check_balance("A100")
    return Task(
        start=start,
        prompt="Close 'A100'. All that is on it, with the interest that is due, goes to 'B200'.",
        procedure=seq(any_order(authorise("A100"), seq(pay_interest("A100"), balance)),
                      transfer("A100", "B200", result_of(balance, "balance")), revoke("A100"), close_account("A100")),
        goal=ends(start, {"A100": None, "B200": 60.0 + old + interest}),
        policies=empties("A100"),
        decoys={
            "in two parts": Decoy([pay_interest("A100"), balance, authorise("A100"), transfer("A100", "B200", old),
                                   transfer("A100", "B200", interest), revoke("A100"), close_account("A100")],
                                  "wrong_argument"),
            "authorised afterwards": Decoy([pay_interest("A100"), balance, transfer("A100", "B200", old + interest),
                                            authorise("A100"), revoke("A100"), close_account("A100")],
                                           "out_of_order"),
            "interest forgotten at first": Decoy(
                [balance, authorise("A100"), transfer("A100", "B200", old), pay_interest("A100"),
                 transfer("A100", "B200", interest), revoke("A100"), close_account("A100")], "out_of_order",
                fools="state"),
        },
    )  # fmt: skip


def empties(account: str) -> list[Rule]:
    """Return policies that forbid transfers from an account before its interest is paid and its balance read."""
    because = "Before you empty an account, pay its interest, then read its balance"
    return [
        before(pay_interest(account), transfer.where(source=account), because=because),
        before(check_balance(account), transfer.where(source=account), because=because),
    ]


@world.task
def merge_accounts(pick: Pick) -> Task:
    """Move all money from two accounts to a new one and close the old ones. One of the old accounts has a hold."""
    new, held = pick("N500", "M1"), pick("B200", "A100")
    start = bank_with(A100=pick(420.0, 75.0), B200=pick(310.0, 615.5))
    start.interest, start.held = {"A100": 4.2, "B200": 3.1}, {held: 50.0}
    totals = {name: round(start.balance[name] + start.interest[name], 2) for name in start.balance}

    def emptied(name: str) -> Procedure:
        balance = check_balance(name)
        ready = any_order(seq(pay_interest(name), balance), *([release_hold(name)] if name == held else []))
        return seq(any_order(authorise(name), ready), transfer(name, new, result_of(balance, "balance")), revoke(name),
                   close_account(name))  # fmt: skip

    def calls(name: str, *, late: bool = False) -> list[Any]:
        hold = [release_hold(name)] if name == held else []
        sending = [authorise(name), transfer(name, new, totals[name])]
        middle = [*sending, *hold] if late else [*hold, *sending]
        return [pay_interest(name), check_balance(name), *middle, revoke(name), close_account(name)]

    first = [get_account("A100"), get_account("B200"), create_account(new)]
    because = "Look at both accounts and create the new one before you do anything else"
    return Task(
        start=start,
        prompt=f"Merge 'A100' and 'B200' into a new account '{new}'. {because}. If there is a hold, release it. Send "
        "all that is on the two accounts, with their interest, to the new one, and close them.",
        procedure=seq(any_order(*first), any_order(emptied("A100"), emptied("B200"))),
        goal=ends(start, {"A100": None, "B200": None, new: sum(totals.values())}, held={}),
        policies=[
            *empties("A100"), *empties("B200"),
            *(before(call, tool.any(), because=because)
              for call in first for tool in (pay_interest, release_hold, authorise)),
        ],
        decoys={
            "hold released after the money was gone": Decoy(
                [*first, *calls("A100", late=True), *calls("B200", late=True)], "out_of_order"),
            "created when it was needed": Decoy([*first[:2], pay_interest("A100"), first[2], *calls("A100")[1:],
                                                 *calls("B200")], "out_of_order"),
        },
    )  # fmt: skip


@world.task
def flat_deposit(pick: Pick) -> Task:
    """Release money on hold before sending part of it, and put the rest on hold again."""
    hold, taken, spare = pick(200, 150), pick(120, 90), pick(30, 70)
    start = bank_with(A100=float(hold + spare), B200=500.0)
    start.held["A100"] = hold
    release, keep = release_hold("A100"), place_hold("A100", approx(hold - taken))
    start_sending, pay, stop = authorise("A100"), transfer("A100", "B200", approx(taken)), revoke("A100")
    calls = [place_hold("A100", hold - taken), transfer("A100", "B200", taken)]
    return Task(
        start=start,
        prompt=f"A deposit of {hold} for a flat is on hold on 'A100'. The landlord, 'B200', now gets {taken} of it. "
        f"The other {hold - taken} stay on hold.",
        procedure=choice(seq(start_sending, release, any_order(keep, seq(pay, stop))),
                         seq(release, any_order(keep, seq(start_sending, pay, stop)))),
        goal=ends(start, {"A100": float(hold + spare - taken), "B200": 500.0 + taken}, held={"A100": hold - taken}),
        decoys={
            "sent while on hold": Decoy([start_sending, calls[1], release, calls[0], stop], "out_of_order"),
            "authorised afterwards": Decoy([release, calls[1], start_sending, stop, calls[0]], "out_of_order"),
        },
    )  # fmt: skip


@world.task
def pay_day(pick: Pick) -> Task:
    """Deposit the cash before paying the wages, and charge the quoted fee last."""
    wages = dict(zip(["B200", "C300", "D400"], pick([400, 500, 550], [300, 320, 380]), strict=True))
    total, cash = sum(wages.values()), pick(1500, 1600)
    start = bank_with(E100=40.0, B200=0.0, C300=0.0, D400=0.0)
    fee = round(total * 0.005, 2)
    quoted = quote_fee(total)
    paying = seq(any_order(deposit("E100", approx(cash)), authorise("E100")),
                 any_order(*(transfer("E100", target, approx(wage)) for target, wage in wages.items())))  # fmt: skip
    charge, stop = charge_fee("E100", result_of(quoted, "fee")), revoke("E100")
    payments = [transfer("E100", target, wage) for target, wage in wages.items()]
    listed = ", ".join(f"{wage} to '{target}'" for target, wage in wages.items())
    because = "when all three are sent charge 'E100' the fee that is quoted for their sum"
    return Task(
        start=start,
        prompt=f"The owner of 'E100' brings {cash} in cash for the wages: {listed}. Send the wages, and "
        f"{because}, {total}.",
        procedure=choice(seq(any_order(quoted, paying), any_order(charge, stop)),
                         seq(paying, any_order(stop, seq(quoted, charge)))),
        goal=ends(start, {"E100": 40.0 + cash - total - fee, **wages}, cash=cash, fees=fee),
        policies=[
            before(quoted, charge_fee.any(), because=because),
            *(before(transfer.where(source="E100", target=target), charge_fee.any(), because=because)
              for target in wages),
            *revoked_last("E100", *wages),
        ],
        decoys={
            "wages before the cash": Decoy([authorise("E100"), payments[0], deposit("E100", cash), *payments[1:],
                                            revoke("E100"), quoted, charge_fee("E100", fee)], "out_of_order"),
            "fee between the wages": Decoy([quoted, deposit("E100", cash), authorise("E100"), *payments[:2],
                                            charge_fee("E100", fee), payments[2], revoke("E100")], "out_of_order"),
        },
    )  # fmt: skip


@world.task
def mutual_debts(pick: Pick) -> Task:
    """Settle two accounts' debts to each other. The balances decide which account can pay first."""
    poor, rich = pick(("A100", "B200"), ("B200", "A100"))
    owed, due = pick(250, 180), pick(300, 320)
    start = bank_with(A100=100.0, B200=100.0)
    start.balance[rich] = 400.0
    looks, opens = [check_balance("A100"), check_balance("B200")], [authorise("A100"), authorise("B200")]
    closes = [revoke("A100"), revoke("B200")]
    first, then = transfer(rich, poor, due), transfer(poor, rich, owed)
    debts = [f"'{poor}' owes '{rich}' {owed}", f"'{rich}' owes '{poor}' {due}"]
    because = "Read both balances and authorise both accounts before any money moves"
    return Task(
        start=start,
        prompt=f"{' and '.join(debts)}. {because}. Book both debts in full, not the difference, and revoke nothing "
        "until both are booked.",
        procedure=seq(any_order(*looks, *opens), transfer(rich, poor, approx(due)), transfer(poor, rich, approx(owed)),
                      any_order(*closes)),
        goal=ends(start, {poor: 100.0 + due - owed, rich: 400.0 - due + owed}),
        policies=[
            *(before(call, transfer.any(), because=because) for call in (*looks, *opens)),
            *(before(transfer.where(source=source), revoke.any(), because="revoke nothing until both are booked")
              for source in (poor, rich)),
            *(needed(debt, because="Book both debts in full, not the difference")
              for debt in (transfer.where(source=rich), transfer.where(source=poor))),
        ],
        decoys={
            "the poor one first": Decoy([*looks, *opens, then, first, *closes], "out_of_order"),
            "only the difference": Decoy([*looks, *opens, transfer(rich, poor, due - owed), *closes],
                                         "wrong_argument", fools="state"),
        },
    )  # fmt: skip


@world.task
def wrong_payee(pick: Pick) -> Task:
    """Return a mistaken payment before paying the right account, because the payer cannot afford both at once."""
    amount, left = pick(75, 130), pick(20.0, 5.0)
    right, wrong = pick(("B200", "C300"), ("C300", "B200"))
    start = bank_with(A100=left, B200=200.0, C300=200.0)
    back, again = transfer(wrong, "A100", amount), transfer("A100", right, amount)
    back_open, back_stop, open_, stop = authorise(wrong), revoke(wrong), authorise("A100"), revoke("A100")
    because = "A payment that went wrong goes back the way it came before it is sent again"
    near, far = transfer(wrong, "A100", approx(amount)), transfer("A100", right, approx(amount))
    return Task(
        start=start,
        prompt=f"By mistake {amount} went from 'A100' to '{wrong}'. It was meant for '{right}'. Put that right.",
        procedure=choice(seq(any_order(back_open, open_), near, any_order(back_stop, seq(far, stop))),
                         seq(back_open, near, any_order(back_stop, seq(open_, far, stop)))),
        goal=ends(start, {wrong: 200.0 - amount, right: 200.0 + amount}),
        policies=[never(transfer.where(source=wrong, target=right), because=because)],
        decoys={
            "paid again before it was back": Decoy([open_, again, stop, back_open, back, back_stop], "out_of_order"),
            "straight across": Decoy([back_open, open_, transfer(wrong, right, amount), back_stop, stop], "forbidden",
                                     fools="state"),
        },
    )  # fmt: skip


@world.task
def card_check(pick: Pick) -> Task:
    """Place, check and release holds. The final state equals the start state."""
    amount, wrong = pick(1, 2), pick(10, 5)
    start = bank_with(A100=pick(80.0, 45.0), B200=300.0)
    because = "look at the account while it is on"

    def checked(account: str, value: Any) -> list[Any]:
        return [place_hold(account, value), get_account(account), release_hold(account)]

    first, second = checked("A100", amount), checked("B200", amount)
    return Task(
        start=start,
        prompt=f"Check the cards of 'A100' and 'B200': put a hold of {amount} on each account, {because}, and release "
        "it.",
        procedure=any_order(*(seq(*checked(account, approx(amount))) for account in ("A100", "B200"))),
        goal=ends(start, {}),
        policies=[
            *(needed(place_hold(account, approx(amount)), because=f"put a hold of {amount} on each account")
              for account in ("A100", "B200")),
            before(get_account(a).returns({"on_hold": approx(amount)}), release_hold(a), because=because),
        ],
        decoys={
            "wrong amount at first": Decoy([place_hold("A100", wrong), release_hold("A100"), *first, *second],
                                           "wrong_argument"),
            "looked too late": Decoy([first[0], first[2], first[1], *second], "out_of_order", fools="state"),
        },
    )  # fmt: skip
