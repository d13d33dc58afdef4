"""A legal desk: statements are checked against two documents, then approved or flagged; cases are settled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

from corepath import (
    Action,
    Decoy,
    Pick,
    Procedure,
    Task,
    ToolError,
    World,
    any_order,
    before,
    choice,
    needed,
    never,
    one_by_one,
    result_of,
    same_text,
    seq,
    var,
)
from corepath import (
    Rule as Policy,
)

RULES = """
You work at the legal desk of a company. Its documents are the privacy policy (rules P1 to P3) and the terms of service
(rules T1 to T3).
Approve a statement only after a check says that it adheres, and flag it only after a check says that it violates a
rule. Check it against its document too before you take an approval or a flag back. Only check_compliance is a check: to
have read the register or a rule is none.
Where you flag, enforce or notify, cite the rule that the check returned, whatever others say.
A statement is never approved and flagged at the same time, not even for a moment.
A case is settled like this. Read the case and check its claim against the document that it names. If the claim
violates a rule, notify the party, flag the claim and record the decision 'violation', and after all three suspend the
party. If it does not, record 'no violation' and leave the party alone. Close the case when everything else is done.
Place a hold on a document before you amend it, and read a rule and check its new text before you amend that rule.
Never hold two documents at once.
Do what was asked and leave everything else as it is.
"""
ADVICE = (
    "You work at the legal desk of a company.",
    "Its documents are the privacy policy (rules P1 to P3) and the terms of service (rules T1 to T3).",
    "Only check_compliance is a check: to have read the register or a rule is none.",
    "A case is settled like this.",
    "Do what was asked and leave everything else as it is.",
)

Document = Literal["privacy policy", "terms of service"]
Rule = Literal["P1", "P2", "P3", "T1", "T2", "T3"]

RULINGS: dict[str, tuple[Rule, bool]] = {
    "Users must be informed before data collection": ("P1", True),
    "Users must be informed in writing before data collection": ("P1", True),
    "Location may be recorded without notice": ("P1", False),
    "Personal data must not be sold to third parties": ("P2", True),
    "Sells e-mail addresses to advertisers": ("P2", False),
    "Data must be erased when an account is closed": ("P3", True),
    "Data must be erased within a month of closing an account": ("P3", True),
    "Messages are kept for ten years": ("P3", False),
    "Users must not engage in fraudulent activities": ("T1", True),
    "Users must not engage in fraud or attempted fraud": ("T1", True),
    "Reviews may be bought": ("T1", False),
    "An account must not be shared with other people": ("T2", True),
    "A family may use one login": ("T2", False),
    "Works of others must not be published without consent": ("T3", True),
    "Works of others must not be copied without consent": ("T3", True),
    "Copies songs of other users": ("T3", False),
}
"""Every statement on file, with the rule that applies and whether the statement adheres to that rule."""

RULE_TEXTS: dict[Rule, str] = {
    "P1": "Users must be informed before data collection",
    "P2": "Personal data must not be sold to third parties",
    "P3": "Data must be erased when an account is closed",
    "T1": "Users must not engage in fraudulent activities",
    "T2": "An account must not be shared with other people",
    "T3": "Works of others must not be published without consent",
}


@dataclass
class Case:
    """A case: a claim about a party, the document that applies, the decision, and whether the case is open."""

    party: str
    claim: str
    document: Document
    decision: str | None = None
    open: bool = True


@dataclass
class Desk:
    """The state of the legal desk: cases, amended rules, approvals, flags, measures, notices, suspensions and holds."""

    cases: dict[str, Case] = field(default_factory=dict)
    amended: dict[str, str] = field(default_factory=dict)
    approved: list[str] = field(default_factory=list)
    flags: dict[str, str] = field(default_factory=dict)
    measures: dict[str, str] = field(default_factory=dict)
    notices: dict[str, list[str]] = field(default_factory=dict)
    suspended: list[str] = field(default_factory=list)
    holds: list[str] = field(default_factory=list)

    def contradicts(self) -> bool:
        """Whether a statement is both approved and flagged."""
        return any(statement in self.flags for statement in self.approved)

    def holds_two(self) -> bool:
        """Whether both documents are on hold."""
        return len(self.holds) > 1


world = World("legal", Desk, RULES, advice=ADVICE)


@world.read
def check_compliance(_desk: Desk, statement: str, document: Document) -> dict[str, str | None]:
    """Check a statement against a document, and name the rule that decides.

    The verdict is "adheres" where it is part of the document, "violates" where it is against it, else "not covered".
    """
    rule, adheres = RULINGS[_on_file(statement)]
    if document != document_of(rule):
        return {"verdict": "not covered", "rule": None}
    return {"verdict": "adheres" if adheres else "violates", "rule": rule}


@world.read
def read_rule(desk: Desk, rule: Rule) -> dict[str, str]:
    """The text of a rule, and the document that it stands in."""
    return {"text": desk.amended.get(rule, RULE_TEXTS[rule]), "document": document_of(rule)}


@world.read
def list_cases(desk: Desk) -> list[str]:
    """The numbers of the open cases."""
    return sorted(number for number, case in desk.cases.items() if case.open)


@world.read
def read_case(desk: Desk, case: str) -> dict[str, str]:
    """The party of a case, the claim about it, and the document to check the claim against."""
    found = _case(desk, case)
    return {"party": found.party, "claim": found.claim, "document": found.document}


@world.read
def read_register(desk: Desk) -> dict[str, Any]:
    """What is approved, flagged, enforced and held."""
    return {"approved": desk.approved, "flags": desk.flags, "measures": desk.measures, "holds": desk.holds}


@world.write
def approve_policy(desk: Desk, statement: str) -> str:
    """Enter a statement in the register as a valid policy statement."""
    desk.approved = sorted({*desk.approved, _on_file(statement)})
    return "done"


@world.write
def withdraw_approval(desk: Desk, statement: str) -> str:
    """Take an approved statement out of the register."""
    if (found := _on_file(statement)) not in desk.approved:
        raise ToolError(f"'{found}' is not approved")
    desk.approved.remove(found)
    return "done"


@world.write
def flag_violation(desk: Desk, statement: str, rule: Rule) -> str:
    """Flag a statement as a violation of a rule."""
    desk.flags[_on_file(statement)] = rule
    return "done"


@world.write
def clear_flag(desk: Desk, statement: str) -> str:
    """Take the flag off a statement."""
    if (found := _on_file(statement)) not in desk.flags:
        raise ToolError(f"'{found}' is not flagged")
    del desk.flags[found]
    return "done"


@world.write
def enforce_compliance(desk: Desk, rule: Rule, reason: str) -> str:
    """Put the compliance measures of a rule into force; the reason says in two words or more what happened."""
    if len(reason.split()) < 2 or folded(reason) in _FOLDED:
        raise ToolError(f"'{reason[:80]}' does not say what happened")
    desk.measures[rule] = folded(reason)
    return "done"


@world.write
def notify_party(desk: Desk, party: str, rule: Rule) -> str:
    """Send a party the notice that it violates a rule."""
    desk.notices[_party(desk, party)] = sorted({*desk.notices.get(party, []), rule})
    return "done"


@world.write
def suspend_party(desk: Desk, party: str) -> str:
    """Suspend a party from the service."""
    desk.suspended = sorted({*desk.suspended, _party(desk, party)})
    return "done"


@world.write
def record_decision(desk: Desk, case: str, decision: Literal["violation", "no violation"]) -> str:
    """Write down what was decided in a case."""
    _case(desk, case).decision = decision
    return "done"


@world.write
def close_case(desk: Desk, case: str) -> str:
    """Close a case. It cannot be opened again."""
    _case(desk, case).open = False
    return "done"


@world.write
def place_hold(desk: Desk, document: Document) -> str:
    """Keep everybody else from changing a document."""
    desk.holds = sorted({*desk.holds, document})
    return "done"


@world.write
def release_hold(desk: Desk, document: Document) -> str:
    """Let others change a document again."""
    desk.holds = [one for one in desk.holds if one != document]
    return "done"


@world.write
def amend_rule(desk: Desk, rule: Rule, text: str) -> str:
    """Give a rule a new text."""
    desk.amended[rule] = _on_file(text)
    return "done"


def document_of(rule: Rule) -> Document:
    """Return the document that contains a rule."""
    return "privacy policy" if rule.startswith("P") else "terms of service"


def folded(text: str) -> str:
    """Normalize case and white space."""
    return " ".join(text.split()).casefold()


_FOLDED = {folded(statement): statement for statement in RULINGS}


def _on_file(statement: str) -> str:
    if folded(statement) not in _FOLDED:
        raise ToolError(f"no statement on file reads '{statement[:80]}'; give it word for word")
    return _FOLDED[folded(statement)]


def _case(desk: Desk, case: str) -> Case:
    if case not in desk.cases:
        raise ToolError(f"no case '{case[:80]}'; there is {', '.join(desk.cases) or 'none'}")
    return desk.cases[case]


def _party(desk: Desk, party: str) -> str:
    parties = sorted({case.party for case in desk.cases.values()})
    if party not in parties:
        raise ToolError(f"no party '{party[:80]}'; there is {', '.join(parties) or 'none'}")
    return party


r, p, c = var("rule"), var("party"), var("case")
_APPROVE = "Approve a statement only after a check says that it adheres"
_FLAG = "flag it only after a check says that it violates a rule"
_TAKE_BACK = "Check it against its document too before you take an approval or a flag back"
_CITE = "cite the rule that the check returned"
_CASE = "Read the case and check its claim against the document that it names"
_CLOSE = "Close the case when everything else is done"
_HOLD = "Place a hold on a document before you amend it"
_AMEND = "read a rule and check its new text before you amend that rule"
world.policy(
    before(check_compliance.any().returns({"rule": r}), enforce_compliance.where(rule=r), because=_CITE),
    before(check_compliance.any().returns({"rule": r}), notify_party.where(rule=r), because=_CITE),
    never(leaves=Desk.contradicts, because="A statement is never approved and flagged at the same time"),
    before(notify_party.where(party=p), suspend_party(p), because="after all three suspend the party"),
    before(read_case(c), record_decision.where(case=c), because=_CASE),
    before(record_decision.where(case=c), close_case(c), because=_CLOSE),
    before(read_rule(r), amend_rule.where(rule=r), because=_AMEND),
    never(leaves=Desk.holds_two, because="Never hold two documents at once"),
)


def checked_first(*statements: str) -> list[Policy]:
    """Return the policies that require a check before each act on these statements, in whatever spelling."""
    found: list[Policy] = []
    for statement in statements:
        text, looked = same_text(statement), check(statement)
        found += [
            before(looked.returns({"verdict": "adheres"}), approve_policy(text), because=_APPROVE),
            before(looked.returns({"verdict": "violates"}), flag_violation.where(statement=text), because=_FLAG),
            before(looked.returns({"rule": r}), flag_violation(text, r), because=_CITE),
            *(before(looked, act(text), because=_TAKE_BACK) for act in (withdraw_approval, clear_flag)),
        ]
    return found


def ends(start: Desk, **changed: Any) -> Callable[[Desk], bool]:
    """Return a goal that holds if the fields in `changed` have these values and all others are as in `start`."""
    expected = replace(start, **changed)
    return lambda desk: desk == expected


def settled(cases: dict[str, Case]) -> dict[str, Case]:
    """Return copies of the cases, correctly decided and closed."""
    return {
        number: replace(case, decision="no violation" if RULINGS[case.claim][1] else "violation", open=False)
        for number, case in cases.items()
    }


def check(statement: str) -> Action:
    """Return the procedure step that checks a statement against the right document."""
    return check_compliance(same_text(statement), document_of(RULINGS[statement][0]))


def checked(statement: str) -> Action:
    """Return the decoy call that checks a statement against the right document."""
    return check_compliance(statement, document_of(RULINGS[statement][0]))


def acts(case: str, of: Case) -> Procedure:
    """Return the steps that settle a violation case, up to but not including the suspension."""
    rule = result_of(check(of.claim), "rule")
    flagged = flag_violation(same_text(of.claim), rule)
    return seq(read_case(case), check(of.claim),
               any_order(notify_party(of.party, rule), flagged, record_decision(case, "violation")))  # fmt: skip


def settle(case: str, of: Case) -> Procedure:
    """Return the procedure that settles one case."""
    if not RULINGS[of.claim][1]:
        return seq(acts(case, of), suspend_party(of.party), close_case(case))
    return seq(read_case(case), check(of.claim), record_decision(case, "no violation"), close_case(case))


def settle_calls(case: str, of: Case) -> list[Action]:
    """Return the calls that settle a case in one correct order."""
    rule, adheres = RULINGS[of.claim]
    looked = [read_case(case), checked(of.claim)]
    if adheres:
        return [*looked, record_decision(case, "no violation"), close_case(case)]
    return [*looked, notify_party(of.party, rule), flag_violation(of.claim, rule), record_decision(case, "violation"),
            suspend_party(of.party), close_case(case)]  # fmt: skip


def case_policies(case: str, of: Case) -> list[Policy]:
    """Return policies that fix the order of the steps for settling a case."""
    claim, party, (rule, adheres) = same_text(of.claim), of.party, RULINGS[of.claim]
    found = checked_first(of.claim)
    found += [
        before(check(of.claim), record_decision.where(case=case), because=_CASE),
        never(record_decision.where(case=case), when=lambda desk: not desk.cases[case].open, because=_CLOSE),
    ]
    if adheres:
        alone = (notify_party.where(party=party), suspend_party(party))
        found += [never(one, because="leave the party alone") for one in alone]
    if not adheres:
        three = (flag_violation.where(statement=claim), record_decision.where(case=case), notify_party(party, rule))
        found += [before(one, suspend_party(party), because="after all three suspend the party") for one in three]
        found += [before(suspend_party(party), close_case(case), because=_CLOSE)]
    return found


@world.task
def approve_if_adheres(pick: Pick) -> Task:
    """Approve a statement if it adheres to the policy, else do nothing. This task is in the paper's table."""
    statement = pick("Users must be informed before data collection", "Location may be recorded without notice",
                     "Data must be erased when an account is closed", "Messages are kept for ten years")  # fmt: skip
    approve, said = approve_policy(statement), checked(statement)
    adheres = RULINGS[statement][1]
    verify = f"Verify if the statement '{statement}' adheres to our privacy policy"
    return Task(
        prompt=f"{verify}. If it does, approve it as a valid policy statement.",
        procedure=seq(check(statement), approve_policy(same_text(statement))) if adheres else check(statement),
        goal=ends(Desk(), approved=[statement] if adheres else []),
        policies=[needed(check(statement), because=verify), *checked_first(statement)],
        decoys={"approved before the check": Decoy([approve, said], "out_of_order")}
        if adheres
        else {"approved, then taken back": Decoy([approve, said, withdraw_approval(statement)], "unlisted")},
    )


@world.task
def enforce_if_listed(pick: Pick) -> Task:
    """Check a rule, and enforce it only if it is listed. This is case A in the paper."""
    statement, reason = pick(
        ("Users must not engage in fraudulent activities", "Fraudulent activity detected"),
        ("An account must not be shared with other people", "Account sharing detected"),
        ("Personal data must not be sold to third parties", "Sale of data detected"),
    )
    rule = RULINGS[statement][0]
    look = check_compliance(same_text(statement), "terms of service")
    said, enforce = check_compliance(statement, "terms of service"), enforce_compliance(rule, reason)
    listed = rule.startswith("T")
    whether = f"Check whether the policy '{statement}' is part of the terms of service"
    return Task(
        prompt=f"{whether}. If it is, enforce compliance measures to prevent such activity as '{reason}'.",
        procedure=seq(look, enforce_compliance(rule, same_text(reason))) if listed else look,
        goal=ends(Desk(), measures={rule: folded(reason)} if listed else {}),
        policies=[needed(look, because=whether)],
        decoys={"enforced before the check": Decoy([enforce, said], "out_of_order")}
        if listed
        else {"enforced all the same": Decoy([said, enforce], "after_completion", fools="response")},
    )


@world.task
def correct_flag(pick: Pick) -> Task:
    """Enforce the rule that the check returns, and correct a colleague's flag if it cites another rule."""
    statement, reason = pick(
        ("A family may use one login", "Account sharing"), ("Copies songs of other users", "Copied works")
    )
    rule, flagged = RULINGS[statement][0], pick("T1", "right", "T1")
    start = Desk(flags={statement: rule if flagged == "right" else flagged})
    found = result_of(check(statement), "rule")
    enforced = enforce_compliance(found, same_text(reason))
    again = seq(clear_flag(same_text(statement)), flag_violation(same_text(statement), found))
    said, enforce = checked(statement), enforce_compliance(rule, reason)
    clear, flag = clear_flag(statement), flag_violation(statement, rule)
    right = {
        "cleared and flagged anew": Decoy([said, clear, flag, enforce], "unlisted"),
        "enforced before the check": Decoy([enforce, said], "out_of_order"),
    }
    wrong = {
        "cleared before the check": Decoy([clear, said, flag, enforce], "out_of_order"),
        "what the colleague said, at first": Decoy(
            [said, enforce_compliance("T1", reason), clear, flag, enforce], "wrong_argument", fools="response"
        ),
        "flagged over the old flag": Decoy([said, flag, clear, flag, enforce], "out_of_order"),
    }
    return Task(
        start=start,
        prompt=f"A colleague flagged the statement '{statement}' as a violation of rule {start.flags[statement]}. "
        "Check it against the terms of service. If it violates another rule, clear the flag and then flag it for that "
        f"rule; if the flag is right, keep it. In any case enforce the violated rule, with the reason '{reason}'.",
        procedure=seq(check(statement), enforced if flagged == "right" else any_order(again, enforced)),
        goal=ends(start, flags={statement: rule}, measures={rule: folded(reason)}),
        policies=[
            *checked_first(statement),
            never(flag_violation.any(), when=lambda desk: desk.flags.get(statement, rule) != rule,
                  because="clear the flag and then flag it for that rule"),
            *([never(clear_flag.any(), because="if the flag is right, keep it")] if flagged == "right" else []),
        ],
        decoys=right if flagged == "right" else wrong,
    )  # fmt: skip


@world.task
def three_statements(pick: Pick) -> Task:
    """Check three statements and approve or flag each of them. The calls may be interleaved."""
    statements = pick.some(3, "Personal data must not be sold to third parties", "Messages are kept for ten years",
                           "Users must be informed before data collection", "Location may be recorded without notice",
                           "Data must be erased when an account is closed")  # fmt: skip
    ways, said, done = [], [], []
    for statement in statements:
        rule, adheres = RULINGS[statement]
        text = same_text(statement)
        ways.append(seq(check(statement), approve_policy(text) if adheres else flag_violation(text, rule)))
        said.append(checked(statement))
        done.append(approve_policy(statement) if adheres else flag_violation(statement, rule))
    one, two, three = statements
    return Task(
        prompt=f"Three drafts have come in: '{one}', '{two}' and '{three}'. Check each of them against the "
        "privacy policy. Approve those that adhere to it, and flag those that violate it.",
        procedure=any_order(*ways),
        goal=ends(
            Desk(),
            approved=sorted(one for one in statements if RULINGS[one][1]),
            flags={one: RULINGS[one][0] for one in statements if not RULINGS[one][1]},
        ),
        policies=checked_first(*statements),
        decoys={
            "last one acted on unchecked": Decoy([*said[:2], *done, said[2]], "out_of_order"),
            "all done, then all checked": Decoy([*done, *said], "out_of_order"),
        },
    )


@world.task
def settle_case(pick: Pick) -> Task:
    """Settle a case. A violation takes seven calls, any other case four."""
    number, party = pick("C7", "C12"), pick("Lumen", "Corvo")
    claim = pick("Sells e-mail addresses to advertisers", "Data must be erased when an account is closed",
                 "Location may be recorded without notice")  # fmt: skip
    case = Case(party, claim, "privacy policy")
    start = Desk(cases={number: case})
    rule, adheres = RULINGS[claim]
    calls = settle_calls(number, case)
    *acted, last, closed = calls[2:]
    if adheres:
        flagged = [flag_violation(claim, rule), clear_flag(claim)]
        decoys = {
            "decided before the check": Decoy([calls[0], last, calls[1], closed], "out_of_order"),
            "flagged for a while": Decoy([*calls[:2], *flagged, last, closed], "unlisted"),
        }
    else:
        decoys = {
            "decided before the check": Decoy([calls[0], acted[2], calls[1], *acted[:2], last, closed], "out_of_order"),
            "suspended first": Decoy([*calls[:2], last, *acted, closed], "out_of_order"),
            "closed before the suspension": Decoy([*calls[:2], *acted, closed, last], "out_of_order"),
        }
    punished = {"notices": {party: [rule]}, "flags": {claim: rule}, "suspended": [party]}
    return Task(
        start=start,
        prompt=f"Settle case {number}.",
        procedure=settle(number, case),
        goal=ends(start, cases=settled(start.cases), **({} if adheres else punished)),
        policies=case_policies(number, case),
        decoys=decoys,
        says={"record the decision 'violation'": "violation", "record 'no violation'": "no violation"},
    )


@world.task
def settle_all_cases(pick: Pick) -> Task:
    """List the cases and settle the two open ones. One of them is a violation."""
    guilty, cleared = pick(("Lumen", "Corvo"), ("Corvo", "Tessa"))
    claim = pick("Copies songs of other users", "Reviews may be bought")
    fine = pick("An account must not be shared with other people", "Users must not engage in fraudulent activities")
    closed = Case(cleared, "Messages are kept for ten years", "privacy policy", "violation", open=False)
    one, two = Case(guilty, claim, "terms of service"), Case(cleared, fine, "terms of service")
    start = Desk(cases={"C1": closed, "C2": one, "C3": two})
    first, second, rule = settle_calls("C2", one), settle_calls("C3", two), RULINGS[claim][0]
    return Task(
        start=start,
        prompt="Settle every case that is still open. List the cases first.",
        procedure=seq(list_cases(), any_order(settle("C2", one), settle("C3", two))),
        goal=ends(start, cases={"C1": closed, **settled({"C2": one, "C3": two})}, flags={claim: rule},
                  notices={guilty: [rule]}, suspended=[guilty]),
        policies=[
            *case_policies("C2", one), *case_policies("C3", two),
            *(before(list_cases(), record_decision.where(case=case), because="List the cases first")
              for case in ("C2", "C3")),
        ],
        decoys={
            "listed at the end": Decoy([*first, *second, list_cases()], "out_of_order", fools="state"),
            "both decided, then looked at": Decoy([list_cases(), first[4], second[2], *first[:4], *first[5:],
                                                   *second[:2], second[3]], "out_of_order"),
            "notified when suspended": Decoy([list_cases(), *second, *first[:2], *first[3:6], first[2], first[6]],
                                             "out_of_order"),
        },
        says={"record the decision 'violation'": "violation", "record 'no violation'": "no violation"},
    )  # fmt: skip


@world.task
def repeat_offender(pick: Pick) -> Task:
    """Settle two cases about one party. Notify the party about both rules, then suspend it once."""
    party, numbers = pick("Lumen", "Corvo"), pick(("C4", "C9"), ("C2", "C5"))
    claims = pick(("Sells e-mail addresses to advertisers", "Messages are kept for ten years"),
                  ("Copies songs of other users", "Reviews may be bought"))  # fmt: skip
    document = document_of(RULINGS[claims[0]][0])
    cases = {number: Case(party, claim, document) for number, claim in zip(numbers, claims, strict=True)}
    start = Desk(cases=cases)
    one, two = (settle_calls(number, case) for number, case in cases.items())
    suspend = suspend_party(party)
    return Task(
        start=start,
        prompt=f"Cases {numbers[0]} and {numbers[1]} are about the same party, {party}, and both claims are said to be "
        "violations. Settle both. Suspend the party only once, after the notices, flags and decisions of both cases, "
        "and close the cases after that.",
        procedure=seq(any_order(*(acts(number, case) for number, case in cases.items())), suspend,
                      any_order(*map(close_case, numbers))),
        goal=ends(start, cases=settled(cases), flags={claim: RULINGS[claim][0] for claim in claims},
                  notices={party: sorted(RULINGS[claim][0] for claim in claims)}, suspended=[party]),
        policies=[policy for number, case in cases.items() for policy in case_policies(number, case)],
        decoys={
            "one case after the other": Decoy([*one, *two], "out_of_order"),
            "first case closed early": Decoy([*one[:5], one[6], *two], "out_of_order"),
            "second notice too late": Decoy([*one[:5], *two[:2], *two[3:6], two[2], one[6], two[6]], "out_of_order"),
        },
        says={"record the decision 'violation'": "violation"},
    )  # fmt: skip


@world.task
def amend_two_rules(pick: Pick) -> Task:
    """Amend two rules while their document is on hold. Release the hold before approving the new wording."""
    privacy: dict[Rule, str] = {"P1": "Users must be informed in writing before data collection",
                                "P3": "Data must be erased within a month of closing an account"}  # fmt: skip
    terms: dict[Rule, str] = {"T1": "Users must not engage in fraud or attempted fraud",
                              "T3": "Works of others must not be copied without consent"}  # fmt: skip
    new = pick(privacy, terms)
    (one, first), (two, second) = new.items()
    document = document_of(one)
    hold, release = place_hold(document), release_hold(document)
    reads = {rule: [read_rule(rule), check(text)] for rule, text in new.items()}
    amends = {rule: amend_rule(rule, same_text(text)) for rule, text in new.items()}
    ways = [
        seq(any_order(seq(any_order(hold, *reads[rule]), amends[rule]), *reads[other]), amends[other])
        for rule, other in ((one, two), (two, one))
    ]
    looked = [[read_rule(rule), checked(text)] for rule, text in new.items()]
    amended = [amend_rule(rule, text) for rule, text in new.items()]
    approved = [approve_policy(text) for text in new.values()]
    return Task(
        prompt=f"Rule {one} of the {document} is to read '{first}', and rule {two} '{second}'. Make both changes under "
        "one hold. When the hold is off, approve both texts.",
        procedure=seq(choice(*ways), release,
                      any_order(*(approve_policy(same_text(text)) for text in new.values()))),
        goal=ends(Desk(), amended=new, approved=sorted(new.values())),
        policies=[
            *checked_first(first, second),
            *(before(check(text), amend_rule.where(rule=rule), because=_AMEND) for rule, text in new.items()),
            never(amend_rule.any(), when=partial(_is_free, document), because=_HOLD),
            *(before(amend_rule.where(rule=rule), release, because="Make both changes under one hold") for rule in new),
            before(release, approve_policy.any(), because="When the hold is off, approve both texts"),
        ],
        decoys={
            "a hold for each change": Decoy([hold, *looked[0], amended[0], release, hold, *looked[1], amended[1],
                                             release, *approved], "out_of_order"),
            "amended before the hold": Decoy([*looked[0], amended[0], hold, *looked[1], amended[1], release,
                                              *approved], "out_of_order"),
            "approved under the hold": Decoy([hold, *looked[0], *looked[1], *amended, *approved, release],
                                             "out_of_order"),
        },
    )  # fmt: skip


@world.task
def report_only(pick: Pick) -> Task:
    """Check all approved statements and report, without changing anything."""
    statements = sorted(pick.some(3, "Users must be informed before data collection", "Messages are kept for ten years",
                                  "Personal data must not be sold to third parties",
                                  "Location may be recorded without notice"))  # fmt: skip
    start = Desk(approved=statements)
    said = [checked(statement) for statement in statements]
    bad = next(one for one in statements if not RULINGS[one][1])
    flag = [withdraw_approval(bad), flag_violation(bad, RULINGS[bad][0]), clear_flag(bad), approve_policy(bad)]
    return Task(
        start=start,
        prompt="The board wants to know which of the approved statements still adhere to the privacy policy. Read the "
        "register first. Then check every statement that is approved in it, and report. The board will decide, so "
        "change nothing.",
        procedure=seq(read_register(), any_order(*map(check, statements))),
        goal=ends(start),
        policies=[
            *(before(read_register(), check(one), because="Read the register first") for one in statements),
            *(needed(check(one), because="check every statement that is approved in it") for one in statements),
            never(leaves=lambda desk: desk != start, because="The board will decide, so change nothing"),
        ],
        decoys={
            "withdrawn and put back": Decoy([read_register(), *said, flag[0], flag[3]], "after_completion"),
            "flagged for a while": Decoy([read_register(), *said[:2], *flag, said[2]], "unlisted"),
        },
    )


def _is_free(document: str, desk: Desk) -> bool:
    return document not in desk.holds


@world.task
def recheck_under_hold(pick: Pick) -> Task:
    """Check statements against two documents. Put each document on hold only while it is in use."""
    of: dict[Document, tuple[str, str]] = {
        "privacy policy": pick(("Messages are kept for ten years", "Personal data must not be sold to third parties"),
                               ("Location may be recorded without notice", "Messages are kept for ten years")),
        "terms of service": pick(("Reviews may be bought", "A family may use one login"),
                                 ("Copies songs of other users", "Reviews may be bought")),
    }  # fmt: skip
    (one, first), (two, second) = of.items()
    visits = [
        seq(place_hold(document), any_order(*map(check, of[document])), release_hold(document)) for document in of
    ]
    asked = (
        f"check '{first[0]}' and '{first[1]}' against the {one}, and '{second[0]}' and '{second[1]}' against the {two}"
    )
    return Task(
        prompt=f"For the yearly report, {asked}. Hold a document while you check statements against it, from before "
        "the first to after the last, and leave no hold behind.",
        procedure=one_by_one(*visits),
        goal=ends(Desk()),
        policies=[
            *(needed(check(text), because=asked) for text in (*first, *second)),
            *(never(check(text), when=partial(_is_free, document),
                    because="Hold a document while you check statements against it")
              for document in of for text in of[document]),
            *(before(check(text), release_hold(document), because="from before the first to after the last")
              for document in of for text in of[document]),
        ],
        decoys={
            "both held at once": Decoy([place_hold(one), place_hold(two), *map(checked, (*first, *second)),
                                        release_hold(one), release_hold(two)], "out_of_order"),
            "released too early": Decoy([place_hold(one), checked(first[0]), release_hold(one), checked(first[1]),
                                         place_hold(two), *map(checked, second), release_hold(two)], "out_of_order"),
        },
    )  # fmt: skip


@world.task
def clean_register(pick: Pick) -> Task:
    """Withdraw each approved statement that violates a rule, then flag it.

    No statement may be approved and flagged at the same time.
    """
    bad = pick(["Copies songs of other users", "Reviews may be bought"], ["A family may use one login"],
               ["Reviews may be bought", "A family may use one login"])  # fmt: skip
    good = pick("Users must not engage in fraudulent activities", "An account must not be shared with other people")
    start = Desk(approved=sorted([*bad, good]))
    ways: list[Procedure | Action] = [check(good)]
    calls = [read_register(), checked(good)]
    for statement in bad:
        text, rule = same_text(statement), result_of(check(statement), "rule")
        ways.append(seq(check(statement), withdraw_approval(text), flag_violation(text, rule)))
        calls += [checked(statement), withdraw_approval(statement), flag_violation(statement, RULINGS[statement][0])]
    return Task(
        start=start,
        prompt="Look at the register first. Then check every approved statement in it against the terms of service. "
        "Withdraw the approval of those that violate it, and flag them. Leave the others approved.",
        procedure=seq(read_register(), any_order(*ways)),
        goal=ends(start, approved=[good], flags={statement: RULINGS[statement][0] for statement in bad}),
        policies=[
            *checked_first(good, *bad),
            needed(check(good), because="check every approved statement in it against the terms of service"),
            *(before(read_register(), check(one), because="Look at the register first") for one in (good, *bad)),
        ],
        decoys={
            "flagged while approved": Decoy([*calls[:3], calls[4], calls[3], *calls[5:]], "out_of_order"),
            "withdrawn before the check": Decoy([*calls[:2], calls[3], calls[2], *calls[4:]], "out_of_order"),
            "the good one withdrawn, to be sure": Decoy(
                [calls[0], withdraw_approval(good), *calls[1:], approve_policy(good)], "unlisted"),
        },
    )  # fmt: skip
