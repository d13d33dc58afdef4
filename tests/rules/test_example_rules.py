"""The rule files in examples/rules: each rule with a trace that keeps it and one that breaks it, and the study."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from benchmarks.tau_rules import tables

from corepath import Call, Message
from corepath.files.rules import load_rules
from corepath.rules.verdict import State, judge
from tests.importers.tau_runs import REAL, real

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "examples" / "rules").glob("*.yaml"))
Trace = list[Call | Message]


def user(text: str) -> Message:
    return Message("user", text)


def agent(text: str, turn: int | None = None) -> Message:
    return Message("assistant", text, turn=turn)


def call(tool: str, result: Any = "ok", *, turn: int | None = None, **arguments: Any) -> Call:
    return Call(tool, arguments, result, turn=turn)


def refused(tool: str, **arguments: Any) -> Call:
    return Call(tool, arguments, error="Error: refused")


def talk(last: Call, answer: str = "Yes, please.") -> Trace:
    return [agent("I will change this. Do you agree?"), user(answer), last]


hand_over = call("transfer_to_human_agents", summary="")
announced = agent("YOU ARE BEING TRANSFERRED TO A HUMAN AGENT. PLEASE HOLD ON.")
one_by_one: Trace = [call("think", turn=1), call("think", turn=2)]
at_once: Trace = [call("think", turn=1), call("think", turn=1)]
COMMON: list[tuple[Trace, Trace]] = [
    (one_by_one, at_once),
    ([agent("Hello!", 1), call("think", turn=2)], [agent("One moment.", 1), call("think", turn=1)]),
    ([hand_over, announced], [announced]),
    ([call("think"), hand_over], [hand_over, call("think")]),
]

booking = call("book_reservation", user_id="mia", cabin="economy")
profile = call("get_user_details", {"name": "Mia"}, user_id="mia")
cancel = call("cancel_reservation", reservation_id="A")
baggage = call("update_reservation_baggages", reservation_id="A", total_baggages=1)
basic = call("update_reservation_flights", reservation_id="A", cabin="basic_economy", payment_id="gift_card_1")
certificate = call("send_certificate", user_id="mia", amount=50)


def reservation(tool: str = "get_reservation_details", **given: Any) -> Call:
    found = {"reservation_id": "A", "cabin": "economy", "insurance": "no", "created_at": "2024-05-01T10:00:00", **given}
    return call(tool, found, reservation_id="A")


AIRLINE: list[tuple[Trace, Trace]] = [
    (talk(cancel), talk(cancel, "Please hurry.")),
    *COMMON,
    ([profile, booking], [booking]),
    ([reservation("book_reservation"), baggage], [baggage]),
    ([reservation(), cancel], [refused("get_reservation_details", reservation_id="A"), cancel]),
    ([reservation(), call("get_flight_status", "cancelled"), cancel], [reservation(), cancel]),
    ([reservation(), basic], [reservation(cabin="basic_economy"), basic]),
    ([basic], [call("update_reservation_flights", payment_id="certificate_7")]),
    ([profile, certificate], [call("get_user_details", user_id="ann"), certificate]),
    ([reservation(), certificate], [certificate]),
    ([user("I want compensation."), certificate], [user("My flight is late."), certificate]),
]  # fmt: skip

found = call("find_user_id_by_email", "mia", email="mia@example.com")
cancel_order = call("cancel_pending_order", order_id="#1", reason="no longer needed")
items = call("modify_pending_order_items", order_id="#1", item_ids=["1"])
address = call("modify_pending_order_address", order_id="#1", zip="1")
returned = call("return_delivered_order_items", order_id="#1", item_ids=["1"])
exchanged = call("exchange_delivered_order_items", order_id="#1", item_ids=["2"])


def order(status: str, owner: str = "mia") -> Call:
    return call("get_order_details", {"order_id": "#1", "user_id": owner, "status": status}, order_id="#1")


RETAIL: list[tuple[Trace, Trace]] = [
    (talk(returned), talk(returned, "It is broken.")),
    *COMMON,
    ([found, address], [address]),
    ([found, profile], [profile]),
    ([found, order("pending")], [found, order("pending", "ann")]),
    ([order("pending"), cancel_order], [order("processed"), cancel_order]),
    ([cancel_order], [call("cancel_pending_order", order_id="#1", reason="too dear")]),
    ([order("pending (item modified)"), address], [address]),
    ([address, items], [items, address]),
    ([order("delivered"), returned], [order("pending"), returned]),
    ([order("delivered"), exchanged], [exchanged]),
    ([exchanged], [exchanged, returned]),
]

request = call("send_payment_request", bill_id="B1")
resume = call("resume_line", line_id="L1")


def bill(status: str) -> Call:
    return call("get_details_by_id", {"bill_id": "B1", "status": status}, id="B1")


def line(end: str) -> Call:
    return call("get_details_by_id", {"line_id": "L1", "contract_end_date": end}, id="L1")


def refuel(amount: float) -> Call:
    return call("refuel_data", line_id="L1", gb_amount=amount)


bills = call("get_bills_for_customer", [{"bill_id": "B0", "status": "Paid"}, {"bill_id": "B1", "status": "Overdue"}])
TELECOM: list[tuple[Trace, Trace]] = [
    (talk(refuel(1)), talk(refuel(1), "It is slow.")),
    *COMMON,
    ([hand_over, announced], [hand_over]),
    ([call("get_customer_by_phone", {"customer_id": "C1"}), resume], [resume]),
    ([bills, request], [bill("Issued"), request]),
    ([line("2026-12-31"), resume], [resume]),
    ([line("2026-12-31"), resume], [line("2025-01-31"), resume]),
    ([request, bill("Paid"), resume], [request, bill("Awaiting Payment"), resume]),
    ([refuel(1), refuel(1)], [refuel(2), refuel(0.5)]),
    ([agent("1 GB costs $2.00."), refuel(1)], [agent("How much data do you want?"), refuel(1)]),
]
refusal = Call("update_order", {"id": 1}, error="no such order")
GENERAL: list[tuple[Trace, Trace]] = [
    ([call("look"), hand_over], [call("hand_off_to_billing"), call("look")]),
    ([refusal, call("get_order"), refusal], [refusal, call("look"), refused("send_mail")]),
    ([refusal, call("look"), refusal], [refusal, Call("update_order", {"id": 1})]),
]
TRACES = {"general": GENERAL, "tau_airline": AIRLINE, "tau_retail": RETAIL, "tau_telecom": TELECOM}
CASES = [(name, number) for name, traces in TRACES.items() for number in range(len(traces))]
NEVER_APPLIES_IF_KEPT = {
    "never cancel_reservation", "never update_reservation_flights", "never cancel_pending_order(reason", "never resume",
    "never failed write",
}  # fmt: skip


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_an_example_loads_without_warnings_and_explains_every_rule(file: Path) -> None:
    found = load_rules(file)
    assert not found.warnings
    assert len(found.rules) == len(TRACES[file.stem])
    for entry in yaml.safe_load(file.read_text(encoding="utf-8"))["rules"]:
        assert entry.keys() - {"attempted"} == {"rule", "because", "severity"}, entry


@pytest.mark.parametrize(("name", "number"), CASES)
def test_each_rule_is_kept_by_one_trace_and_broken_by_another(name: str, number: int) -> None:
    rule = load_rules(ROOT / "examples" / "rules" / f"{name}.yaml").rules[number]
    kept, broken = TRACES[name][number]
    right = {State.KEPT}
    if any(str(rule).startswith(text) for text in NEVER_APPLIES_IF_KEPT):
        right.add(State.NOT_APPLIED)
    assert judge([rule], kept)[0].state in right, str(rule)
    assert judge([rule], broken)[0].state in (State.BROKEN, State.OWED), str(rule)


@pytest.mark.parametrize(
    ("answer", "consents"),
    [
        ("Yes", True), ("yes, go ahead", True), ("Please proceed.", True), ("I confirm.", True), ("Sure!", True),
        ("That works for me", True), ("OK", True), ("Sounds good, thanks", True), ("That’s fine", True),
        ("Great, make those changes.", True), ("Of course", True), ("Confirm.", True), ("Oui, merci", True),
        ("No.", False), ("How much is it?", False), ("Can you make sure it is free?", False), ("I am not sure", False),
        ("Which eyes?", False), ("My id is mia_1.", False), ("", False), ("Can you confirm that?", False),
        ("Okay, can you add a bag?", False), ("Sure! My id is mia_1. Is it free?", False),
    ],
)  # fmt: skip
def test_what_counts_as_consent(answer: str, consents: bool) -> None:
    for name, write in (("tau_airline", cancel), ("tau_retail", returned), ("tau_telecom", refuel(1))):
        rule = load_rules(ROOT / "examples" / "rules" / f"{name}.yaml").rules[0]
        assert judge([rule], talk(write, answer))[0].is_kept is consents


@pytest.mark.parametrize(
    ("name", "write", "answer", "consents"),
    [
        ("tau_airline", booking, "Please use my gift card.", True),
        ("tau_airline", booking, "I will use the Visa ending in 6437.", True),
        ("tau_airline", booking, "I'd like to go with the second flight.", False),
        ("tau_airline", cancel, "Please cancel all of them.", True),
        ("tau_airline", cancel, "Can you cancel them now?", False),
        ("tau_airline", cancel, "I'd like to cancel my flight.", False),
        ("tau_retail", cancel_order, "Both.", True),
        ("tau_retail", exchanged, "I'd like to go with the second lamp.", True),
        ("tau_retail", exchanged, "Could you use that information?", False),
        ("tau_telecom", refuel(2), "I'd like to refuel 2.0 GB. What is next?", True),
        ("tau_telecom", refuel(2), "It says 15.1 GB. What is next?", False),
    ],
)
def test_what_counts_as_consent_there(name: str, write: Call, answer: str, consents: bool) -> None:
    rule = load_rules(ROOT / "examples" / "rules" / f"{name}.yaml").rules[0]
    assert judge([rule], talk(write, answer))[0].is_kept is consents


def test_consent_covers_a_list_until_the_user_says_something_else() -> None:
    rule = load_rules(ROOT / "examples" / "rules" / "tau_airline.yaml").rules[0]
    beside: Trace = [agent("Is that right? I will cancel it now.", 2), call("cancel_reservation", turn=2)]
    assert judge([rule], [*talk(cancel), baggage, *beside])[0].is_kept
    for said, agreed in (("My gift card.", True), ("Change of plans.", True), ("Add a bag.", False)):
        asked = [*talk(cancel), agent("Done. Anything else?"), user(said), baggage]
        assert judge([rule], asked)[0].is_kept is agreed, said


def test_a_profile_that_is_not_found_is_not_looked_at() -> None:
    rule = load_rules(ROOT / "examples" / "rules" / "tau_retail.yaml").rules[6]
    assert judge([rule], [found, refused("get_user_details", user_id="mai")])[0].is_kept


def test_the_page_shows_the_tables_of_the_study() -> None:
    for file in REAL:
        real(file)
    page = (ROOT / "docs" / "tau-rules.md").read_text(encoding="utf-8")
    for table in tables().split("\n\n"):
        assert table.strip() in page, "run: python -m benchmarks.tau_rules"
