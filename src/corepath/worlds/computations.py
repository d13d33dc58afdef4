"""A calculator: a tool for every arithmetic step, a memory that everyone shares, and a sheet for the results."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from corepath import (
    Action,
    Decoy,
    Matcher,
    Pick,
    Policy,
    Procedure,
    Task,
    Tool,
    ToolError,
    World,
    any_order,
    approx,
    before,
    choice,
    needed,
    never,
    result_of,
    seq,
    unordered,
)

RULES = """
You work at a calculating desk with a set of tools, one memory and a result sheet.
Use a tool for every calculation, even an easy one, and go on with its result as it is.
Put all numbers of one sum, product or average into one call, unless you add up in the memory.
Never build on a figure in the memory that you did not put there: clear it, or store over it.
Unless it is asked for otherwise, clear the memory when you are done.
Calculate with six decimals. Where a result is to be rounded, set fewer decimals once all that goes into it is at hand,
and six again after it.
Check a quotient by multiplying it back before you write it down.
Write each line of the sheet once. Never erase a line.
Sign the sheet last, with the memory clear and six decimals set. A sheet is signed only if that is asked for.
Do what was asked and leave everything else as it is.
"""


@dataclass
class Desk:
    """The state of the calculating desk: memory, number of decimals, sheet, and whether the sheet is signed."""

    memory: float | None = None
    decimals: int = 6
    sheet: dict[str, float] = field(default_factory=dict)
    signed: bool = False
    _foreign: bool = False
    _rewritten: bool = False

    def foreign(self) -> bool:
        """Whether the memory still contains somebody else's number."""
        return self._foreign

    def rewritten(self) -> bool:
        """Whether a line on the sheet was written twice."""
        return self._rewritten

    def unfinished(self) -> bool:
        """Whether the memory is not empty or the number of decimals is not six."""
        return self.memory is not None or self.decimals != 6

    def holds(self, *, memory: float | None = None, signed: bool = False, **sheet: float) -> bool:
        """Whether the memory, signature and sheet have these values and the number of decimals is six."""
        return (
            (self.memory is None) == (memory is None)
            and close(self.memory or 0.0, memory or 0.0)
            and self.decimals == 6
            and self.signed == signed
            and self.sheet.keys() == sheet.keys()
            and all(close(self.sheet[line], value) for line, value in sheet.items())
        )


def close(one: float, other: float) -> bool:
    """Whether two numbers are equal within a thousandth."""
    return abs(one - other) < 0.001


world = World("computations", Desk, RULES)


@world.read
def add_numbers(desk: Desk, numbers: list[float]) -> dict[str, float]:
    """The sum of all the numbers."""
    return _result(desk, math.fsum(_some(numbers)))


@world.read
def subtract_numbers(desk: Desk, number: float, subtract: float) -> dict[str, float]:
    """A number less another."""
    return _result(desk, number - subtract)


@world.read
def multiply_numbers(desk: Desk, numbers: list[float]) -> dict[str, float]:
    """The product of all the numbers."""
    return _result(desk, math.prod(_some(numbers)))


@world.read
def divide_numbers(desk: Desk, number: float, by: float) -> dict[str, float]:
    """A number divided by another."""
    if by == 0:
        raise ToolError("nothing can be divided by zero")
    return _result(desk, number / by)


@world.read
def calculate_average(desk: Desk, numbers: list[float]) -> dict[str, float]:
    """The average of all the numbers."""
    return _result(desk, math.fsum(_some(numbers)) / len(numbers))


@world.read
def square_root(desk: Desk, number: float) -> dict[str, float]:
    """The square root of a number."""
    if number < 0:
        raise ToolError(f"{number} has no square root")
    return _result(desk, math.sqrt(number))


@world.read
def recall_memory(desk: Desk) -> dict[str, float | None]:
    """What is in the memory: null where it is clear."""
    return {"result": desk.memory}


@world.read
def look_at_desk(desk: Desk) -> dict[str, Any]:
    """What is in the memory, how many decimals are set, which lines are on the sheet and whether it is signed."""
    return {"memory": desk.memory, "decimals": desk.decimals, "sheet": dict(desk.sheet), "signed": desk.signed}


@world.write
def store_memory(desk: Desk, number: float) -> str:
    """Put a number into the memory, in place of what is in it."""
    _keep(desk, number)
    return "done"


@world.write
def add_to_memory(desk: Desk, number: float) -> str:
    """Add a number to the one in the memory; a clear memory counts as 0."""
    _keep(desk, (desk.memory or 0.0) + number, foreign=desk.foreign())
    return "done"


@world.write
def subtract_from_memory(desk: Desk, number: float) -> str:
    """Subtract a number from the one in the memory; a clear memory counts as 0."""
    _keep(desk, (desk.memory or 0.0) - number, foreign=desk.foreign())
    return "done"


@world.write
def clear_memory(desk: Desk) -> str:
    """Empty the memory."""
    _keep(desk, None)
    return "done"


@world.write
def set_decimals(desk: Desk, decimals: int) -> str:
    """Set to how many decimals, 0 to 10, the arithmetic tools round their results."""
    if not 0 <= decimals <= 10:
        raise ToolError(f"there are 0 to 10 decimals, not {decimals}")
    desk.decimals = decimals
    return "done"


@world.write
def write_result(desk: Desk, line: str, value: float) -> str:
    """Write a value on a line of the sheet that is not signed yet."""
    if desk.signed or not line:
        raise ToolError("the sheet is signed, or the line has no name")
    desk._rewritten |= line in desk.sheet  # noqa: SLF001  # the field is private to agents
    desk.sheet[line] = value
    return "done"


@world.write
def erase_result(desk: Desk, line: str) -> str:
    """Take a line off the sheet."""
    if line not in desk.sheet:
        raise ToolError(f"no line '{line}'; there is {', '.join(desk.sheet) or 'none'}")
    del desk.sheet[line]
    return "done"


@world.write
def sign_sheet(desk: Desk) -> str:
    """Sign the sheet. Nothing can be written on it after that."""
    desk.signed = True
    return "done"


def _some(numbers: list[float]) -> list[float]:
    if not numbers:
        raise ToolError("give at least one number")
    return numbers


def _finite(number: float) -> float:
    if not math.isfinite(number) or abs(number) > 1e15:
        raise ToolError("the result is too large for the desk")
    return number


def _result(desk: Desk, number: float) -> dict[str, float]:
    return {"result": round(_finite(number), desk.decimals)}


def _keep(desk: Desk, number: float | None, *, foreign: bool = False) -> None:
    desk.memory = None if number is None else round(_finite(number), 6)
    desk._foreign = foreign  # noqa: SLF001  # the field is private to agents


NOT_THERE = "Never build on a figure in the memory that you did not put there"
world.policy(
    never(add_to_memory.any(), when=Desk.foreign, because=NOT_THERE),
    never(subtract_from_memory.any(), when=Desk.foreign, because=NOT_THERE),
    never(leaves=Desk.rewritten, because="Write each line of the sheet once"),
    never(erase_result.any(), because="Never erase a line", severity="high"),
    never(sign_sheet(), when=Desk.unfinished, because="with the memory clear and six decimals set"),
)

SIX = {"six decimals": 6}
AT_HAND = "set fewer decimals once all that goes into it is at hand"


def those(*numbers: Any) -> Any:
    """Return a matcher for a list of these numbers or matchers in any order. Numbers match approximately."""
    return unordered([number if isinstance(number, Matcher) else approx(number) for number in numbers])


def of(step: Action) -> Any:
    """Return a matcher for the number that the calculation `step` returned."""
    return result_of(step, "result")


def gives(tool: Tool, number: float) -> Action:
    """Return an action that matches any `tool` call whose result is within a hundredth of `number`."""
    return tool.any().returns({"result": approx(number, tol=0.01)})


def by_tool(calculation: Action, *lines: str) -> list[Policy]:
    """Return policies that require the call `calculation` before writing any of these lines on the sheet."""
    because = "Use a tool for every calculation, even an easy one"
    return [before(calculation, write_result.where(line=line), because=because) for line in lines]


def total(numbers: list[Any], first: list[Action]) -> Procedure:
    """Return the steps that make the calls in `first` and then add up `numbers` in the memory.

    The order within each group is free. The memory's old number is either cleared or overwritten by one of `numbers`.
    """
    stored = choice(*(
        seq(store_memory(number), any_order(*map(add_to_memory, [*numbers[:index], *numbers[index + 1 :]])))
        for index, number in enumerate(numbers)
    ))  # fmt: skip
    added = any_order(*map(add_to_memory, numbers))
    return choice(seq(any_order(clear_memory(), *first), choice(added, stored)), seq(any_order(*first), stored))


@world.task
def average(pick: Pick) -> Task:
    """Calculate one average and change nothing. This task is in the paper's table."""
    numbers: list[float] = pick([10, 20, 30], [4, 11, 18], [2.5, 7, 10])
    mean = sum(numbers) / 3
    return Task(
        prompt="Calculate the average of the numbers {}, {}, and {}.".format(*numbers),
        procedure=calculate_average(those(*numbers)),
        goal=Desk.holds,
        policies=[needed(calculate_average.any(), because="Calculate the average")],
        decoys={
            "added up in the memory too": Decoy([*map(add_to_memory, numbers), recall_memory(), clear_memory(),
                                                 calculate_average(numbers)], "unlisted"),
            "kept in the memory for a while": Decoy([calculate_average(numbers), store_memory(mean), clear_memory()],
                                                    "after_completion"),
        },
    )  # fmt: skip


@world.task
def average_then_scale(pick: Pick) -> Task:
    """Store an average in the memory, recall and scale it, and clear the memory before signing."""
    numbers: list[float] = pick([12, 18, 24], [5, 6, 13], [40, 44, 54])
    factor = pick(2.5, 1.5)
    mean = sum(numbers) / 3
    averaged, recalled = calculate_average(those(*numbers)), recall_memory()
    scaled = multiply_numbers(those(of(recalled), factor))
    start = [calculate_average(numbers), store_memory(mean)]
    lines = [write_result("average", mean), write_result("scaled", mean * factor)]
    product = multiply_numbers([mean, factor])
    return Task(
        prompt=f"Keep the average of {', '.join(map(str, numbers))} in the memory, recall it and multiply what you "
        f"recalled by {factor}. Write the average on line 'average' and the product on line 'scaled'. Sign the sheet.",
        procedure=seq(averaged, any_order(
            write_result("average", of(averaged)),
            seq(choice(store_memory(of(averaged)), add_to_memory(of(averaged))), recalled,
                any_order(clear_memory(), seq(scaled, write_result("scaled", of(scaled)))))), sign_sheet()),
        goal=lambda desk: desk.holds(signed=True, average=mean, scaled=mean * factor),
        policies=[
            *by_tool(gives(calculate_average, mean), "average", "scaled"),
            *by_tool(gives(multiply_numbers, mean * factor), "scaled"),
            *(before(gives(calculate_average, mean), call.any(), because="Keep the average")
              for call in (store_memory, add_to_memory)),
            before(gives(recall_memory, mean), clear_memory(), because="recall it"),
            before(gives(recall_memory, mean), write_result.where(line="scaled"), because="multiply what you recalled"),
        ],
        decoys={
            "signed before the memory was cleared": Decoy(
                [*start, recalled, product, *lines, sign_sheet(), clear_memory()], "out_of_order"),
            "written before it was calculated": Decoy(
                [*start, recalled, *lines, product, clear_memory(), sign_sheet()], "out_of_order"),
        },
    )  # fmt: skip


@world.task
def receipts(pick: Pick) -> Task:
    """Add up receipts in a memory that holds somebody else's number. The total must not include that number."""
    numbers, left = pick([12.5, 30, 7.25], [8, 19.5, 3], [100, 45.5, 0.5]), pick(17.5, 6)
    recalled = recall_memory()
    added = [*map(add_to_memory, numbers)]
    end = [recalled, write_result("receipts", sum(numbers)), clear_memory()]
    return Task(
        start=Desk(memory=left, _foreign=True),
        prompt=f"Add up the receipts in the memory: {', '.join(map(str, numbers))}. Recall the total and write it on "
        "line 'receipts'.",
        procedure=seq(total([*map(approx, numbers)], []), recalled,
                      any_order(write_result("receipts", of(recalled)), clear_memory())),
        goal=lambda desk: desk.holds(receipts=sum(numbers)),
        policies=[
            before(gives(recall_memory, sum(numbers)), write_result.any(), because="Recall the total and write it"),
            needed(add_to_memory.any(), because="Add up the receipts in the memory"),
        ],
        decoys={
            "the old figure subtracted at the end": Decoy([*added, subtract_from_memory(left), *end], "out_of_order"),
            "the old figure subtracted at once": Decoy([recalled, subtract_from_memory(left), *added, *end],
                                                       "unlisted"),
        },
    )  # fmt: skip


@world.task
def two_shares(pick: Pick) -> Task:
    """Calculate two shares by division, and check each by multiplication before writing it on the sheet."""
    sums = pick({"rent": (84, 7), "food": (135, 9)}, {"rent": (91, 13), "food": (96, 4)})
    parts: list[Procedure] = []
    calls: dict[str, list[Action]] = {}
    policies: list[Policy] = []
    for line, (amount, people) in sums.items():
        share = divide_numbers(approx(amount), approx(people))
        parts.append(seq(share, multiply_numbers(those(of(share), people)), write_result(line, of(share))))
        quotient = amount / people
        calls[line] = [divide_numbers(amount, people), multiply_numbers([quotient, people]),
                       write_result(line, quotient)]  # fmt: skip
        back = before(gives(multiply_numbers, amount), write_result.where(line=line),
                      because="Check a quotient by multiplying it back before you write it down")  # fmt: skip
        policies += [*by_tool(gives(divide_numbers, quotient), line), back]
    (rent, in_rent), (food, in_food) = sums.values()
    one, two = calls["rent"], calls["food"]
    return Task(
        prompt=f"The rent of {rent} is shared by {in_rent} people and the food for {food} by {in_food}. Write on lines "
        "'rent' and 'food' what one of them pays, and sign the sheet.",
        procedure=seq(any_order(*parts), sign_sheet()),
        goal=lambda desk: desk.holds(signed=True, rent=rent / in_rent, food=food / in_food),
        policies=policies,
        decoys={
            "checked after it was written": Decoy([one[0], one[2], one[1], *two, sign_sheet()], "out_of_order"),
            "both checked in the end": Decoy([one[0], two[0], one[2], two[2], one[1], two[1], sign_sheet()],
                                             "out_of_order"),
        },
    )  # fmt: skip


@world.task
def gross_price(pick: Pick) -> Task:
    """Round only the final result, even though rounding every step would give the same number."""
    prices, tax = pick([12.5, 30, 13.75], [8.25, 4.5, 10], [99.5, 0.25, 7]), pick(1.19, 1.07)
    net = sum(prices)
    gross = round(net * tax, 2)
    added = add_numbers(those(*prices))
    taxed = multiply_numbers(those(of(added), tax))
    last = [multiply_numbers([net, tax]), write_result("gross", gross), set_decimals(6), sign_sheet()]
    return Task(
        prompt=f"Add the prices {', '.join(map(str, prices))} and multiply the sum by {tax} for the tax, rounded to 2 "
        "decimals. Write that on line 'gross' and sign the sheet.",
        procedure=seq(added, set_decimals(2), taxed, any_order(set_decimals(6), write_result("gross", of(taxed))),
                      sign_sheet()),
        goal=lambda desk: desk.holds(signed=True, gross=gross),
        says=SIX,
        policies=[
            *by_tool(gives(add_numbers, net), "gross"), *by_tool(gives(multiply_numbers, gross), "gross"),
            before(gives(add_numbers, net), set_decimals(2), because=AT_HAND),
            before(set_decimals(2), write_result.any(), because="rounded to 2 decimals"),
            before(gives(multiply_numbers, gross), set_decimals(6), because="and six again after it"),
        ],
        decoys={
            "rounded from the start": Decoy([set_decimals(2), add_numbers(prices), *last], "out_of_order"),
            "signed too early": Decoy([add_numbers(prices), set_decimals(2), *last[:2], sign_sheet(), set_decimals(6)],
                                      "out_of_order"),
        },
    )  # fmt: skip


@world.task
def borrowed_memory(pick: Pick) -> Task:
    """Use the memory and then restore its number. The final state equals the start state."""
    numbers, kept = pick([15, 27.5, 40], [3, 9.5, 21]), pick(31.25, 108)
    old, recalled = look_at_desk(), recall_memory()
    back = result_of(old, "memory")
    because = "Look at the desk before you change anything"
    adding = [store_memory(numbers[0]), *map(add_to_memory, numbers[1:]), recalled]
    return Task(
        start=Desk(memory=kept, _foreign=True),
        prompt=f"A colleague still needs the figure in the memory. {because}. Add up {', '.join(map(str, numbers))} in "
        "the memory and recall the total, which goes on no sheet. Then put the colleague's figure back.",
        procedure=seq(old, total([*map(approx, numbers)], []), recalled,
                      choice(store_memory(back), seq(clear_memory(), choice(store_memory(back), add_to_memory(back))))),
        goal=lambda desk: desk.holds(memory=kept),
        policies=[
            *(before(old, call.any(), because=because) for call in (store_memory, clear_memory)),
            needed(gives(recall_memory, sum(numbers)), because="recall the total"),
            *(before(gives(recall_memory, sum(numbers)), call(kept), because="Then put the colleague's figure back")
              for call in (store_memory, add_to_memory)),
        ],
        decoys={
            "written down and erased": Decoy(
                [old, *adding, write_result("total", sum(numbers)), erase_result("total"), store_memory(kept)],
                "forbidden"),
            "a wrong number at first": Decoy(
                [old, store_memory(numbers[1] + 1), *adding, store_memory(kept)], "wrong_argument"),
        },
    )  # fmt: skip


@world.task
def alarm_level(pick: Pick) -> Task:
    """Write the average to the sheet only if it is above the level. An average equal to the level does not count."""
    numbers: list[float] = pick([35, 50, 65], [70, 61, 52], [20, 31, 45], [49, 51, 53])
    level = 50
    mean = sum(numbers) / 3
    averaged = calculate_average(those(*numbers))
    call, line = calculate_average(numbers), write_result("alarm", mean)
    at_rest = {
        "written and erased": Decoy([call, line, erase_result("alarm")], "forbidden"),
        "kept in the memory for a while": Decoy([call, store_memory(mean), clear_memory()], "after_completion"),
    }
    alarming = {
        "written before it was calculated": Decoy([line, call, sign_sheet()], "unlisted"),
        "kept in the memory for a while": Decoy([call, store_memory(mean), line, clear_memory(), sign_sheet()],
                                                "unlisted"),
    }  # fmt: skip
    alarm = seq(write_result("alarm", of(averaged)), sign_sheet())
    return Task(
        prompt=f"Calculate the average of {', '.join(map(str, numbers))}. If it is above {level}, write it on line "
        "'alarm' and sign the sheet; if not, change nothing.",
        procedure=seq(averaged, *([alarm] if mean > level else [])),
        goal=(lambda desk: desk.holds(signed=True, alarm=mean)) if mean > level else Desk.holds,
        policies=[needed(averaged, because="Calculate the average"), *by_tool(averaged, "alarm")],
        decoys=alarming if mean > level else at_rest,
    )


@world.task
def two_diagonals(pick: Pick) -> Task:
    """Do two independent chains of calculations, then a last step that needs both results."""
    (a, b, c), (d, e, f) = pick(((3, 4, 5), (6, 8, 10)), ((5, 12, 13), (8, 15, 17)), ((9, 12, 15), (20, 21, 29)))

    def chain(one: int, two: int) -> tuple[Procedure, Action]:
        squares = [multiply_numbers(those(one, one)), multiply_numbers(those(two, two))]
        added = add_numbers(those(*map(of, squares)))
        root = square_root(of(added))
        return seq(any_order(*squares), added, root), root

    def calls(line: str, one: int, two: int, long: int) -> list[Action]:
        squares = [multiply_numbers([one, one]), multiply_numbers([two, two]), add_numbers([one * one, two * two])]
        return [*squares, square_root(long * long), write_result(line, long)]

    def tools(line: str, one: int, two: int, long: int) -> list[Policy]:
        squares = [gives(multiply_numbers, one * one), gives(multiply_numbers, two * two)]
        steps = [*squares, gives(add_numbers, long * long), gives(square_root, long)]
        return [policy for step in steps for policy in by_tool(step, line)]

    (small, short), (large, long) = chain(a, b), chain(d, e)
    more = subtract_numbers(of(long), of(short))
    in_small, in_large = write_result("small", of(short)), write_result("large", of(long))
    first, second = calls("small", a, b, c), calls("large", d, e, f)
    last = [subtract_numbers(f, c), write_result("more", f - c), sign_sheet()]
    return Task(
        prompt=f"A small field is {a} by {b}, a large one {d} by {e}. Calculate the diagonal of each: multiply each "
        "side by itself, add the two products, take the square root. Write the diagonals on lines 'small' and 'large', "
        "then how much longer the large one is on line 'more', and sign the sheet.",
        procedure=seq(choice(seq(any_order(seq(small, in_small), seq(large, in_large)), more),
                             seq(any_order(seq(small, in_small), large), more, in_large),
                             seq(any_order(small, seq(large, in_large)), more, in_small),
                             seq(any_order(small, large), more, any_order(in_small, in_large))),
                      write_result("more", of(more)), sign_sheet()),
        goal=lambda desk: desk.holds(signed=True, small=c, large=f, more=f - c),
        policies=[
            *tools("small", a, b, c), *tools("large", d, e, f),
            *by_tool(gives(subtract_numbers, f - c), "more"),
            *(before(write_result.where(line=line), write_result.where(line="more"), because="then how much longer")
              for line in ("small", "large")),
        ],
        decoys={
            "known by heart, calculated afterwards": Decoy([first[-1], *first[:-1], *second, *last], "out_of_order"),
            "the difference first": Decoy([*first[:-1], *second[:-1], *last[:2], first[-1], second[-1], last[2]],
                                          "out_of_order"),
        },
    )  # fmt: skip


@world.task
def invoice(pick: Pick) -> Task:
    """Add up three amounts in a memory that is not empty, calculate a rounded tax, and write and sign two lines."""
    prices = pick([2.5, 10, 4.25], [3, 8.25, 20], [7.5, 1.5, 6.5])
    counts, tax, left = pick([3, 5, 8], [12, 2, 6]), pick(1.175, 1.067), pick(9.5, 31)
    amounts = [price * count for price, count in zip(prices, counts, strict=True)]
    net = sum(amounts)
    gross = round(net * tax, 2)
    products = [multiply_numbers(those(price, count)) for price, count in zip(prices, counts, strict=True)]
    recalled = recall_memory()
    taxed = multiply_numbers(those(of(recalled), tax))
    rounded = seq(set_decimals(2), taxed, any_order(set_decimals(6), write_result("gross", of(taxed))))
    listed = ", ".join(f"{count} at {price}" for price, count in zip(prices, counts, strict=True))
    first = [multiply_numbers([price, count]) for price, count in zip(prices, counts, strict=True)]
    adding = [clear_memory(), *map(add_to_memory, amounts), recalled, write_result("net", net)]
    last = [multiply_numbers([net, tax]), write_result("gross", gross), set_decimals(6), clear_memory(), sign_sheet()]
    return Task(
        start=Desk(memory=left, _foreign=True),
        prompt=f"An invoice has three items: {listed}. Calculate the three amounts first, then add them up in the "
        f"memory. Recall the total, write it on line 'net', and multiply it by {tax} for the tax, rounded to 2 "
        "decimals, for line 'gross'. Sign the sheet.",
        procedure=seq(total([*map(of, products)], [*products]), recalled,
                      any_order(write_result("net", of(recalled)), clear_memory(), rounded), sign_sheet()),
        goal=lambda desk: desk.holds(signed=True, net=net, gross=gross),
        says=SIX,
        policies=[
            *(before(gives(multiply_numbers, amount), call.any(), because="Calculate the three amounts first")
              for amount in amounts for call in (add_to_memory, store_memory, set_decimals)),
            before(gives(recall_memory, net), write_result.any(), because="Recall the total, write it"),
            *by_tool(gives(multiply_numbers, gross), "gross"),
            before(gives(recall_memory, net), set_decimals(2), because=AT_HAND),
            before(set_decimals(2), write_result.where(line="gross"), because="rounded to 2 decimals"),
            before(gives(multiply_numbers, gross), set_decimals(6), because="and six again after it"),
            needed(add_to_memory.any(), because="add them up in the memory"),
        ],
        decoys={
            "rounded from the start": Decoy([set_decimals(2), *first, *adding, *last], "out_of_order"),
            "the old figure subtracted": Decoy(
                [*first, *adding[1:4], subtract_from_memory(left), *adding[4:], set_decimals(2), *last],
                "out_of_order"),
        },
    )  # fmt: skip


@world.task
def hand_over(pick: Pick) -> Task:
    """Look at the desk to see what a colleague left undone, and reset it to six decimals before calculating."""
    numbers: list[float] = pick([8, 15, 22], [6, 10, 14])
    missing = pick(["average"], ["sum"], ["sum", "average"])
    lines = {"sum": sum(numbers), "average": sum(numbers) / 3}
    tools = {"sum": add_numbers, "average": calculate_average}
    left = pick(12, None)
    start = Desk(memory=left, decimals=2, _foreign=left is not None)
    start.sheet = {line: value for line, value in lines.items() if line not in missing}
    clearing = [] if left is None else [clear_memory()]
    steps = {line: tools[line](those(*numbers)) for line in missing}
    look, because = look_at_desk(), "Look at the desk before you change anything"
    calls = [tools[line](numbers) for line in missing]
    writes = [write_result(line, lines[line]) for line in missing]
    return Task(
        start=start,
        prompt=f"A colleague left the desk before the sheet was done. {because}. On the sheet there must be the lines "
        f"'sum' and 'average', both of {', '.join(map(str, numbers))}; what is there is right. Calculate and write "
        "what is missing, put the desk in order and sign the sheet.",
        procedure=seq(look, any_order(*clearing, seq(set_decimals(6), any_order(
            *(seq(step, write_result(line, of(step))) for line, step in steps.items())))), sign_sheet()),
        goal=lambda desk: desk.holds(signed=True, sum=lines["sum"], average=lines["average"]),
        says=SIX,
        policies=[
            *(before(look, call.any(), because=because) for call in (clear_memory, set_decimals, write_result)),
            *(policy for line in missing for policy in by_tool(gives(tools[line], lines[line]), line)),
            before(set_decimals(6), write_result.any(), because="Calculate with six decimals"),
        ],
        decoys={
            "calculated with what was set": Decoy([look, *calls, *writes, set_decimals(6), *clearing, sign_sheet()],
                                                  "out_of_order"),
            "put in order before looking": Decoy([set_decimals(6), look, *clearing, *calls, *writes, sign_sheet()],
                                                 "out_of_order", fools="state"),
        },
    )  # fmt: skip


@world.task
def stock_count(pick: Pick) -> Task:
    """Add what came in before subtracting what went out, because a stock cannot fall below zero."""
    stock, out, came, gone = pick((100, 120, 300, 250), (40, 60, 200, 90), (15, 30, 80, 45))
    left = stock + came - out - gone
    recalled = recall_memory()
    entries = [subtract_from_memory(out), add_to_memory(came), subtract_from_memory(gone)]
    last = [recalled, write_result("left", left), clear_memory(), sign_sheet()]
    because = "at no time may the figure in the memory be below zero"
    return Task(
        prompt=f"There were {stock} bags in stock. Keep count in the memory: {out} went out, {came} came in, {gone} "
        f"went out. The order of these three is not known, but {because}. Recall what is left, write it on line 'left' "
        "and sign the sheet.",
        procedure=seq(choice(store_memory(approx(stock)), add_to_memory(approx(stock))), add_to_memory(approx(came)),
                      any_order(subtract_from_memory(approx(out)), subtract_from_memory(approx(gone))), recalled,
                      any_order(write_result("left", of(recalled)), clear_memory()), sign_sheet()),
        goal=lambda desk: desk.holds(signed=True, left=left),
        policies=[
            never(leaves=lambda desk: desk.memory is not None and desk.memory < 0, because=because),
            before(gives(recall_memory, left), write_result.any(), because="Recall what is left, write it"),
        ],
        decoys={
            "entered as listed": Decoy([store_memory(stock), *entries, *last], "out_of_order"),
            "signed first": Decoy([store_memory(stock), entries[1], entries[0], entries[2], *last[:2], sign_sheet(),
                                   clear_memory()], "out_of_order"),
        },
    )  # fmt: skip
