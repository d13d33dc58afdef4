"""'read_label' is declared a read and changes the state"""

from corepath import Pick, Task, needed, seq
from tests.verification.broken.shop import Shop, Tools

tools = Tools()
world = tools.world


@world.read
def read_label(shop: Shop) -> str:
    """Read the label."""
    shop._visits += 1
    return "fresh"


@world.task
def buy(pick: Pick) -> Task:
    label = needed(read_label(), because="Read the label")
    prompt = "Read the label. Take 2 of the item 'apple' and pay."
    return tools.sound(prompt=prompt, procedure=seq(read_label(), tools.steps()), policies=[label], decoys={})
