"""A calculating desk: tools for arithmetic and units, a memory that everyone shares, and a sheet to sign."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from corepath import (
    Action,
    Decoy,
    Pick,
    Procedure,
    Rule,
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
    one_of,
    result_of,
    seq,
    unordered,
)

RULES = """
You work at a calculating desk with a set of tools, one memory and one sheet for the results.
If a task speaks of the sheet, its lines or the memory, look at the desk before you do anything else.
Use a tool for every calculation, even an easy one, and go on with its result as it is.
Put all numbers of one sum, product or average into one call, unless you add up in the memory.
Calculate with six decimals: if the desk is set to fewer, set six first.
Convert all figures to the unit of the sheet before you calculate with any of them.
If a figure has more decimals than the sheet, round it before you write it down. Calculate with the figure as it was
before it was rounded, except for the control sum.
Check a quotient by multiplying it back, and a product above 200 by dividing it by one of its factors, before you write
it down.
Use the memory only if the task says so.
Never build on a figure in the memory that you did not put there. If the memory is kept for a colleague, store over
their figure and store it again in the end, but never clear it. If not, clear the memory before you use it, and again in
the end.
Write each line of the sheet once. If a line is wrong, correct it; never erase a line.
When all lines are right, add them up and write this control sum at the foot of the sheet if it has two lines or more.
Change no line after that.
Sign the sheet last, and only if that is asked for.
Do what was asked and leave everything else as it is.
"""
ADVICE = (
    "You work at a calculating desk with a set of tools, one memory and one sheet for the results.",
    "Do what was asked and leave everything else as it is.",
)
Unit = Literal["EUR", "ct", "kg", "g", "t", "m", "cm", "mm"]
UNITS: Final = {
    "money": {"EUR": 1.0, "ct": 0.01},
    "weight": {"kg": 1.0, "g": 0.001, "t": 1000.0},
    "length": {"m": 1.0, "cm": 0.01, "mm": 0.001},
}


@dataclass
class Desk:
    """The state of the calculating desk: the memory, the number of decimals and the sheet."""

    memory: float | None = None
    kept_for: str | None = None
    decimals: int = 6
    sheet_unit: str | None = None
    sheet_decimals: int = 2
    sheet: dict[str, float] = field(default_factory=dict)
    corrected: list[str] = field(default_factory=list)
    foot: float | None = None
    signed: bool = False
    _foreign: bool = False
    _rewritten: bool = False
    _due: float | None = None

    def foreign(self) -> bool:
        """Whether the memory still contains somebody else's number."""
        return self._foreign

    def rewritten(self) -> bool:
        """Whether a line on the sheet was written twice."""
        return self._rewritten

    def coarse(self) -> bool:
        """Whether the number of decimals is not six."""
        return self.decimals != 6

    def kept(self) -> bool:
        """Whether the memory is kept for a colleague."""
        return self.kept_for is not None

    def left_over(self) -> bool:
        """Whether the memory still contains an old number that is kept for nobody."""
        return self._foreign and not self.kept()

    def memory_in_use(self) -> bool:
        """Whether the memory is not as it must be left: clear, or with the colleague's number."""
        return self.memory != self._due or self.kept() != (self._due is not None)

    def added_up(self) -> bool:
        """Whether the control sum is written."""
        return self.foot is not None

    def lacks_foot(self) -> bool:
        """Whether the sheet needs a control sum and has none."""
        return len(self.sheet) > 1 and self.foot is None

    def wrong_foot(self) -> bool:
        """Whether the control sum differs from the sum of the lines."""
        return self.foot is not None and not close(self.foot, sum(self.sheet.values()))

    def holds(self, *, signed: bool = False, foot: bool = False, corrected: str = "", **sheet: float) -> bool:
        """Whether the sheet has these lines, a control sum and a signature, and the rest of the desk is in order."""
        return (
            not self.memory_in_use()
            and not self.coarse()
            and self.signed == signed
            and self.corrected == corrected.split()
            and self.sheet.keys() == sheet.keys()
            and all(close(self.sheet[line], value) for line, value in sheet.items())
            and self.added_up() == foot
            and not self.wrong_foot()
        )


def close(one: float, other: float) -> bool:
    """Whether two numbers are equal within a thousandth."""
    return abs(one - other) < 0.001


world = World("computations", Desk, RULES, advice=ADVICE)


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
def convert_unit(desk: Desk, number: float, unit: Unit, to: Unit) -> dict[str, float]:
    """A figure in one unit, converted to another unit of the same kind (money, weight or length)."""
    for factors in UNITS.values():
        if unit in factors and to in factors:
            return {"result": round(_finite(number * factors[unit] / factors[to]), 6)}
    raise ToolError(f"{unit} cannot be converted to {to}")


@world.read
def round_number(desk: Desk, number: float, decimals: int) -> dict[str, float]:
    """A figure rounded to 0 to 10 decimals, whatever the desk is set to."""
    return {"result": round(_finite(number), _places(decimals))}


@world.read
def recall_memory(desk: Desk) -> dict[str, float | None]:
    """What is in the memory: null where it is clear."""
    return {"result": desk.memory}


@world.read
def look_at_desk(desk: Desk) -> dict[str, Any]:
    """The memory and whom it is kept for, the decimals set, and the sheet with its unit, decimals and lines."""
    names = ("memory", "kept_for", "decimals", "sheet_unit", "sheet_decimals", "foot", "signed")
    return {name: getattr(desk, name) for name in names} | {"lines": dict(desk.sheet), "corrected": [*desk.corrected]}


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
    """Empty the memory. It is kept for nobody after that."""
    _keep(desk, None)
    desk.kept_for = None
    return "done"


@world.write
def set_decimals(desk: Desk, decimals: int) -> str:
    """Set to how many decimals, 0 to 10, sums, differences, products, quotients, averages and roots are rounded."""
    desk.decimals = _places(decimals)
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
def correct_result(desk: Desk, line: str, value: float) -> str:
    """Strike out the value on a line of the sheet that is not signed yet, and write another beside it."""
    _on_sheet(desk, line)
    if desk.signed:
        raise ToolError("the sheet is signed")
    desk.sheet[line] = value
    desk.corrected.append(line)
    return "done"


@world.write
def erase_result(desk: Desk, line: str) -> str:
    """Take a line off the sheet."""
    _on_sheet(desk, line)
    del desk.sheet[line]
    return "done"


@world.write
def write_foot(desk: Desk, value: float) -> str:
    """Write the control sum at the foot of the sheet."""
    if desk.signed:
        raise ToolError("the sheet is signed")
    desk.foot = value
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


def _places(decimals: int) -> int:
    if not 0 <= decimals <= 10:
        raise ToolError(f"there are 0 to 10 decimals, not {decimals}")
    return decimals


def _finite(number: float) -> float:
    if not math.isfinite(number) or abs(number) > 1e15:
        raise ToolError("the result is too large for the desk")
    return number


def _result(desk: Desk, number: float) -> dict[str, float]:
    return {"result": round(_finite(number), desk.decimals)}


def _on_sheet(desk: Desk, line: str) -> None:
    if line not in desk.sheet:
        raise ToolError(f"no line '{line}'; there is {', '.join(desk.sheet) or 'none'}")


def _keep(desk: Desk, number: float | None, *, foreign: bool = False) -> None:
    desk.memory = None if number is None else round(_finite(number), 6)
    desk._foreign = foreign  # noqa: SLF001  # the field is private to agents


NOT_THERE = "Never build on a figure in the memory that you did not put there"
ADD_UP = "When all lines are right, add them up"
world.policy(
    never(add_to_memory.any(), when=Desk.foreign, because=NOT_THERE),
    never(subtract_from_memory.any(), when=Desk.foreign, because=NOT_THERE),
    never(leaves=Desk.rewritten, because="Write each line of the sheet once"),
    never(erase_result.any(), because="never erase a line", severity="high"),
    *(never(call.any(), when=Desk.added_up, because="Change no line after that")
      for call in (write_result, correct_result)),
    never(write_foot.any(), leaves=Desk.wrong_foot, because=ADD_UP),
    never(sign_sheet(), when=Desk.lacks_foot,
          because="write this control sum at the foot of the sheet if it has two lines or more"),
    never(clear_memory(), when=Desk.kept, because="never clear it"),
    never(store_memory.any(), when=Desk.left_over, because="clear the memory before you use it"),
    never(sign_sheet(), when=lambda desk: desk.memory_in_use() and not desk.kept(),
          because="clear the memory before you use it, and again in the end"),
    never(sign_sheet(), when=lambda desk: desk.memory_in_use() and desk.kept(), because="store it again in the end"),
)  # fmt: skip

SIX = {"six decimals": 6}
TOOL = "Use a tool for every calculation, even an easy one"
ONE_CALL = "Put all numbers of one sum, product or average into one call"
NO_MEMORY = [never(call.any(), because="Use the memory only if the task says so")
             for call in (store_memory, add_to_memory, subtract_from_memory)]  # fmt: skip
NO_SIGNATURE = never(sign_sheet(), because="only if that is asked for")


def look_first(*calls: Action) -> list[Rule]:
    """Return policies that require a look at the desk before any of these calls."""
    return [before(look_at_desk(), call, because="look at the desk before you do anything else") for call in calls]


def with_six_decimals(*calls: Action) -> list[Rule]:
    """Return policies that forbid these calculations while the number of decimals is not six."""
    return [never(call, when=Desk.coarse, because="Calculate with six decimals") for call in calls]


def those(*numbers: Any) -> Any:
    """Return a matcher for a list of these numbers or matchers in any order."""
    return unordered([*numbers])


def near(*numbers: float) -> Any:
    """Return a matcher for a list of approximately these numbers in any order."""
    return unordered([*map(approx, numbers)])


def of(step: Action) -> Any:
    """Return a matcher for the number that the calculation `step` returned."""
    return result_of(step, "result")


def listed(figures: Any) -> str:
    """Return the figures as text: `1, 2 and 3`."""
    *rest, last = map(str, figures)
    return f"{', '.join(rest)} and {last}"


def enter(
    line: str, step: Action, value: float, places: int, *checks: Procedure, tool: Any = write_result
) -> Procedure:
    """Return the steps that check the result of `step`, round it if that is needed, and write it on a line."""
    if round(value, places) == value:
        return seq(*([any_order(*checks)] if checks else []), tool(line, of(step)))
    rounded = round_number(of(step), places)
    return seq(any_order(*checks, rounded), tool(line, of(rounded)))


def entries(line: str, value: float, places: int, tool: Any = write_result) -> list[Action]:
    """Return the calls that round a value if that is needed, and write it on a line."""
    shown = round(value, places)
    return [*([] if shown == value else [round_number(value, places)]), tool(line, shown)]


def entry_rules(
    line: str, calculation: Action, value: float, places: int, tool: Any = write_result, because: str = TOOL
) -> list[Rule]:
    """Return policies that require a calculation and, if it is needed, rounding before a value is written on a line."""
    written, rounded = tool.where(line=line), round_number(approx(value), places)
    if round(value, places) == value:
        return [before(calculation, written, because=because)]
    return [
        before(calculation, round_number.where(number=approx(value)), because=because),
        before(rounded, written, because="round it before you write it down"),
    ]


def add_up(*values: float) -> Procedure:
    """Return the steps that add up the lines of the sheet and write the control sum."""
    added = add_numbers(those(*values))
    return seq(added, write_foot(of(added)))


def adds_up(**lines: float) -> list[Rule]:
    """Return policies that require each line before the lines are added up, and that a tool adds them up."""
    added = add_numbers(near(*lines.values()))
    return [
        before(added, write_foot.any(), because=TOOL),
        *(before(write_result.where(line=line), added, because=ADD_UP) for line in lines),
    ]


def foot(*values: float) -> list[Action]:
    """Return the calls that add up the lines of the sheet and write the control sum."""
    return [add_numbers([*values]), write_foot(round(sum(values), 6))]


def converts(conversions: list[Action], *calls: Action) -> list[Rule]:
    """Return policies that require each of these conversions before any of these calls."""
    because = "Convert all figures to the unit of the sheet before you calculate with any of them"
    return [before(one, call, because=because) for one in conversions for call in calls]


def in_memory(figure: float, owner: str | None, **rest: Any) -> Desk:
    """Create a desk with somebody's number in the memory. It is kept for `owner`, or for nobody if that is None."""
    return Desk(memory=figure, kept_for=owner, _foreign=True, _due=figure if owner else None, **rest)


def recalls(total: float) -> Action:
    """Return an action that matches a recall of this number."""
    return recall_memory().returns({"result": approx(total)})


def adds_in_memory(numbers: list[float], total: float, because: str) -> list[Rule]:
    """Return policies that require each number to be put into the memory before their total is recalled."""
    return [before(Tool("*_memory").where(number=approx(number)), recalls(total), because=because)
            for number in numbers]  # fmt: skip


def restore(look: Action, owner: str | None) -> Action:
    """Return the step that leaves the memory as it must be: clear, or with the owner's number."""
    return store_memory(result_of(look, "memory")) if owner else clear_memory()


def begin(first: list[Action], owner: str | None) -> Procedure:
    """Return the steps that make the calls in `first`, and clear the memory unless it is kept for somebody."""
    return any_order(*first, *([] if owner else [clear_memory()]))


def total(numbers: list[Any], owner: str | None) -> Procedure:
    """Return the steps that add up `numbers` in the memory in any order.

    The first number is stored. It may also be added to a memory that is clear, which it is unless it has an owner.
    """
    stored = [seq(store_memory(number), any_order(*map(add_to_memory, [*numbers[:index], *numbers[index + 1 :]])))
              for index, number in enumerate(numbers)]  # fmt: skip
    return choice(*stored, *([] if owner else [any_order(*map(add_to_memory, numbers))]))


@world.task
def average(pick: Pick) -> Task:
    """Calculate one average and change nothing. This task is in the paper's table."""
    numbers: list[float] = pick([10, 20, 30], [4, 11, 18], [2.5, 7, 10])
    averaged = calculate_average(those(*numbers))
    prompt = "Calculate the average of the numbers {}, {}, and {}.".format(*numbers)
    return Task(
        prompt=prompt,
        procedure=averaged,
        goal=Desk.holds,
        policies=[needed(averaged, because=prompt), *NO_MEMORY],
        decoys={
            "added up in the memory too": Decoy([*map(add_to_memory, numbers), recall_memory(), clear_memory(),
                                                 calculate_average(numbers)], "forbidden"),
            "kept in the memory for a while": Decoy(
                [calculate_average(numbers), store_memory(sum(numbers) / 3), clear_memory()], "forbidden"),
        },
    )  # fmt: skip


@world.task
def average_then_scale(pick: Pick) -> Task:
    """Scale an average that was kept in the memory. Both lines are rounded, but the average is scaled unrounded."""
    numbers: list[float] = pick([12, 18, 25], [5, 6, 12], [40, 45, 55])
    factor, places = pick(2.5, 1.5), pick(2, 1)
    mean = round(sum(numbers) / 3, 6)
    product = round(mean * factor, 6)
    shown = {"average": round(mean, places), "scaled": round(product, places)}
    look, averaged, recalled = look_at_desk(), calculate_average(those(*numbers)), recall_memory()
    scaled = multiply_numbers(those(of(recalled), factor))
    kept = choice(store_memory(of(averaged)), add_to_memory(of(averaged)))
    lines = [enter("average", averaged, mean, places), enter("scaled", scaled, product, places)]
    start = [look, calculate_average(numbers), store_memory(mean), recalled]
    in_average, in_scaled = entries("average", mean, places), entries("scaled", product, places)
    scaling = multiply_numbers([mean, factor])
    last = [*foot(*shown.values()), clear_memory(), sign_sheet()]
    return Task(
        start=Desk(sheet_decimals=places),
        prompt=f"Calculate the average of {listed(numbers)} and keep it in the memory. Recall it from there, and "
        f"multiply what you recalled by {factor}. Write the average on line 'average' and the product on line "
        "'scaled'. Sign the sheet.",
        procedure=seq(look, averaged, choice(
            seq(any_order(lines[0], seq(kept, recalled, any_order(clear_memory(), seq(scaled, lines[1])))),
                add_up(*shown.values())),
            seq(any_order(lines[0], seq(kept, recalled, scaled, lines[1])),
                any_order(clear_memory(), add_up(*shown.values())))), sign_sheet()),
        goal=lambda desk: desk.holds(signed=True, foot=True, **shown),
        policies=[
            *look_first(calculate_average(near(*numbers))), *adds_up(**shown),
            *entry_rules("average", calculate_average(near(*numbers)), mean, places, because=ONE_CALL),
            *entry_rules("scaled", multiply_numbers(near(mean, factor)), product, places,
                         because="Calculate with the figure as it was before it was rounded"),
            before(recalls(mean), multiply_numbers(near(mean, factor)),
                   because=f"multiply what you recalled by {factor}"),
        ],
        decoys={
            "signed before the memory was cleared": Decoy(
                [*start, scaling, *in_average, *in_scaled, *last[:2], sign_sheet(), clear_memory()], "out_of_order"),
            "added up before it was written": Decoy(
                [*start, scaling, *in_average[:1], *in_scaled[:1], last[0], *in_average[1:], *in_scaled[1:], *last[1:]],
                "out_of_order"),
            "the rounded average scaled": Decoy(
                [*start, *in_average, multiply_numbers([shown["average"], factor]), *in_scaled, scaling, *last],
                "out_of_order"),
            "scaled before it was kept": Decoy([start[1], scaling, look, *start[2:], *in_average, *in_scaled, *last],
                                               "out_of_order"),
        },
    )  # fmt: skip


@world.task
def receipts(pick: Pick) -> Task:
    """Add up receipts in two units in a memory that holds an old number. The total must not include that number."""
    (one, small, two), left = pick((12.5, 3050, 7.25), (8, 1950, 3), (100, 4550, 0.5)), pick(17.5, 6)
    look, recalled, converted = look_at_desk(), recall_memory(), convert_unit(small, "ct", "EUR")
    numbers = [one, small / 100, two]
    added = [*map(add_to_memory, numbers)]
    end = [recalled, write_result("receipts", sum(numbers)), clear_memory()]
    return Task(
        start=in_memory(left, None, sheet_unit="EUR"),
        prompt=f"Add up these receipts in the memory: {one} EUR, {small} ct and {two} EUR. Recall the total, and only "
        "then write it on line 'receipts'.",
        procedure=seq(look, begin([converted], None), total([one, of(converted), two], None), recalled,
                      any_order(write_result("receipts", of(recalled)), clear_memory())),
        goal=lambda desk: desk.holds(receipts=sum(numbers)),
        policies=[
            *look_first(converted, clear_memory()), NO_SIGNATURE,
            *converts([converted], add_to_memory.any(), store_memory.any()),
            before(recalls(sum(numbers)), write_result.any(), because="only then write it on line 'receipts'"),
            *adds_in_memory(numbers, sum(numbers), "Add up these receipts in the memory"),
        ],
        decoys={
            "the old figure subtracted at the end": Decoy(
                [look, converted, *added, subtract_from_memory(left), *end], "out_of_order"),
            "converted when it was needed": Decoy([look, clear_memory(), added[0], converted, *added[1:], *end],
                                                  "out_of_order"),
            "looked afterwards": Decoy([converted, clear_memory(), *added, *end, look], "out_of_order", fools="state"),
        },
    )  # fmt: skip


@world.task
def two_shares(pick: Pick) -> Task:
    """Calculate two shares by division, check each by multiplication, and write them rounded, with a control sum."""
    (rent, in_rent), (food, in_food) = pick(((100, 7), (80, 3)), ((95, 13), (130, 6)))
    places = pick(2, 1)
    look = look_at_desk()
    parts: list[Procedure] = []
    calls: list[list[Action]] = []
    policies: list[Rule] = []
    shown: dict[str, float] = {}
    for line, amount, people in (("rent", rent, in_rent), ("food", food, in_food)):
        quotient = round(amount / people, 6)
        shown[line] = round(quotient, places)
        share = divide_numbers(amount, people)
        parts.append(seq(share, enter(line, share, quotient, places, multiply_numbers(those(of(share), people)))))
        calls.append([share, multiply_numbers([quotient, people]), *entries(line, quotient, places)])
        back = before(multiply_numbers(near(quotient, people)), write_result.where(line=line),
                      because="Check a quotient by multiplying it back")  # fmt: skip
        policies += [*entry_rules(line, share, quotient, places), back]
    one, two = calls
    last = [*foot(*shown.values()), sign_sheet()]
    return Task(
        start=Desk(sheet_decimals=places),
        prompt=f"The rent of {rent} is shared by {in_rent} people and the food for {food} by {in_food}. Write on lines "
        "'rent' and 'food' what one of them pays, and sign the sheet.",
        procedure=seq(look, any_order(*parts), add_up(*shown.values()), sign_sheet()),
        goal=lambda desk: desk.holds(signed=True, foot=True, **shown),
        policies=[*look_first(one[0], two[0]), *NO_MEMORY, *policies, *adds_up(**shown)],
        decoys={
            "checked after it was written": Decoy([look, one[0], *one[2:], one[1], *two, *last], "out_of_order"),
            "both checked in the end": Decoy([one[0], two[0], look, *one[2:], *two[2:], one[1], two[1], *last],
                                             "out_of_order"),
            "added up before it was written": Decoy(
                [look, *one[:3], *two[:3], last[0], one[3], two[3], *last[1:]], "out_of_order"),
        },
    )  # fmt: skip


@world.task
def gross_price(pick: Pick) -> Task:
    """Convert a price, add the tax and round the result. A high price must be checked before it is written."""
    (one, small, two), tax = pick((72.5, 3015, 83.75), (8.25, 450, 10.15), (99.5, 25, 97)), pick(1.19, 1.07)
    prices = [one, small / 100, two]
    net = round(sum(prices), 6)
    price = round(net * tax, 6)
    look, converted = look_at_desk(), convert_unit(small, "ct", "EUR")
    added = add_numbers(those(one, of(converted), two))
    taxed = multiply_numbers(those(of(added), tax))
    high = price > 200
    checks = [divide_numbers(of(taxed), one_of(tax, of(added)))] if high else []
    check, product = divide_numbers(approx(price), one_of(approx(tax), approx(net))), multiply_numbers(near(net, tax))
    calls = [look, converted, add_numbers(prices), multiply_numbers([net, tax])]
    checked = [divide_numbers(price, tax)] if high else []
    last = [*entries("gross", price, 2), sign_sheet()]
    return Task(
        start=Desk(sheet_unit="EUR"),
        prompt=f"Three prices are {one} EUR, {small} ct and {two} EUR. Add them up and multiply the sum by {tax} for "
        "the tax. Write that on line 'gross' and sign the sheet.",
        procedure=seq(look, converted, added, taxed, enter("gross", taxed, price, 2, *checks), sign_sheet()),
        goal=lambda desk: desk.holds(signed=True, gross=round(price, 2)),
        says=SIX,
        policies=[
            *look_first(converted), *NO_MEMORY, *converts([converted], add_numbers(near(*prices))),
            before(add_numbers(near(*prices)), product, because=ONE_CALL), *with_six_decimals(product),
            *entry_rules("gross", product, price, 2),
            *([before(check, write_result.any(), because="a product above 200 by dividing it by one of its factors")]
              if high else []),
        ],
        decoys={
            "rounded by the desk": Decoy([*calls[:3], set_decimals(2), calls[3], set_decimals(6), *checked, *last],
                                         "unlisted", fools="state"),
            "checked, rounded and converted in the end": Decoy(
                [look, *calls[2:], *last[-2:-1], *last[:-2], *checked, converted, last[-1]], "out_of_order"),
        },
    )  # fmt: skip


@world.task
def borrowed_memory(pick: Pick) -> Task:
    """Use a memory that is kept for a colleague and then restore its number. The final state equals the start state."""
    numbers, kept, owner = pick([15, 27.5, 40], [3, 9.5, 21]), pick(31.25, 108), pick("Ines", "Tom")
    look, recalled = look_at_desk(), recall_memory()
    because = f"Add up {listed(numbers)} in the memory"
    adding = [store_memory(numbers[0]), *map(add_to_memory, numbers[1:]), recalled]
    return Task(
        start=in_memory(kept, owner),
        prompt=f"{because} and recall the total. It goes on no sheet.",
        procedure=seq(look, total(numbers, owner), recalled, restore(look, owner)),
        goal=lambda desk: desk.holds(),
        policies=[
            *look_first(store_memory.any()), NO_SIGNATURE, needed(recalls(sum(numbers)), because="recall the total"),
            *adds_in_memory(numbers, sum(numbers), because),
            never(write_result.any(), because="It goes on no sheet"),
        ],
        decoys={
            "written down and erased": Decoy([look, *adding, write_result("total", sum(numbers)),
                                              erase_result("total"), store_memory(kept)], "forbidden"),
            "added to the colleague's figure": Decoy(
                [look, *map(add_to_memory, numbers), subtract_from_memory(kept), recalled, store_memory(kept)],
                "out_of_order"),
            "recalled, but not looked at": Decoy([recalled, *adding, store_memory(kept)], "out_of_order",
                                                 fools="state"),
        },
    )  # fmt: skip


@world.task
def alarm_level(pick: Pick) -> Task:
    """Write the average of levels in three units only if it is above a limit. The limit itself does not count."""
    metres, centimetres, millimetres = pick((1.35, 150, 1650), (1.7, 161, 1525), (1.2, 131, 1450), (1.49, 151, 1533))
    level = 150
    look = look_at_desk()
    converted = [convert_unit(metres, "m", "cm"), convert_unit(millimetres, "mm", "cm")]
    numbers = [round(metres * 100, 6), centimetres, millimetres / 10]
    mean = round(sum(numbers) / 3, 6)
    averaged, call = calculate_average(those(centimetres, *map(of, converted))), calculate_average(numbers)
    above = mean > level
    alarm = [enter("alarm", averaged, mean, 1), sign_sheet()] if above else []
    lines = entries("alarm", mean, 1)
    at_rest = {
        "written and erased": Decoy([look, *converted, call, lines[-1], erase_result("alarm")], "forbidden"),
        "kept in the memory for a while": Decoy(
            [look, *converted, call, store_memory(mean), clear_memory()], "forbidden"
        ),
    }
    alarming = {
        "written before it was calculated": Decoy([look, *converted, lines[-1], call, *lines[:-1], sign_sheet()],
                                                  "out_of_order"),
        "kept in the memory for a while": Decoy(
            [look, *converted, call, store_memory(mean), *lines, clear_memory(), sign_sheet()], "forbidden"),
    }  # fmt: skip
    return Task(
        start=Desk(sheet_unit="cm", sheet_decimals=1),
        prompt=f"Three gauges show {metres} m, {centimetres} cm and {millimetres} mm. Calculate their average. If it "
        f"is above {level} cm, write it on line 'alarm' and sign the sheet; if not, change nothing.",
        procedure=seq(look, any_order(*converted), averaged, *alarm),
        goal=(lambda desk: desk.holds(signed=True, alarm=round(mean, 1))) if above else Desk.holds,
        policies=[
            *look_first(*converted), *NO_MEMORY, *converts(converted, calculate_average(near(*numbers))),
            needed(calculate_average(near(*numbers)), because="Calculate their average"),
            *(entry_rules("alarm", calculate_average(near(*numbers)), mean, 1, because=ONE_CALL) if above else
              [never(write_result.any(), because="if not, change nothing")]),
        ],
        decoys=alarming if above else at_rest,
    )  # fmt: skip


def diagonal(one: int, two: int) -> tuple[Procedure, Action]:
    """Return the steps that calculate the diagonal of a field with these sides, and the last of them."""
    squares = [multiply_numbers(those(one, one)), multiply_numbers(those(two, two))]
    added = add_numbers(those(*map(of, squares)))
    root = square_root(of(added))
    return seq(any_order(*squares), added, root), root


def diagonal_calls(line: str, one: int, two: int, long: int) -> list[Action]:
    """Return the calls that calculate the diagonal `long` of a field with these sides and write it on a line."""
    squares = [multiply_numbers([one, one]), multiply_numbers([two, two]), add_numbers([one * one, two * two])]
    return [*squares, square_root(long * long), write_result(line, long)]


def diagonal_rules(line: str, one: int, two: int, long: int) -> list[Rule]:
    """Return policies that require each calculation of a diagonal before it is written on a line."""
    squares = [multiply_numbers(near(one, one)), multiply_numbers(near(two, two))]
    steps = [*squares, add_numbers(near(one * one, two * two)), square_root(approx(long * long))]
    return [before(step, write_result.where(line=line), because=TOOL) for step in steps]


@world.task
def two_diagonals(pick: Pick) -> Task:
    """Do two independent chains of calculations, a step that needs both results, and a control sum of all lines."""
    (a, b, c), (d, e, f) = pick(((3, 4, 5), (6, 8, 10)), ((5, 12, 13), (8, 15, 17)), ((9, 12, 15), (20, 21, 29)))
    (small, short), (large, long) = diagonal(a, b), diagonal(d, e)
    more, look = subtract_numbers(of(long), of(short)), look_at_desk()
    in_small, in_large = write_result("small", of(short)), write_result("large", of(long))
    first, second = diagonal_calls("small", a, b, c), diagonal_calls("large", d, e, f)
    last = [subtract_numbers(f, c), write_result("more", f - c), *foot(c, f, f - c), sign_sheet()]
    return Task(
        prompt=f"A small field is {a} by {b}, a large one {d} by {e}. Calculate the diagonal of each: multiply each "
        "side by itself, add the two products, take the square root. Write the diagonals on lines 'small' and 'large', "
        "then write on line 'more' how much longer the large one is, and sign the sheet.",
        procedure=seq(look, choice(seq(any_order(seq(small, in_small), seq(large, in_large)), more),
                                   seq(any_order(seq(small, in_small), large), more, in_large),
                                   seq(any_order(small, seq(large, in_large)), more, in_small),
                                   seq(any_order(small, large), more, any_order(in_small, in_large))),
                      write_result("more", of(more)), add_up(c, f, f - c), sign_sheet()),
        goal=lambda desk: desk.holds(signed=True, foot=True, small=c, large=f, more=f - c),
        policies=[
            *look_first(*(multiply_numbers(near(side, side)) for side in (a, b, d, e))),
            *NO_MEMORY, *adds_up(small=c, large=f, more=f - c),
            *diagonal_rules("small", a, b, c), *diagonal_rules("large", d, e, f),
            before(last[0], write_result.where(line="more"), because=TOOL),
            *(before(write_result.where(line=line), write_result.where(line="more"),
                     because="then write on line 'more' how much longer the large one is")
              for line in ("small", "large")),
        ],
        decoys={
            "known by heart, calculated afterwards": Decoy(
                [first[-1], *first[:-1], second[-1], *second[:-1], look, *last], "out_of_order", fools="state"),
            "the difference first": Decoy([look, *first[:-1], *second[:-1], *last[:2], first[-1], second[-1],
                                           *last[2:]], "out_of_order"),
            "added up before the last line": Decoy([look, *first, *second, last[0], last[2], last[1], *last[3:]],
                                                   "out_of_order"),
        },
    )  # fmt: skip


@world.task
def invoice(pick: Pick) -> Task:
    """Add up three amounts in a memory that is not empty, calculate the tax, and write and sign two lines."""
    prices, counts = pick([2.5, 10, 24.25], [3, 38.25, 20], [7.5, 61.25, 6.5]), pick([3, 5, 8], [12, 4, 6])
    tax, (left, owner) = pick(1.173, 1.067), pick((9.5, None), (31, "Ines"))
    amounts = [price * count for price, count in zip(prices, counts, strict=True)]
    net = sum(amounts)
    gross = round(net * tax, 6)
    shown = {"net": net, "gross": round(gross, 2)}
    look, recalled = look_at_desk(), recall_memory()
    products = [multiply_numbers(those(price, count)) for price, count in zip(prices, counts, strict=True)]
    taxed = multiply_numbers(those(of(recalled), tax))
    check = divide_numbers(of(taxed), one_of(tax, of(recalled)))
    lines = [write_result("net", of(recalled)), seq(taxed, enter("gross", taxed, gross, 2, check))]
    items = listed(f"{count} at {price}" for price, count in zip(prices, counts, strict=True))
    first = [multiply_numbers([price, count]) for price, count in zip(prices, counts, strict=True)]
    opened = [store_memory(amounts[0])] if owner else [clear_memory(), add_to_memory(amounts[0])]
    adding = [*opened, *map(add_to_memory, amounts[1:]), recalled, write_result("net", net)]
    taxing = [multiply_numbers([net, tax]), divide_numbers(gross, tax), *entries("gross", gross, 2)]
    last = [*foot(*shown.values()), store_memory(left) if owner else clear_memory(), sign_sheet()]
    return Task(
        start=in_memory(left, owner),
        prompt=f"An invoice has three items: {items}. Calculate the three amounts first, then add them up in the "
        f"memory. Recall the total, and only then write it on line 'net' and multiply it by {tax} for line 'gross'. "
        "Sign the sheet.",
        procedure=seq(look, begin(products, owner), total([*map(of, products)], owner), recalled,
                      any_order(seq(any_order(*lines), add_up(*shown.values())), restore(look, owner)), sign_sheet()),
        goal=lambda desk: desk.holds(signed=True, foot=True, **shown),
        policies=[
            *look_first(*products, store_memory.any() if owner else clear_memory()),
            *adds_up(**shown), *entry_rules("gross", multiply_numbers(near(net, tax)), gross, 2),
            *(before(call, tool.any(), because="Calculate the three amounts first")
              for call in products for tool in (add_to_memory, store_memory)),
            *(before(recalls(net), call, because="only then write it on line 'net'")
              for call in (write_result.any(), multiply_numbers(near(net, tax)))),
            before(divide_numbers(approx(gross), one_of(approx(tax), approx(net))), write_result.where(line="gross"),
                   because="a product above 200 by dividing it by one of its factors"),
            *adds_in_memory(amounts, net, "then add them up in the memory"),
        ],
        decoys={
            "checked and rounded in the end": Decoy(
                [look, *first, *adding, taxing[0], taxing[3], *taxing[1:3], *last], "out_of_order"),
            "the old figure subtracted": Decoy(
                [look, *first, *map(add_to_memory, amounts), subtract_from_memory(left), *adding[-2:], *taxing, *last],
                "out_of_order"),
            "amounts calculated when needed": Decoy([*opened, *first, look, *adding[len(opened):], *taxing, *last],
                                                    "out_of_order", fools="state"),
        },
    )  # fmt: skip


def unfinished(left: float | None, owner: str | None, shown: dict[str, float], fixes: dict[str, Any]) -> Desk:
    """Create a desk that is set to two decimals, with a sheet that needs `fixes`.

    A line that has to be written is missing, and a line that has to be corrected is wrong. `left` is the number in the
    memory, or None if the memory is clear.
    """
    start = Desk() if left is None else in_memory(left, owner)
    start.decimals = 2
    start.sheet = {line: value + 1.5 * (line in fixes) for line, value in shown.items()
                   if fixes.get(line) is not write_result}  # fmt: skip
    return start


def fix_rules(fixes: dict[str, Any], steps: dict[str, Action], exact: dict[str, float], added: Action) -> list[Rule]:
    """Return policies that require each fix before the lines are added up, and its calculation before the fix."""
    return [
        *(before(tool.where(line=line), added, because=ADD_UP) for line, tool in fixes.items()),
        *(policy for line, tool in fixes.items() for policy in entry_rules(line, steps[line], exact[line], 2, tool)),
    ]


@world.task
def hand_over(pick: Pick) -> Task:
    """Finish a colleague's sheet: write a missing line and correct a wrong one, at a desk set to two decimals."""
    numbers: list[float] = pick([8, 15, 23], [6, 10, 15])
    left, owner = pick((12, None), (12, "Tom"), (None, None))
    fixes = pick({"sum": correct_result, "average": write_result}, {"average": correct_result},
                 {"average": correct_result, "sum": write_result}, {"sum": write_result})  # fmt: skip
    exact = {"sum": sum(numbers), "average": round(sum(numbers) / 3, 6)}
    shown = {line: round(value, 2) for line, value in exact.items()}
    corrected = " ".join(line for line, tool in fixes.items() if tool is correct_result)
    tidy = [clear_memory()] if left is not None and owner is None else []
    look = look_at_desk()
    steps = {"sum": add_numbers(those(*numbers)), "average": calculate_average(those(*numbers))}
    fixed = [seq(step, *([enter(line, step, exact[line], 2, tool=fixes[line])] if line in fixes else []))
             for line, step in steps.items()]  # fmt: skip
    calls = [add_numbers(numbers), calculate_average(numbers)]
    writes = [call for line, tool in fixes.items() for call in entries(line, exact[line], 2, tool)]
    last, added = foot(*shown.values()), add_numbers(near(*shown.values()))
    return Task(
        start=unfinished(left, owner, shown, fixes),
        prompt="A colleague left the desk before the sheet was done. It must have the lines 'sum' and 'average', both "
        f"of {listed(numbers)}. Calculate both figures again, whatever the sheet says, correct a line that is wrong "
        "and write one that is missing. Only then add up the lines. Put the desk in order and sign the sheet.",
        procedure=seq(look, any_order(*tidy, seq(set_decimals(6), any_order(*fixed), add_up(*shown.values()))),
                      sign_sheet()),
        goal=lambda desk: desk.holds(signed=True, foot=True, corrected=corrected, **shown),
        says=SIX,
        policies=[
            *look_first(set_decimals.any(), clear_memory()), *NO_MEMORY, *with_six_decimals(*steps.values(), added),
            *(before(step, added, because="Only then add up the lines") for step in steps.values()),
            before(added, write_foot.any(), because=TOOL),
            *fix_rules(fixes, steps, exact, added),
        ],
        decoys={
            "calculated with what was set": Decoy(
                [look, *calls, *writes, *last, set_decimals(6), *tidy, sign_sheet()], "out_of_order", fools="state"),
            "written before it was calculated": Decoy(
                [*tidy, set_decimals(6), look, *reversed(writes), last[0], *calls, *last[1:], sign_sheet()],
                "out_of_order", fools="state"),
            "added up too early": Decoy([look, set_decimals(6), *calls, last[0], *writes, last[1], *tidy, sign_sheet()],
                                        "out_of_order"),
        },
    )  # fmt: skip


@world.task
def stock_count(pick: Pick) -> Task:
    """Keep count of a stock in two units in a borrowed memory. The stock cannot fall below zero."""
    stock, out, came, gone = pick((100, 120, 0.3, 250), (40, 60, 0.2, 90), (15, 30, 0.08, 45))
    kept, owner = pick((31.25, "Ines"), (8, None))
    came_in = round(came * 1000, 6)
    left = stock + came_in - out - gone
    look, recalled, converted = look_at_desk(), recall_memory(), convert_unit(came, "t", "kg")
    opened = [store_memory(stock)] if owner else [store_memory(stock), add_to_memory(stock)]
    entered = [subtract_from_memory(out), add_to_memory(came_in), subtract_from_memory(gone)]
    start = [*([] if owner else [clear_memory()]), store_memory(stock)]
    in_time = [entered[1], entered[0], entered[2], recalled]
    tidy = store_memory(kept) if owner else clear_memory()
    line, because = write_result("left", left), "at no time may the figure in the memory be below zero"
    return Task(
        start=in_memory(kept, owner, sheet_unit="kg"),
        prompt=f"There were {stock} kg of flour in stock. Begin with this figure in the memory and keep count there: "
        f"{out} kg went out, {came} t came in, {gone} kg went out. Their order is not known, but {because}. "
        "Recall what is left, and only then write it on line 'left'. Sign the sheet.",
        procedure=seq(look, begin([converted], owner), choice(*opened), add_to_memory(of(converted)),
                      any_order(subtract_from_memory(out), subtract_from_memory(gone)), recalled,
                      any_order(write_result("left", of(recalled)), restore(look, owner)), sign_sheet()),
        goal=lambda desk: desk.holds(signed=True, left=left),
        policies=[
            *look_first(converted, store_memory.any() if owner else clear_memory()),
            *converts([converted], store_memory.any(), add_to_memory.any(), subtract_from_memory.any()),
            before(Tool("*_memory").where(number=stock), Tool("*_memory").where(number=approx(came_in)),
                   because="Begin with this figure in the memory"),
            never(leaves=lambda desk: desk.memory is not None and desk.memory < 0, because=because),
            before(recalls(left), write_result.any(), because="only then write it on line 'left'"),
            *(before(call, recalls(left), because="keep count there") for call in entered),
        ],
        decoys={
            "entered as listed": Decoy([look, converted, *start, *entered, recalled, line, tidy, sign_sheet()],
                                       "out_of_order"),
            "signed first": Decoy([look, converted, *start, *in_time, line, sign_sheet(), tidy], "out_of_order"),
            "converted when it was needed": Decoy([*start, converted, look, *in_time, line, tidy, sign_sheet()],
                                                  "out_of_order", fools="state"),
        },
    )  # fmt: skip
