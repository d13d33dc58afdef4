"""is a self-loop in state 'b' and changes the state"""

from corepath import Automaton, Pick, Task, one_of
from tests.verification.broken.shop import Tools

tools = Tools()
world = tools.world


@world.task
def buy(pick: Pick) -> Task:
    actions = {"look": tools.look("apple"), "take": tools.take("apple", 2), "pay": tools.pay()}
    automaton = Automaton.from_transitions(
        actions | {"weigh": tools.weigh_in(one_of(0.0, 1.0))},
        start="a",
        accept=["d"],
        transitions={"a": {"look": "b"}, "b": {"take": "c", "weigh": "b"}, "c": {"pay": "d"}},
    )
    return tools.sound(procedure=None, automaton=automaton)
