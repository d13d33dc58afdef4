"""Repairs: the fewest edits that make a path valid."""

from __future__ import annotations

import corepath
from corepath import (
    Call,
    Task,
    tool,
)
from corepath.explanation import FindingKind, explain
from tests.explanation.helpers import (
    ABC,
    called,
    chain,
    is_repaired,
    texts,
)


def repair_of(name: str, *calls: str | Call) -> str:
    """Execute calls in the world of a task, and return the text of the repair."""
    task = corepath.task(name)
    found = explain(task, corepath.replay(task, calls).calls)
    assert is_repaired(task, found)
    return texts(found, FindingKind.REPAIR)[0].split(". Nearest golden path")[0]


def test_a_call_is_not_moved_where_the_path_is_not_mended_by_it():
    verify = 'verify_field(user_id="u2", field="email", value="alice@example.com")'
    update = 'update_user_email(user_id="u2", email="alice@example.com")'
    assert repair_of("crud/update_email", verify, update, "show_users()") == (
        f"Nearest repair: leave out call 2; go on with {update} and {verify}"
    )
    dryer = 'start_appliance(appliance="dryer")'
    assert "go on with" in repair_of("automation/try_appliances", dryer, "check_presence()", dryer)
    assert "and read_status()" in repair_of("validation/end_of_shift", "read_status()", "read_status()", "nope()")
    places = [f'{name}="{at}")' for at in "BD" for name in ("move_to(place", "scan(plant")]
    back = ['move_to(place="A")', 'scan(plant="A")', 'move_to(place="base")', "lock_safety()"]
    assert repair_of("farm/inspection_round", "unlock_safety()", back[0], *places, *back).startswith(
        "Nearest repair: leave out calls 3, 5, 9 and 10; go on with "
    )


def test_where_one_more_step_mends_the_path_it_is_the_repair():
    assert repair_of(
        "transactions/three_bills", 'get_account(account="A100")',
        'transfer(source="A100", target="B200", amount=200.0)', 'transfer(source="A100", target="C300", amount=450.0)',
        'revoke(account="A100")', 'request_approval(account="A100", amount=620.0)',
    ) == 'Nearest repair: add authorise(account="A100") before call 2'  # fmt: skip


def test_a_step_that_was_refused_for_the_harm_is_not_both_kept_and_done_again():
    money = 'transfer(source="A100", target="B200", amount=120.0)'
    first = ['authorise(account="A100")', 'release_hold(account="A100")', money, 'revoke(account="A100")']
    assert repair_of("transactions/flat_deposit", *first, money, 'place_hold(account="A100", amount=80.0)') == (
        'Nearest repair: leave out call 6; put place_hold(account="A100", amount=80) in the place of call 5'
    )


def test_the_path_beside_the_repair_has_a_row_for_all_that_is_put_in_left_out_and_kept():
    assert explain(ABC, ["a()", "z()", "c()"]).repair == ((0, 0), (1, 1), (2, 2))
    assert explain(ABC, ["a()", "get_x()", "c()"]).repair == ((0, 0), (None, 1), (2, 2))
    assert explain(chain(*"ab"), called(*"ba")).repair == ((1, 0), (None, 1)), "a call that is moved is made anew"
    sent = Task("send", procedure=tool("send")(), reads=[tool("look").any()])
    assert explain(sent, called("send", "send")).repair == ((0, 0), (1, None)), "no read stands in for a call"
    assert explain(ABC, ["a()"]).repair == ()
