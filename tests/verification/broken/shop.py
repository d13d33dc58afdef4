"""A small sound world. Each broken file builds its own and spoils one thing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from corepath import Decoy, Procedure, Task, ToolError, World, before, never, seq

RULES = """
Look at an item before you take it.
Never empty the till. Take nothing more once you have paid.
"""


@dataclass
class Shop:
    stock: dict[str, int] = field(default_factory=lambda: {"apple": 5, "pear": 3})
    basket: dict[str, int] = field(default_factory=dict)
    weight: float = 0.0
    paid: bool = False
    till: int = 10
    _visits: int = 0


class Tools:
    """The shop's world and its tools."""

    def __init__(self, rules: str = RULES) -> None:
        self.world = world = World("broken", Shop, rules)

        @world.read
        def look(shop: Shop, item: str) -> dict[str, Any]:
            """What an item costs, and whether it is fresh."""
            if item not in shop.stock:
                raise ToolError(f"no item '{item}'")
            return {"price": 7, "fresh": True}

        @world.write
        def take(shop: Shop, item: str, count: int) -> str:
            """Put so many of an item into the basket."""
            if not 0 < count <= shop.stock.get(item, 0):
                raise ToolError("there are not so many")
            shop.stock[item] -= count
            shop.basket[item] = shop.basket.get(item, 0) + count
            return "done"

        @world.write
        def put_back(shop: Shop, item: str) -> str:
            """Put all of an item back."""
            shop.stock[item] = shop.stock.get(item, 0) + shop.basket.pop(item, 0)
            return "done"

        @world.write
        def weigh_in(shop: Shop, kilograms: float) -> str:
            """Write down what the basket weighs."""
            shop.weight = round(kilograms, 6)
            return "done"

        @world.write
        def pay(shop: Shop) -> str:
            """Pay for what is in the basket."""
            if not shop.basket:
                raise ToolError("the basket is empty")
            shop.paid = True
            return "done"

        @world.write
        def empty_till(shop: Shop) -> str:
            """Take all money out of the till."""
            shop.till = 0
            return "done"

        self.look, self.take, self.put_back, self.weigh_in = look, take, put_back, weigh_in
        self.pay, self.empty_till = pay, empty_till
        world.policy(
            never(empty_till(), because="Never empty the till"),
            never(take.any(), when=lambda shop: shop.paid, because="Take nothing more once you have paid"),
        )

    def sound(self, **changes: Any) -> Task:
        """A sound task with these fields changed."""
        look, take = self.look("apple"), self.take("apple", 2)
        fields: dict[str, Any] = {
            "prompt": "Take 2 of the item 'apple' and pay.",
            "procedure": seq(look, take, self.pay()),
            "goal": lambda shop: shop.basket == {"apple": 2} and shop.paid and not shop.weight,
            "policies": [before(look, take, because="Look at an item before you take it")],
            "decoys": {"taken unseen": Decoy([take, look, self.pay()], "out_of_order")},
        }
        return Task(**(fields | changes))

    def steps(self) -> Procedure:
        """The sound task's procedure."""
        return seq(self.look("apple"), self.take("apple", 2), self.pay())
