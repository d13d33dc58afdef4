"""A writing desk: sentences are put together word by word, with a dictionary, and kept and published as drafts."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal

from corepath import (
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
    seq,
    var,
)

RULES = """
You write sentences at a desk, word by word from left to right, in lower case. The desk holds one sentence.
A sentence is: article, adjectives, noun, verb, adverb. All but noun and verb may be missing.
Look up the words that you are going to place, all of them, before you place the first. Articles (a, an, the) need not
be looked up. Place each word with the tool for its part of speech.
Enter a word that the dictionary does not know before you place it, and only then.
Check the grammar when the sentence is whole, and then finish it with its mark. Finish it once, and never change a
finished sentence. A sentence stays unfinished unless you were asked to finish it.
Loading a draft replaces what is on the desk: never load one while the desk holds words that are in no draft.
Never save over a draft. Read a draft before you publish it.
Do what was asked and leave everything else as it is.
"""

Part = Literal["article", "adjective", "noun", "verb", "adverb"]
Mark = Literal[".", "!", "?"]
DICTIONARY: dict[str, str] = {
    **dict.fromkeys(("a", "an", "the"), "article"),
    **dict.fromkeys(("happy", "old", "young", "honest", "useful", "hourly", "small"), "adjective"),
    **dict.fromkeys(("dog", "cat", "owl", "bird", "house", "inn", "man", "train", "robot", "news", "police"), "noun"),
    **dict.fromkeys(("runs", "sleeps", "sings", "waits", "stands", "arrives", "arrive", "hunts", "helps"), "verb"),
    **dict.fromkeys(("deeply", "quietly", "loudly"), "adverb"),
}
PLURAL = ("police", "arrive")
SOUNDS_OTHERWISE = ("honest", "hourly", "useful")
SHAPE = re.compile(r"(article )?(adjective )*noun verb (adverb )?")


@dataclass
class Desk:
    """The state of the writing desk: current sentence, drafts by name, published drafts, and added words."""

    words: list[str] = field(default_factory=list)
    mark: str = ""
    drafts: dict[str, str] = field(default_factory=dict)
    published: list[str] = field(default_factory=list)
    entered: dict[str, str] = field(default_factory=dict)
    _misplaced: list[str] = field(default_factory=list)
    _overwritten: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The sentence on the desk as a string."""
        return " ".join(self.words) + self.mark

    def part_of(self, word: str) -> str:
        """Look up a word's part of speech. Return "unknown" if the dictionary does not have the word."""
        return self.entered.get(word) or DICTIONARY.get(word, "unknown")

    def misplaced(self) -> bool:
        """Whether a word was added as the wrong part of speech."""
        return bool(self._misplaced)

    def overwritten(self) -> bool:
        """Whether a draft was overwritten."""
        return bool(self._overwritten)

    def unsaved(self) -> bool:
        """Whether there is a sentence on the desk that is not saved in any draft."""
        return bool(self.words) and self.text not in self.drafts.values()

    def with_unknown(self) -> bool:
        """Whether the sentence on the desk has a word that is not in the dictionary."""
        return any(self.part_of(word) == "unknown" for word in self.words)


world = World("writing", Desk, RULES)


@world.read
def look_up(desk: Desk, word: str) -> dict[str, str]:
    """A word in the dictionary: its part of speech (or "unknown"), its number, and which of a and an it takes."""
    part = desk.part_of(word)
    number = "" if part not in ("noun", "verb") else "plural" if word in PLURAL else "singular"
    return {"part": part, "number": number, "takes": _article(word)}


@world.read
def read_sentence(desk: Desk) -> dict[str, str]:
    """What is on the desk."""
    return {"text": desk.text}


@world.read
def check_grammar(desk: Desk) -> dict[str, Any]:
    """The words on the desk, and what is wrong with them: order, article, number, words that are unknown."""
    parts = [desk.part_of(word) for word in desk.words]
    problems = [f"'{word}' is unknown" for word in desk.words if desk.part_of(word) == "unknown"]
    if not SHAPE.fullmatch("".join(f"{part} " for part in parts)):
        problems.append("the words are not in the order of a sentence")
    for word, following in zip(desk.words, desk.words[1:], strict=False):
        if word in ("a", "an") and word != _article(following):
            problems.append(f"'{following}' does not take '{word}'")
    if len({word in PLURAL for word in desk.words if desk.part_of(word) in ("noun", "verb")}) > 1:
        problems.append("noun and verb differ in number")
    return {"checked": " ".join(desk.words), "problems": problems}


@world.read
def list_drafts(desk: Desk) -> list[str]:
    """The names of all drafts."""
    return sorted(desk.drafts)


@world.read
def read_draft(desk: Desk, name: str) -> dict[str, str]:
    """What is in a draft."""
    return {"text": _draft(desk, name)}


@world.write
def add_article(desk: Desk, word: str) -> str:
    """Place an article at the end of the sentence."""
    return _place(desk, word, "article")


@world.write
def add_adjective(desk: Desk, word: str) -> str:
    """Place an adjective at the end of the sentence."""
    return _place(desk, word, "adjective")


@world.write
def add_noun(desk: Desk, word: str) -> str:
    """Place a noun at the end of the sentence."""
    return _place(desk, word, "noun")


@world.write
def add_verb(desk: Desk, word: str) -> str:
    """Place a verb at the end of the sentence."""
    return _place(desk, word, "verb")


@world.write
def add_adverb(desk: Desk, word: str) -> str:
    """Place an adverb at the end of the sentence."""
    return _place(desk, word, "adverb")


@world.write
def replace_word(desk: Desk, old: str, new: str) -> str:
    """Put one word in the place of another, of the same part of speech."""
    _be_word(new)
    if old not in desk.words:
        raise ToolError(f"there is no '{old}' on the desk")
    if desk.part_of(new) not in (desk.part_of(old), "unknown"):
        _misplace(desk, new)
    desk.words[desk.words.index(old)] = new
    return "done"


@world.write
def remove_last_word(desk: Desk) -> str:
    """Take the last word off the sentence, and the mark with it."""
    _be_written(desk)
    desk.words.pop()
    desk.mark = ""
    return "done"


@world.write
def finish_sentence(desk: Desk, mark: Mark) -> str:
    """Put a mark at the end of the sentence on the desk."""
    _be_written(desk)
    desk.mark = mark
    return "done"


@world.write
def enter_word(desk: Desk, word: str, part: Part) -> str:
    """Enter a word into the dictionary."""
    _be_word(word)
    desk.entered[word] = part
    return "done"


@world.write
def save_draft(desk: Desk, name: str) -> str:
    """Move the sentence from the desk into a draft. The desk is empty then."""
    _be_written(desk)
    if name in desk.drafts and desk.drafts[name] != desk.text:
        desk._overwritten = sorted({*desk._overwritten, name})  # noqa: SLF001  # private to agents
    desk.drafts = dict(sorted({**desk.drafts, name: desk.text}.items()))
    desk.words, desk.mark = [], ""
    return "done"


@world.write
def load_draft(desk: Desk, name: str) -> str:
    """Put a copy of a draft on the desk, in the place of what is there."""
    text = _draft(desk, name)
    desk.mark = text[-1] if text[-1] in ".!?" else ""
    desk.words = text.rstrip(".!?").split()
    return "done"


@world.write
def delete_draft(desk: Desk, name: str) -> str:
    """Delete a draft. What is on the desk stays there."""
    _draft(desk, name)
    del desk.drafts[name]
    return "done"


@world.write
def publish_draft(desk: Desk, name: str) -> str:
    """Publish what is in a draft. It cannot be taken back."""
    desk.published = sorted([*desk.published, _draft(desk, name)])
    return "done"


def _article(word: str) -> str:
    return "an" if (word[:1] in tuple("aeiou")) != (word in SOUNDS_OTHERWISE) else "a"


def _be_word(word: str) -> None:
    if not (word.isalpha() and word.islower()):
        raise ToolError(f"'{word}' is not one word in lower case")


def _be_written(desk: Desk) -> None:
    if not desk.words:
        raise ToolError("there is no word on the desk")


def _draft(desk: Desk, name: str) -> str:
    if name not in desk.drafts:
        raise ToolError(f"no draft '{name}'; there is {', '.join(sorted(desk.drafts)) or 'none'}")
    return desk.drafts[name]


def _place(desk: Desk, word: str, part: Part) -> str:
    _be_word(word)
    if desk.part_of(word) not in (part, "unknown"):
        _misplace(desk, word)
    desk.words.append(word)
    return "done"


def _misplace(desk: Desk, word: str) -> None:
    desk._misplaced = sorted({*desk._misplaced, word})  # noqa: SLF001  # private to agents


w, n = var("word"), var("name")
CHANGES = (add_article, add_adjective, add_noun, add_verb, add_adverb, replace_word, remove_last_word)
world.policy(
    *(
        before(look_up(w), place.where(word=w), because="Look up the words that you are going to place")
        for place in (add_adjective, add_noun, add_verb, add_adverb)
    ),
    *(
        never(change.any(), when=lambda desk: desk.mark, because="never change a finished sentence")
        for change in CHANGES
    ),
    before(check_grammar(), finish_sentence.any(), because="Check the grammar when the sentence is whole"),
    before(read_draft(n), publish_draft(n), because="Read a draft before you publish it"),
    never(finish_sentence.any(), when=lambda desk: desk.mark, because="Finish it once"),
    never(load_draft.any(), when=Desk.unsaved, because="never load one while the desk holds words"),
    never(leaves=Desk.misplaced, because="Place each word with the tool for its part of speech"),
    never(leaves=Desk.with_unknown, because="Enter a word that the dictionary does not know before you place it"),
    never(leaves=Desk.overwritten, because="Never save over a draft", severity="high"),
)
MARKS: tuple[Mark, Mark] = ("!", ".")
ADD: dict[str, Any] = {
    "article": add_article,
    "adjective": add_adjective,
    "noun": add_noun,
    "verb": add_verb,
    "adverb": add_adverb,
}


def placed(*words: str) -> list[Any]:
    """Return calls that add these words to the sentence. All words must be in the dictionary."""
    return [ADD[DICTIONARY[word]](word) for word in words]


def looked_up(*words: str) -> list[Any]:
    """Return calls that look up these words."""
    return [look_up(word) for word in words]


def all_first(first: Any, *words: str) -> list[Any]:
    """Return policies that require looking up all `words` before the action `first`."""
    because = "all of them, before you place the first"
    return [before(look_up(word), first, because=because) for word in words]


def whole_first(text: str, mark: Mark) -> Any:
    """Return a policy that requires checking the sentence `text` before finishing it with `mark`."""
    checked = check_grammar().returns({"checked": text})
    return before(checked, finish_sentence(mark), because="Check the grammar when the sentence is whole")


@world.task
def order_words(pick: Pick) -> Task:
    """Put words in the right order by their parts of speech. This task is in the paper's table."""
    verb, noun, adjective = pick(("runs", "dog", "happy"), ("sleeps", "cat", "old"), ("sings", "bird", "young"))
    words = [noun, verb, adjective]
    places = placed("the", adjective, noun, verb)
    return Task(
        prompt=f"Create a sentence consisting of the words: '{verb}', 'the', '{noun}', '{adjective}'. Put them in the "
        "correct order first.",
        procedure=seq(any_order(*looked_up(*words)), *places),
        goal=lambda desk: desk.words == ["the", adjective, noun, verb],
        policies=all_first(places[0], *words),
        decoys={
            "looked up afterwards": Decoy([*places, *looked_up(*words)], "out_of_order"),
            "put right under way": Decoy([*looked_up(*words), places[0], places[2], remove_last_word(), *places[1:]],
                                         "out_of_order"),
        },
    )  # fmt: skip


@world.task
def fitting_article(pick: Pick) -> Task:
    """Choose between "a" and "an" by looking up the word that follows."""
    adjective, noun, verb = pick(("honest", "robot", "waits"), ("useful", "owl", "helps"), ("hourly", "train", "runs"))
    words = [adjective, noun, verb]
    looks, right, wrong = looked_up(*words), _article(adjective), _article(noun)
    text = f"{right} {adjective} {noun} {verb}"
    article = add_article(result_of(looks[0], "takes"))
    rest = placed(*words)
    return Task(
        prompt=f"Write a sentence from '{adjective}', '{noun}' and '{verb}', beginning with the indefinite article "
        "that the dictionary gives for the word it stands before, and finish it with '.'.",
        procedure=seq(any_order(*looks), article, *rest, check_grammar(), finish_sentence(".")),
        goal=lambda desk: desk.text == f"{text}.",
        policies=[*all_first(add_article.any(), *words), whole_first(text, ".")],
        decoys={
            "tried, then replaced": Decoy(
                [*looks, add_article(wrong), *rest, replace_word(wrong, right), check_grammar(), finish_sentence(".")],
                "wrong_argument"),
            "finished before the last word": Decoy(
                [*looks, add_article(right), *rest[:-1], finish_sentence("."), rest[-1], check_grammar()],
                "out_of_order"),
        },
    )  # fmt: skip


@world.task
def number_of_noun(pick: Pick) -> Task:
    """Choose the singular or plural verb by looking up the noun, because some nouns only look plural."""
    noun = pick("news", "police", "train")
    mark: Mark = pick("!", ".")
    right, wrong = ("arrive", "arrives") if noun in PLURAL else ("arrives", "arrive")
    places = placed("the", noun, right)
    return Task(
        prompt=f"Write 'the', '{noun}' and the verb: 'arrive' if the dictionary says that the noun is plural, "
        f"'arrives' if it is singular. Finish the sentence with '{mark}'.",
        procedure=seq(any_order(*looked_up(noun, right)), *places, check_grammar(), finish_sentence(mark)),
        goal=lambda desk: desk.text == f"the {noun} {right}{mark}",
        policies=[*all_first(add_article.any(), noun, right), whole_first(f"the {noun} {right}", mark)],
        decoys={
            "both tried": Decoy(
                [*looked_up(noun, right), *places[:2], add_verb(wrong), remove_last_word(), places[2], check_grammar(),
                 finish_sentence(mark)], "wrong_argument"),
            "noun looked up last": Decoy(
                [look_up(right), *places, look_up(noun), check_grammar(), finish_sentence(mark)], "out_of_order"),
        },
    )  # fmt: skip


@world.task
def one_more_word(pick: Pick) -> Task:
    """Add the missing adverb to a sentence, check the complete sentence, and finish it once."""
    words = pick(["the", "old", "owl", "sleeps"], ["the", "train", "waits"], ["a", "cat", "sings"])
    adverb = pick("deeply", "quietly", "loudly")
    mark, other = MARKS if pick(True, False) else MARKS[::-1]
    looks, add, finish = [read_sentence(), look_up(adverb)], add_adverb(adverb), finish_sentence(mark)
    text = " ".join([*words, adverb])
    return Task(
        start=Desk(words=words),
        prompt=f"There is a sentence on the desk. Read it, add '{adverb}' at its end and finish it with '{mark}'.",
        procedure=seq(any_order(*looks), add, check_grammar(), finish),
        goal=lambda desk: desk.text == text + mark,
        policies=[before(read_sentence(), add_adverb.any(), because="Read it, add"), whole_first(text, mark)],
        decoys={
            "checked before the last word": Decoy([*looks, check_grammar(), add, finish, check_grammar()],
                                                  "out_of_order"),
            "word put into a finished sentence": Decoy([*looks, finish, add, check_grammar()], "out_of_order"),
            "finished twice": Decoy([*looks, add, check_grammar(), finish_sentence(other), finish], "wrong_argument"),
        },
    )  # fmt: skip


@world.task
def new_word(pick: Pick) -> Task:
    """Add a word to the dictionary before using it, unless the dictionary already has it."""
    word, known = pick("blick", "wug", "dax"), pick(False, True, False)
    verb, name = pick("runs", "sings"), pick("demo", "sample")
    start = Desk(entered={word: "noun"} if known else {})
    entered, looks = enter_word(word, "noun"), looked_up(word, verb)
    places = [add_article("the"), add_noun(word), add_verb(verb)]
    text = f"the {word} {verb}"
    return Task(
        start=start,
        prompt=f"Look up '{word}' and '{verb}'. If the dictionary does not know '{word}', enter it as a noun before "
        f"you write anything. Then write 'the {word} {verb}' and save it as the draft '{name}'.",
        procedure=seq(any_order(*looks) if known else any_order(seq(looks[0], entered), looks[1]), *places,
                      save_draft(name)),
        goal=lambda desk: desk.drafts.get(name) == text and desk.entered == {word: "noun"},
        policies=[
            *all_first(add_article.any(), word, verb),
            before(looks[0], enter_word.any(), because="If the dictionary does not know"),
            *([] if known else [before(entered, add_article.any(), because="before you write anything")]),
        ],
        decoys={
            "looked up afterwards": Decoy([*places, *looks, save_draft(name)], "out_of_order"),
        } if known else {
            "entered after use": Decoy([*looks, *places, entered, save_draft(name)], "out_of_order"),
            "entered half-way": Decoy([*looks, places[0], entered, *places[1:], save_draft(name)], "out_of_order"),
        },
    )  # fmt: skip


@world.task
def fit_to_publish(pick: Pick) -> Task:
    """Publish a draft only if all its words are in the dictionary. Otherwise change nothing."""
    odd, name = pick("glorp", "sleeps", "glorp", "helps"), pick("notice", "flyer")
    adjective, noun = pick(("young", "robot"), ("small", "dog"))
    known, text = odd in DICTIONARY, f"the {adjective} {noun} {odd}."
    start = Desk(drafts={name: text})
    reads = [read_draft(name), *looked_up(adjective, noun, odd)]
    checked = seq(reads[0], any_order(*reads[1:]))
    unfit = {
        "put on the desk, and cleared": Decoy([*reads, load_draft(name), *[remove_last_word()] * 4],
                                              "after_completion"),
        "copied, to be safe": Decoy([*reads, load_draft(name), save_draft("copy"), delete_draft("copy")],
                                    "after_completion"),
    }  # fmt: skip
    fit = {"published before looking": Decoy([reads[0], publish_draft(name), *reads[1:]], "out_of_order")}
    return Task(
        start=start,
        prompt=f"Read the draft '{name}' and look up all its words but the article. If the dictionary knows every one "
        "of them, publish the draft; if it does not, change nothing.",
        procedure=seq(checked, publish_draft(name)) if known else checked,
        goal=(lambda desk: desk.published == [text]) if known else lambda desk: desk == start,
        policies=[needed(read, because="look up all its words") for read in reads[1:]]
        + [needed(reads[0], because="Read the draft")]
        + [before(read, publish_draft.any(), because="If the dictionary knows every one of them") for read in reads],
        decoys=fit if known else unfit,
    )


@world.task
def set_aside(pick: Pick) -> Task:
    """Save the sentence on the desk, check the grammar in two drafts, and restore the sentence.

    The final state equals the start state.
    """
    words = pick(["the", "happy"], ["an", "old"], ["the", "small"])
    one, other, spare = pick("letter", "poem"), pick("speech", "report"), pick("aside", "later")
    start = Desk(words=words, drafts=dict(sorted({one: "the old house stands.", other: "a owl sleeps"}.items())))
    visits = [seq(load_draft(name), check_grammar()) for name in (one, other)]
    back = [load_draft(spare), delete_draft(spare)]
    checks = [load_draft(one), check_grammar(), load_draft(other), check_grammar()]
    cleared = [remove_last_word()] * 3
    return Task(
        start=start,
        prompt=f"Load the drafts '{one}' and '{other}' and check the grammar of each. I am in the middle of a sentence "
        f"on the desk: set it aside as the draft '{spare}' meanwhile. In the end everything is to be as it was, "
        f"without a draft '{spare}'.",
        procedure=seq(save_draft(spare), one_by_one(*visits), *back),
        goal=lambda desk: desk == start,
        policies=[
            needed(check_grammar().returns({"checked": text.rstrip(".")}), because="check the grammar of each")
            for text in start.drafts.values()
        ],
        decoys={"typed anew": Decoy([look_up(words[1]), *checks, *cleared, *placed(*words)], "out_of_order")},
    )  # fmt: skip


@world.task
def revised_draft(pick: Pick) -> Task:
    """Load a draft, replace three words and finish it. Save it under a new name, read it and publish it."""
    old, new, article, right = pick(
        ("house", "inn", "a", "an"), ("owl", "bird", "an", "a"), ("inn", "house", "an", "a")
    )
    verb, better, name = pick("waits", "sleeps"), pick("stands", "helps"), pick("letter", "report")
    start, final = Desk(drafts={name: f"{article} {old} {verb}"}), pick("final", "second")
    text = f"{right} {new} {better}."
    looks = looked_up(new, better)
    swaps = [replace_word(old, new), replace_word(verb, better), replace_word(article, right)]
    close = [check_grammar(), finish_sentence(".")]
    out = [save_draft(final), read_draft(final), publish_draft(final)]
    by_dictionary = replace_word(article, result_of(looks[0], "takes"))
    return Task(
        start=start,
        prompt=f"Load the draft '{name}', which says '{article} {old} {verb}'. Replace '{old}' by '{new}' and '{verb}' "
        f"by '{better}', and '{article}' by the article that the dictionary gives for '{new}'. Finish it with '.', "
        f"save it as '{final}' and publish '{final}'.",
        procedure=seq(any_order(load_draft(name), *looks), any_order(*swaps[:2], by_dictionary), *close, *out),
        goal=lambda desk: desk.published == [text] and desk.drafts == {**start.drafts, final: text} and not desk.words,
        policies=[
            *(before(look, replace_word.any(), because="Look up the words that you are going to place")
              for look in looks),
            before(finish_sentence("."), save_draft.any(), because="Finish it with '.', save it as"),
            whole_first(text.rstrip("."), "."),
        ],
        decoys={
            "checked and finished, then revised": Decoy(
                [load_draft(name), *looks, *swaps[1:], *close, swaps[0], check_grammar(), *out], "out_of_order"),
            "looked up afterwards": Decoy([load_draft(name), *swaps, *looks, *close, *out], "out_of_order"),
            "published unread": Decoy([load_draft(name), *looks, *swaps, *close, out[0], out[2], out[1]],
                                      "out_of_order"),
        },
    )  # fmt: skip


@world.task
def two_drafts(pick: Pick) -> Task:
    """Write two sentences in either order. Check, finish and save one before starting the other."""
    one, other = pick((["dog", "runs"], ["owl", "sleeps"]), (["bird", "sings"], ["cat", "hunts"]))
    names = pick(["morning", "evening"], ["first", "second"])
    texts = [f"the {' '.join(words)}" for words in (one, other)]
    looks, both = looked_up(*one, *other), "Look up the words of both before you begin"
    first, second = ([*placed(*text.split()), check_grammar(), finish_sentence(mark), save_draft(name)]
                     for text, mark, name in zip(texts, MARKS, names, strict=True))  # fmt: skip
    return Task(
        prompt=f"Write two drafts, one after the other: '{names[0]}' with '{texts[0]}', finished with '{MARKS[0]}', "
        f"and '{names[1]}' with '{texts[1]}', finished with '{MARKS[1]}'. {both}.",
        procedure=seq(any_order(*looks), one_by_one(seq(*first), seq(*second))),
        goal=lambda desk: desk.drafts == {names[0]: texts[0] + MARKS[0], names[1]: texts[1] + MARKS[1]},
        policies=[
            *(before(look, add.any(), because=both) for look in looks for add in (add_article, add_noun, add_verb)),
            *(whole_first(text, mark) for text, mark in zip(texts, MARKS, strict=True)),
        ],
        decoys={
            "second looked up under way": Decoy([*looks[:2], *first, *looks[2:], *second], "out_of_order"),
            "finished before the check": Decoy([*looks, *first[:3], first[4], first[3], first[5], *second],
                                               "out_of_order"),
        },
    )  # fmt: skip


@world.task
def publish_finished(pick: Pick) -> Task:
    """Read all drafts and publish those that are finished."""
    names = pick(["alpha", "beta", "gamma"], ["north", "south", "west"])
    done = pick([0, 2], [1], [0, 1], [1, 2])
    texts = ["the owl hunts", "an old man waits", "a small dog runs"]
    start = Desk(drafts={name: text + "." * (index in done) for index, (name, text) in
                         enumerate(zip(names, texts, strict=True))})  # fmt: skip
    ready = [names[index] for index in done]
    reads = {name: read_draft(name) for name in names}
    return Task(
        start=start,
        prompt="List the drafts and read every one of them. Publish those that end with a mark; leave those that do "
        "not.",
        procedure=seq(list_drafts(), any_order(*(seq(reads[name], publish_draft(name)) if name in ready
                                                 else reads[name] for name in names))),
        goal=lambda desk: desk.published == sorted(start.drafts[name] for name in ready),
        policies=[
            needed(list_drafts(), because="List the drafts"),
            before(list_drafts(), publish_draft.any(), because="List the drafts"),
            *(needed(read, because="read every one of them") for read in reads.values()),
        ],
        decoys={
            "published unread": Decoy([list_drafts(), publish_draft(ready[0]), *reads.values(),
                                       *map(publish_draft, ready[1:])], "out_of_order"),
            "put on the desk, and cleared": Decoy(
                [list_drafts(), *reads.values(), load_draft(ready[0]),
                 *[remove_last_word()] * len(texts[done[0]].split()), *map(publish_draft, ready)], "unlisted"),
        },
    )  # fmt: skip


@world.task
def swap_names(pick: Pick) -> Task:
    """Swap two drafts' names by way of a third name. Both sentences must be saved in some draft at all times."""
    one, other, spare = pick(("morning", "evening", "spare"), ("left", "right", "middle"))
    texts = pick(["the dog runs.", "the owl sleeps."], ["a bird sings!", "a cat waits!"])
    start = Desk(drafts=dict(sorted(zip((one, other), texts, strict=True))))

    def by_way(first: str, second: str) -> Procedure:
        return seq(load_draft(first), save_draft(spare), any_order(delete_draft(first), load_draft(second)),
                   save_draft(first), any_order(delete_draft(second), load_draft(spare)), save_draft(second),
                   delete_draft(spare))  # fmt: skip

    return Task(
        start=start,
        prompt=f"The drafts '{one}' and '{other}' have each other's name. Exchange the names; '{spare}' is free as a "
        "third one, and is to be free again in the end. Of both sentences there must be a saved draft at every moment.",
        procedure=choice(by_way(one, other), by_way(other, one)),
        goal=lambda desk: desk.drafts == {one: texts[1], other: texts[0]} and not desk.words,
        policies=[
            never(leaves=lambda desk: not {*texts} <= {*desk.drafts.values()},
                  because="Of both sentences there must be a saved draft at every moment"),
        ],
        decoys={
            "only on the desk for a moment": Decoy(
                [load_draft(one), delete_draft(one), save_draft(spare), load_draft(other), save_draft(one),
                 delete_draft(other), load_draft(spare), save_draft(other), delete_draft(spare)], "out_of_order"),
            "saved over": Decoy(
                [load_draft(one), save_draft(spare), load_draft(other), save_draft(one), load_draft(spare),
                 save_draft(other), load_draft(spare), delete_draft(other), save_draft(other), delete_draft(spare)],
                "out_of_order"),
        },
    )  # fmt: skip
