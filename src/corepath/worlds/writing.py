"""A newspaper's writing desk: sentences are built word by word, and drafts are edited, proofread and published."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from corepath import (
    Action,
    Decoy,
    Pick,
    Rule,
    Task,
    ToolError,
    World,
    after,
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
You write for a small newspaper. On the desk you build one sentence, word by word from left to right, in lower case.
Place the words in the order article, adjectives, noun, verb, adverb. All but noun and verb may be missing.
Look up the words that you are going to place, all of them, before you place the first. Articles (a, an, the) need not
be looked up. Place each word with the tool for its part of speech.
Write every word of your own in the house spelling, which the dictionary gives.
Never try a word out: do not remove or replace a word that you have placed yourself.
Enter a word that the dictionary does not know before you place it, and only then.
Check the grammar when the sentence is whole, and then finish it with its mark. Finish it once, and never change a
finished sentence. A sentence stays unfinished unless you were asked to finish it.
Loading a draft replaces what is on the desk: never load one while the desk holds words that are in no draft.
Never save over a draft.
Drafts have one sentence or more. Read a draft before you proofread, change, take back, hand over or publish it.
Take a draft back from its editor before you change or publish it, and hand it to the same editor again afterwards.
Proofread a draft after its last change, and hand it over or publish it only if that proof found no problem.
A quotation keeps the words and the spelling of its source. Read a source before you quote it. Never change or cut a
quotation, not even for a moment.
Cut a sentence only when a proof has found the draft too long, and then only the last one that is not a quotation.
Do what was asked and leave everything else as it is.
"""
ADVICE = (
    "You write for a small newspaper.",
    "On the desk you build one sentence, word by word from left to right, in lower case.",
    "All but noun and verb may be missing.",
    "Articles (a, an, the) need not be looked up.",
    "Drafts have one sentence or more.",
    "A quotation keeps the words and the spelling of its source.",
    "Do what was asked and leave everything else as it is.",
)

Part = Literal["article", "adjective", "noun", "verb", "adverb"]
Mark = Literal[".", "!", "?"]
Editor = Literal["Kim", "Lee", "Noor"]
NOUNS = ["dog", "cat", "owl", "bird", "house", "inn", "man", "train", "robot", "news", "police", "jury"]
VARIANTS = {"aeroplane": "airplane", "enquiry": "inquiry", "plough": "plow", "programme": "program",
            "sceptic": "skeptic", "tyre": "tire"}  # fmt: skip
DICTIONARY: dict[str, str] = {
    **dict.fromkeys(("a", "an", "the"), "article"),
    **dict.fromkeys(("happy", "old", "young", "honest", "useful", "hourly", "small", "grey", "gray"), "adjective"),
    **dict.fromkeys((*NOUNS, *VARIANTS, *VARIANTS.values()), "noun"),
    **dict.fromkeys(("runs", "sleeps", "sings", "waits", "stands", "arrives", "arrive", "hunts", "helps"), "verb"),
    **dict.fromkeys(("deeply", "quietly", "loudly"), "adverb"),
}
HOUSE_SPELLING = {**VARIANTS, "grey": "gray"}
PLURAL = ("police", "arrive")
SOUNDS_OTHERWISE = ("honest", "hourly", "useful")
SHAPE = re.compile(r"(article )?(adjective )*noun verb (adverb )?")
BEGINNING = re.compile(r"(article )?(adjective )*(noun (verb (adverb )?)?)?")


@dataclass
class Desk:
    """The state of the newspaper: the sentence on the desk, the drafts, and what belongs to them.

    A draft is a list of sentences. `editors` says who has a draft, `limits` how many words it may have, and `proofs`
    which problems the proof of its present text found. `sources` holds the words that can be quoted.
    """

    words: list[str] = field(default_factory=list)
    mark: str = ""
    drafts: dict[str, list[str]] = field(default_factory=dict)
    editors: dict[str, str] = field(default_factory=dict)
    limits: dict[str, int] = field(default_factory=dict)
    proofs: dict[str, list[str]] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    published: list[str] = field(default_factory=list)
    entered: dict[str, str] = field(default_factory=dict)
    _placed: list[str] = field(default_factory=list)
    _breaches: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The sentence on the desk as a string."""
        return " ".join(self.words) + self.mark

    def like(self, other: Desk) -> bool:
        """Whether all public fields equal those in `other`."""
        return all(value == getattr(other, name) for name, value in vars(self).items() if name[0] != "_")

    def part_of(self, word: str) -> str:
        """Look up a word's part of speech. Return "unknown" if the dictionary does not have the word."""
        return self.entered.get(word) or DICTIONARY.get(word, "unknown")

    def breach(self, rule: str) -> None:
        """Record that a rule was broken."""
        self._breaches = sorted({*self._breaches, rule})

    def broke(self, rule: str) -> bool:
        """Whether a rule was broken."""
        return rule in self._breaches

    def unsaved(self) -> bool:
        """Whether there is a sentence on the desk that is not saved in any draft."""
        return bool(self.words) and [self.text] not in self.drafts.values()

    def put(self, word: str) -> None:
        """Record that a word was placed, and whether its spelling or the dictionary speaks against it."""
        self._placed = sorted({*self._placed, word})
        if word in HOUSE_SPELLING:
            self.breach("spelling")
        if self.part_of(word) == "unknown":
            self.breach("unknown word")

    def take_away(self, word: str) -> None:
        """Record that a word is removed or replaced."""
        if word in self._placed:
            self.breach("tried out")

    def clear(self, words: Sequence[str] = (), mark: str = "") -> None:
        """Replace the sentence on the desk by these words and this mark."""
        self.words, self.mark, self._placed = list(words), mark, []

    def change(self, name: str, sentences: list[str]) -> None:
        """Change a draft. Its proof is void from then on."""
        if name in self.editors:
            self.breach("locked")
        self.drafts[name] = sentences
        self.proofs.pop(name, None)

    def release(self, name: str) -> None:
        """Record whether a draft that leaves the desk has no proof without problems."""
        if self.proofs.get(name) != []:
            self.breach("not proofread")


world = World("writing", Desk, RULES, advice=ADVICE)


@world.read
def look_up(desk: Desk, word: str) -> dict[str, str]:
    """A word in the dictionary: part of speech (or "unknown"), number, which of a and an it takes, house spelling."""
    _be_word(word)
    part = desk.part_of(word)
    number = "" if part not in ("noun", "verb") else "plural" if word in PLURAL else "singular"
    return {"part": part, "number": number, "takes": _article(word), "spelling": HOUSE_SPELLING.get(word, word)}


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
def read_draft(desk: Desk, name: str) -> dict[str, Any]:
    """The numbered sentences of a draft, and which editor has it ("nobody" if it is free)."""
    sentences = [
        {"number": number, "text": text, "kind": "quotation" if _is_quotation(text) else "own"}
        for number, text in enumerate(_draft(desk, name), 1)
    ]
    return {"sentences": sentences, "editor": desk.editors.get(name, "nobody")}


@world.read
def read_source(desk: Desk, source: str) -> dict[str, str]:
    """What a source says."""
    return {"says": _source(desk, source)}


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
    """Put one word on the desk in the place of another, of the same part of speech."""
    _be_word(new)
    if old not in desk.words:
        raise ToolError(f"there is no '{old}' on the desk")
    if desk.part_of(new) not in (desk.part_of(old), "unknown"):
        desk.breach("misplaced")
    desk.take_away(old)
    desk.put(new)
    desk.words[desk.words.index(old)] = new
    return "done"


@world.write
def remove_last_word(desk: Desk) -> str:
    """Take the last word off the sentence, and the mark with it."""
    _be_written(desk)
    desk.take_away(desk.words.pop())
    desk.mark = ""
    return "done"


@world.write
def finish_sentence(desk: Desk, mark: Mark) -> str:
    """Put a mark at the end of the sentence on the desk."""
    _be_written(desk)
    if desk.mark not in ("", mark):
        desk.breach("finished twice")
    desk.mark = mark
    return "done"


@world.write
def enter_word(desk: Desk, word: str, part: Part) -> str:
    """Enter a word into the dictionary."""
    _be_word(word)
    if desk.part_of(word) != "unknown":
        desk.breach("known word")
    desk.entered[word] = part
    return "done"


@world.write
def save_draft(desk: Desk, name: str) -> str:
    """Move the sentence from the desk into a draft of its own. The desk is empty then."""
    _be_written(desk)
    if name in desk.drafts:
        desk.breach("saved over")
    desk.change(name, [desk.text])
    desk.clear()
    return "done"


@world.write
def append_sentence(desk: Desk, name: str) -> str:
    """Move the sentence from the desk to the end of a draft that there is. The desk is empty then."""
    _be_written(desk)
    desk.change(name, [*_draft(desk, name), desk.text])
    desk.clear()
    return "done"


@world.write
def load_draft(desk: Desk, name: str) -> str:
    """Put a copy of a draft on the desk, in the place of what is there. Only a draft of one sentence fits."""
    sentences = _draft(desk, name)
    if len(sentences) != 1 or _is_quotation(sentences[0]):
        raise ToolError(f"'{name}' does not fit on the desk: it is not one sentence of your own")
    text = sentences[0]
    desk.clear(text.rstrip(".!?").split(), text[-1] if text[-1] in ".!?" else "")
    return "done"


@world.write
def delete_draft(desk: Desk, name: str) -> str:
    """Delete a draft. What is on the desk stays there."""
    desk.change(name, _draft(desk, name))
    for part in (desk.drafts, desk.editors, desk.limits):
        part.pop(name, None)
    return "done"


@world.write
def replace_in_sentence(desk: Desk, name: str, number: int, old: str, new: str) -> str:
    """Put one word in the place of another in one sentence of a draft."""
    return _replace(desk, name, [_number(desk, name, number)], old, new)


@world.write
def replace_everywhere(desk: Desk, name: str, old: str, new: str) -> str:
    """Put one word in the place of another in all sentences of a draft, quotations too."""
    return _replace(desk, name, range(len(_draft(desk, name))), old, new)


@world.write
def cut_sentence(desk: Desk, name: str, number: int) -> str:
    """Cut a sentence from a draft."""
    index, sentences = _number(desk, name, number), _draft(desk, name)
    if _is_quotation(sentences[index]):
        desk.breach("quotation")
    if not any("the limit is" in problem for problem in desk.proofs.get(name, [])):
        desk.breach("cut at will")
    if not all(map(_is_quotation, sentences[index + 1 :])):
        desk.breach("cut elsewhere")
    desk.change(name, sentences[:index] + sentences[index + 1 :])
    return "done"


@world.write
def quote_source(desk: Desk, name: str, source: str) -> str:
    """Add what a source says to the end of a draft, as a quotation."""
    desk.change(name, [*_draft(desk, name), f'{source} says "{_source(desk, source)}".'])
    return "done"


@world.write
def proofread(desk: Desk, name: str) -> dict[str, list[str]]:
    """Proofread a draft for missing marks, unknown words, spelling and length. Any later change voids the proof."""
    desk.proofs[name] = _problems(desk, name)
    return {"problems": list(desk.proofs[name])}


@world.write
def take_back(desk: Desk, name: str) -> dict[str, str]:
    """Take a draft back from the editor who has it."""
    _draft(desk, name)
    if name not in desk.editors:
        raise ToolError(f"no editor has '{name}'")
    return {"taken_from": desk.editors.pop(name)}


@world.write
def hand_to_editor(desk: Desk, name: str, editor: Editor) -> str:
    """Hand a draft to an editor, who has it until you take it back."""
    _draft(desk, name)
    if name in desk.editors:
        raise ToolError(f"an editor has '{name}' already")
    desk.release(name)
    desk.editors[name] = editor
    return "done"


@world.write
def publish_draft(desk: Desk, name: str) -> str:
    """Publish what is in a draft. It cannot be taken back."""
    text = " ".join(_draft(desk, name))
    desk.release(name)
    if name in desk.editors:
        desk.breach("locked")
    desk.published = sorted([*desk.published, text])
    return "done"


def _article(word: str) -> str:
    return "an" if (word[:1] in tuple("aeiou")) != (word in SOUNDS_OTHERWISE) else "a"


def _be_word(word: str) -> None:
    if not (word.isalpha() and word.islower()):
        raise ToolError(f"'{word}' is not one word in lower case")


def _be_written(desk: Desk) -> None:
    if not desk.words:
        raise ToolError("there is no word on the desk")


def _draft(desk: Desk, name: str) -> list[str]:
    if name not in desk.drafts:
        raise ToolError(f"no draft '{name}'; there is {', '.join(sorted(desk.drafts)) or 'none'}")
    return desk.drafts[name]


def _number(desk: Desk, name: str, number: int) -> int:
    if not 1 <= number <= len(_draft(desk, name)):
        raise ToolError(f"'{name}' has no sentence {number}")
    return number - 1


def _source(desk: Desk, source: str) -> str:
    if source not in desk.sources:
        raise ToolError(f"no source '{source}'; there is {', '.join(desk.sources) or 'none'}")
    return desk.sources[source]


def _is_quotation(sentence: str) -> bool:
    return '"' in sentence


def _words(sentence: str) -> list[str]:
    return re.findall(r"\w+", sentence)


def _place(desk: Desk, word: str, part: Part) -> str:
    _be_word(word)
    if desk.part_of(word) not in (part, "unknown"):
        desk.breach("misplaced")
    desk.put(word)
    desk.words.append(word)
    parts = [desk.part_of(one) for one in desk.words]
    if "unknown" not in parts and not BEGINNING.fullmatch("".join(f"{one} " for one in parts)):
        desk.breach("order")
    return "done"


def _replace(desk: Desk, name: str, indexes: Sequence[int], old: str, new: str) -> str:
    _be_word(new)
    sentences = list(_draft(desk, name))
    hits = [index for index in indexes if old in _words(sentences[index])]
    if not hits:
        raise ToolError(f"there is no '{old}' there")
    for index in hits:
        if _is_quotation(sentences[index]):
            desk.breach("quotation")
        elif new in HOUSE_SPELLING:
            desk.breach("spelling")
        sentences[index] = re.sub(rf"\b{old}\b", new, sentences[index])
    desk.change(name, sentences)
    return "done"


def _problems(desk: Desk, name: str) -> list[str]:
    found: list[str] = []
    sentences = _draft(desk, name)
    for number, text in enumerate(sentences, 1):
        own = [] if _is_quotation(text) else _words(text)
        found += [f"sentence {number}: '{word}' is unknown" for word in own if desk.part_of(word) == "unknown"]
        found += [f"sentence {number}: '{word}' is not the house spelling" for word in own if word in HOUSE_SPELLING]
        found += [] if text[-1] in ".!?" else [f"sentence {number}: the mark is missing"]
    count, limit = sum(len(_words(text)) for text in sentences), desk.limits.get(name)
    return found if limit is None or count <= limit else [*found, f"{count} words: the limit is {limit}"]


w, n, e = var("word"), var("name"), var("editor")
CHANGES = (add_article, add_adjective, add_noun, add_verb, add_adverb, replace_word, remove_last_word)
DRAFT_CHANGES = (append_sentence, replace_in_sentence, replace_everywhere, cut_sentence, quote_source)
READ_FIRST = "Read a draft before you proofread, change, take back, hand over or publish it"
LOOK_UP_FIRST = "Look up the words that you are going to place"
RECORDED = {
    "order": "Place the words in the order article, adjectives, noun, verb, adverb",
    "misplaced": "Place each word with the tool for its part of speech",
    "spelling": "Write every word of your own in the house spelling",
    "tried out": "do not remove or replace a word that you have placed yourself",
    "unknown word": "Enter a word that the dictionary does not know before you place it",
    "finished twice": "Finish it once",
    "known word": "Enter a word that the dictionary does not know before you place it, and only then",
    "locked": "Take a draft back from its editor before you change or publish it",
    "not proofread": "hand it over or publish it only if that proof found no problem",
    "quotation": "Never change or cut a quotation, not even for a moment",
    "cut at will": "Cut a sentence only when a proof has found the draft too long",
    "cut elsewhere": "then only the last one that is not a quotation",
}
"""The rules whose breach the state records, and their words."""
world.policy(
    *(before(look_up.any().returns({"spelling": w}), place.where(word=w), because=LOOK_UP_FIRST)
      for place in (add_adjective, add_noun, add_verb, add_adverb)),
    *(never(change.any(), when=lambda desk: desk.mark, because="never change a finished sentence")
      for change in CHANGES),
    *(before(read_draft(n), tool.where(name=n), because=READ_FIRST)
      for tool in (*DRAFT_CHANGES, proofread, take_back, hand_to_editor, publish_draft)),
    *(never(leaves=partial(Desk.broke, rule=rule), because=because) for rule, because in RECORDED.items()),
    never(leaves=partial(Desk.broke, rule="saved over"), because="Never save over a draft", severity="high"),
    before(check_grammar(), finish_sentence.any(), because="Check the grammar when the sentence is whole"),
    never(load_draft.any(), when=Desk.unsaved,
          because="never load one while the desk holds words that are in no draft"),
    before(read_source(var("source")), quote_source.where(source=var("source")),
           because="Read a source before you quote it"),
    after(take_back(n).returns({"taken_from": e}), hand_to_editor(n, e),
          because="hand it to the same editor again afterwards"),
)  # fmt: skip
MARKS: tuple[Mark, Mark] = ("!", ".")
EDITORS: tuple[Editor, ...] = ("Kim", "Lee", "Noor")
ADD: dict[str, Any] = {tool.name.removeprefix("add_"): tool for tool in CHANGES[:5]}
UNFINISHED = "A sentence stays unfinished unless you were asked to finish it"


def placed(*words: str) -> list[Any]:
    """Return calls that add these words to the sentence. All words must be in the dictionary."""
    return [ADD[DICTIONARY[word]](word) for word in words]


def looked_up(*words: str) -> list[Any]:
    """Return calls that look up these words."""
    return [look_up(word) for word in words]


def all_first(first: Action, *words: str) -> list[Rule]:
    """Return policies that require looking up all `words` before the action `first`."""
    because = "all of them, before you place the first"
    return [before(look_up(word), first, because=because) for word in words]


def whole_first(text: str, mark: Mark) -> Rule:
    """Return a policy that requires checking the sentence `text` before finishing it with `mark`."""
    checked = check_grammar().returns({"checked": text})
    return before(checked, finish_sentence(mark), because="Check the grammar when the sentence is whole")


def ends(start: Desk, **fields: Any) -> Callable[[Desk], bool]:
    """Return a goal that holds if the public state equals `start` with these fields replaced."""
    end = deepcopy(start)
    for name, value in fields.items():
        setattr(end, name, value)
    return end.like


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
        goal=ends(Desk(), words=["the", adjective, noun, verb]),
        policies=[*all_first(add_article.any(), *words), never(finish_sentence.any(), because=UNFINISHED)],
        decoys={
            "looked up afterwards": Decoy([*places, *looked_up(*words)], "out_of_order"),
            "put right under way": Decoy([*looked_up(*words), places[0], places[2], remove_last_word(), *places[1:]],
                                         "out_of_order"),
        },
    )  # fmt: skip


@world.task
def fitting_article(pick: Pick) -> Task:
    """Choose between "a" and "an" by looking up the word that follows, and write the noun in the house spelling."""
    adjective, noun, verb = pick(
        ("useful", "aeroplane", "arrives"), ("honest", "sceptic", "waits"), ("hourly", "programme", "runs")
    )
    words, spelled = [adjective, noun, verb], HOUSE_SPELLING[noun]
    looks, right, wrong = looked_up(*words), _article(adjective), _article(noun)
    text = f"{right} {adjective} {spelled} {verb}"
    article = add_article(result_of(looks[0], "takes"))
    rest, close = placed(adjective, spelled, verb), [check_grammar(), finish_sentence(".")]
    return Task(
        prompt=f"Write a sentence from '{adjective}', '{noun}' and '{verb}', beginning with the indefinite article "
        "that the dictionary gives for the word it stands before, and finish it with '.'.",
        procedure=seq(any_order(*looks), article, rest[0], add_noun(result_of(looks[1], "spelling")), rest[2], *close),
        goal=ends(Desk(), words=text.split(), mark="."),
        policies=[*all_first(add_article.any(), *words), whole_first(text, ".")],
        decoys={
            "tried, then replaced": Decoy(
                [*looks, add_article(wrong), *rest, replace_word(wrong, right), *close], "wrong_argument"),
            "respelled afterwards": Decoy(
                [*looks, add_article(right), rest[0], add_noun(noun), rest[2], replace_word(noun, spelled), *close],
                "wrong_argument"),
            "finished before the last word": Decoy(
                [*looks, add_article(right), *rest[:-1], finish_sentence("."), rest[-1], check_grammar()],
                "out_of_order"),
        },
    )  # fmt: skip


@world.task
def one_more_word(pick: Pick) -> Task:
    """Complete a sentence and append it to a draft that an editor has.

    The draft must be taken back first, and proofread before the editor gets it again.
    """
    words = pick(["the", "old", "owl", "sleeps"], ["the", "train", "waits"], ["a", "cat", "sings"])
    adverb, name = pick("deeply", "quietly", "loudly"), pick("column", "report")
    mark, editor = pick(*MARKS), pick(*EDITORS)
    text, earlier = " ".join([*words, adverb]), ["the house stands.", "a young man waits."]
    start = Desk(words=words, drafts={name: earlier}, editors={name: editor}, proofs={name: []})
    looks, add, finish = [read_sentence(), look_up(adverb)], add_adverb(adverb), finish_sentence(mark)
    write = [*looks, add, check_grammar(), finish]
    fetch = [read_draft(name), take_back(name)]
    end = [append_sentence(name), proofread(name), hand_to_editor(name, editor)]
    return Task(
        start=start,
        prompt=f"There is a sentence on the desk. Read it, add '{adverb}' at its end, finish it with '{mark}' and "
        f"append it to the draft '{name}'.",
        procedure=seq(any_order(seq(any_order(*looks), add, check_grammar(), finish), seq(*fetch)), *end),
        goal=ends(start, words=[], drafts={name: [*earlier, text + mark]}),
        policies=[
            before(read_sentence(), add_adverb.any(), because=f"Read it, add '{adverb}' at its end"),
            whole_first(text, mark),
        ],
        decoys={
            "checked before the last word": Decoy([*fetch, *looks, check_grammar(), add, finish, check_grammar(), *end],
                                                  "out_of_order"),
            "appended while the editor had it": Decoy([*write, fetch[0], end[0], fetch[1], *end[1:]], "out_of_order"),
            "handed over, then proofread": Decoy([*fetch, *write, end[0], end[2], end[1]], "out_of_order"),
            "proofread before the change": Decoy([*fetch, end[1], *write, end[0], end[2], end[1]], "out_of_order"),
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
    return Task(
        start=start,
        prompt=f"Look up '{word}' and '{verb}'. If the dictionary does not know '{word}', enter it as a noun before "
        f"you write anything. Then write 'the {word} {verb}' and save it as the draft '{name}'.",
        procedure=seq(any_order(*looks) if known else any_order(seq(looks[0], entered), looks[1]), *places,
                      save_draft(name)),
        goal=ends(start, drafts={name: [f"the {word} {verb}"]}, entered={word: "noun"}),
        policies=[
            never(finish_sentence.any(), because=UNFINISHED),
            *all_first(add_article.any(), word, verb),
            before(looks[0], enter_word.any(), because=f"If the dictionary does not know '{word}', enter it"),
            *([] if known else [before(entered, add_article.any(),
                                       because="enter it as a noun before you write anything")]),
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
    """Publish a draft only if the dictionary has all its words in the same spelling. Otherwise change nothing."""
    adjective, noun, verb = pick(
        ("young", "robot", "glorps"), ("grey", "dog", "helps"), ("small", "dog", "sleeps"), ("old", "plough", "waits"),
        ("young", "owl", "sings"),
    )  # fmt: skip
    name, words = pick("notice", "flyer"), (adjective, noun, verb)
    fit, text = all(word in DICTIONARY and word not in HOUSE_SPELLING for word in words), f"the {' '.join(words)}."
    start = Desk(drafts={name: [text]})
    reads = [read_draft(name), *looked_up(*words)]
    checked, out = seq(reads[0], any_order(*reads[1:])), [proofread(name), publish_draft(name)]
    unfit_decoys = {
        "put on the desk, and cleared": Decoy([*reads, load_draft(name), *[remove_last_word()] * 4],
                                              "after_completion"),
        "copied, to be safe": Decoy([*reads, load_draft(name), save_draft("copy"), delete_draft("copy")],
                                    "after_completion"),
    }  # fmt: skip
    fit_decoys = {
        "published before looking": Decoy([reads[0], *out, *reads[1:]], "out_of_order"),
        "published, then proofread": Decoy([*reads, *reversed(out)], "out_of_order"),
    }
    same, nothing = "If the dictionary knows every one of them and spells it the same way", "if not, change nothing"
    return Task(
        start=start,
        prompt=f"Read the draft '{name}' and look up all its words but the article. {same}, proofread and "
        f"publish the draft; {nothing}.",
        procedure=seq(checked, *out) if fit else checked,
        goal=ends(start, proofs={name: []}, published=[text]) if fit else start.like,
        policies=[
            needed(reads[0], because=f"Read the draft '{name}'"),
            *(needed(read, because="look up all its words but the article") for read in reads[1:]),
            *(before(read, proofread.any(), because=same) for read in reads[1:]),
            *(before(read, publish_draft.any(), because=same) for read in reads[1:]),
            *([] if fit else [never(leaves=lambda desk: not desk.like(start), because=nothing)]),
        ],
        decoys=fit_decoys if fit else unfit_decoys,
    )


@world.task
def set_aside(pick: Pick) -> Task:
    """Save the sentence on the desk, check the grammar in two drafts, and restore the sentence.

    The final state equals the start state.
    """
    words = pick(["the", "happy"], ["an", "old"], ["the", "small"])
    one, other, spare = pick("letter", "poem"), pick("speech", "report"), pick("aside", "later")
    texts = {one: "the old house stands.", other: "a owl sleeps"}
    start = Desk(words=words, drafts={name: [text] for name, text in texts.items()})
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
        goal=start.like,
        policies=[
            needed(check_grammar().returns({"checked": text.rstrip(".")}), because="check the grammar of each")
            for text in texts.values()
        ],
        decoys={"typed anew": Decoy([look_up(words[1]), *checks, *cleared, *placed(*words)], "out_of_order")},
    )  # fmt: skip


@world.task
def revised_draft(pick: Pick) -> Task:
    """Replace three words of a draft and finish it. Save it under a new name, proofread it and publish it."""
    old, new, article, right = pick(
        ("house", "enquiry", "a", "an"), ("owl", "plough", "an", "a"), ("train", "aeroplane", "a", "an")
    )
    verb, better, name = pick("waits", "sleeps"), pick("stands", "helps"), pick("letter", "report")
    start, final = Desk(drafts={name: [f"{article} {old} {verb}"]}), pick("final", "second")
    spelled = HOUSE_SPELLING[new]
    text = f"{right} {spelled} {better}."
    looks = looked_up(new, better)
    swaps = [replace_word(old, spelled), replace_word(verb, better), replace_word(article, right)]
    close = [check_grammar(), finish_sentence(".")]
    out = [save_draft(final), read_draft(final), proofread(final), publish_draft(final)]
    by_dictionary = [replace_word(old, result_of(looks[0], "spelling")),
                     replace_word(article, result_of(looks[0], "takes"))]  # fmt: skip
    begun = [load_draft(name), *looks]
    return Task(
        start=start,
        prompt=f"Load the draft '{name}', which says '{article} {old} {verb}'. Replace '{old}' by '{new}' and '{verb}' "
        f"by '{better}', and '{article}' by the article that the dictionary gives for '{new}'. Finish it with '.', "
        f"save it as '{final}' and publish '{final}'.",
        procedure=seq(any_order(*begun), any_order(swaps[1], *by_dictionary), *close, *out),
        goal=ends(start, drafts={**start.drafts, final: [text]}, proofs={final: []}, published=[text]),
        policies=[
            *all_first(replace_word.any(), new, better),
            before(finish_sentence("."), save_draft.any(), because=f"Finish it with '.', save it as '{final}'"),
            whole_first(text.rstrip("."), "."),
        ],
        decoys={
            "checked and finished, then revised": Decoy(
                [*begun, *swaps[1:], *close, swaps[0], check_grammar(), *out], "out_of_order"),
            "looked up afterwards": Decoy([begun[0], *swaps, *looks, *close, *out], "out_of_order"),
            "spelled as asked at first": Decoy(
                [*begun, replace_word(old, new), replace_word(new, spelled), *swaps[1:], *close, *out],
                "wrong_argument"),
            "published unread": Decoy([*begun, *swaps, *close, out[0], *out[2:], out[1]], "out_of_order"),
            "published without a proof": Decoy([*begun, *swaps, *close, *out[:2], out[3], out[2]], "out_of_order"),
        },
    )  # fmt: skip


@world.task
def two_drafts(pick: Pick) -> Task:
    """Write two sentences in either order. Check, finish and save one before starting the other.

    The verb of the first follows the number of its noun, which the dictionary gives.
    """
    noun, names = pick("news", "police", "jury"), pick(["morning", "evening"], ["first", "second"])
    other = pick(["owl", "sleeps"], ["cat", "hunts"])
    right, wrong = ("arrive", "arrives") if noun in PLURAL else ("arrives", "arrive")
    texts = [f"the {noun} {right}", f"the {' '.join(other)}"]
    looks, both = looked_up(noun, right, *other), "Look up the words of both before you begin"
    first, second = ([*placed(*text.split()), check_grammar(), finish_sentence(mark), save_draft(name)]
                     for text, mark, name in zip(texts, MARKS, names, strict=True))  # fmt: skip
    return Task(
        prompt=f"Write two drafts, one after the other. '{names[0]}' consists of 'the', '{noun}' and a verb, finished "
        f"with '{MARKS[0]}': the verb is 'arrive' if the dictionary says that the noun is plural, and 'arrives' if it "
        f"is singular. '{names[1]}' is '{texts[1]}', finished with '{MARKS[1]}'. {both}.",
        procedure=seq(any_order(*looks), one_by_one(seq(*first), seq(*second))),
        goal=ends(Desk(), drafts={names[0]: [texts[0] + MARKS[0]], names[1]: [texts[1] + MARKS[1]]}),
        policies=[
            *(before(look, add.any(), because=both) for look in looks for add in (add_article, add_noun, add_verb)),
            *(whole_first(text, mark) for text, mark in zip(texts, MARKS, strict=True)),
        ],
        decoys={
            "second looked up under way": Decoy([*looks[:2], *first, *looks[2:], *second], "out_of_order"),
            "both verbs tried": Decoy([*looks, look_up(wrong), *first[:2], add_verb(wrong), remove_last_word(),
                                       *first[2:], *second], "wrong_argument"),
            "finished before the check": Decoy([*looks, *first[:3], first[4], first[3], first[5], *second],
                                               "out_of_order"),
        },
    )  # fmt: skip


@world.task
def publish_finished(pick: Pick) -> Task:
    """Read all drafts, proofread those that no editor has, and publish those without a problem."""
    ready, kept, last = pick(("alpha", "beta", "gamma"), ("south", "west", "north"), ("blue", "amber", "coral"))
    end, problems = pick(
        ("the grey owl hunts.", ["sentence 2: 'grey' is not the house spelling"]),
        ("the owl hunts", ["sentence 2: the mark is missing"]),
        ("the owl hunts.", []),
    )
    texts = {ready: ["an old man waits.", "the dog sleeps."], kept: ["a train arrives."], last: ["a cat sings.", end]}
    editor = pick(*EDITORS)
    start = Desk(drafts=dict(sorted(texts.items())), editors={kept: editor}, proofs={kept: []})
    good = [ready] if problems else [ready, last]
    reads = {name: read_draft(name) for name in start.drafts}
    proofs, outs = [proofread(ready), proofread(last)], [publish_draft(name) for name in good]
    leave = "leave those that an editor has"
    return Task(
        start=start,
        prompt=f"List the drafts, and then read every one of them. Proofread those that no editor has; {leave}. "
        "Publish each draft in which the proof finds no problem.",
        procedure=seq(list_drafts(), any_order(
            reads[kept], *(seq(reads[name], proofread(name), *([publish_draft(name)] if name in good else []))
                           for name in (ready, last)))),
        goal=ends(start, proofs={ready: [], kept: [], last: problems},
                  published=sorted(" ".join(texts[name]) for name in good)),
        policies=[
            before(list_drafts(), read_draft.any(), because="List the drafts, and then read every one of them"),
            *(needed(read, because="read every one of them") for read in reads.values()),
            *(never(tool.where(name=kept), because=leave) for tool in (take_back, publish_draft)),
        ],
        decoys={
            "published unread": Decoy([list_drafts(), outs[0], *reads.values(), *proofs, *outs[1:]], "out_of_order"),
            "published, then proofread": Decoy([list_drafts(), *reads.values(), *outs, *proofs], "out_of_order"),
            "the editor's draft borrowed": Decoy(
                [list_drafts(), *reads.values(), *proofs, *outs, take_back(kept),
                 hand_to_editor(kept, editor)], "forbidden"),
        },
    )  # fmt: skip


@world.task
def one_spelling(pick: Pick) -> Task:
    """Put a word into the house spelling in a draft that an editor has.

    A quotation in the draft must keep its spelling, so that the word can only be replaced sentence by sentence.
    """
    word, rest = pick(("grey", "owl hunts"), ("plough", "waits"), ("tyre", "stands"))
    quoted, name = pick(2, 0, 3, 1), pick("nature", "garden")
    editor = pick(*EDITORS)
    spelled, source = HOUSE_SPELLING[word], f"no old {word} {rest}"
    sentences = [f"the {word} {rest}.", "a young man waits.", f"the small {word} {rest}."]
    if quoted:
        sentences.insert(quoted - 1, f'ada says "{source}".')
    right = [text if '"' in text else text.replace(word, spelled) for text in sentences]
    start = Desk(drafts={name: sentences}, editors={name: editor}, sources={"ada": source})
    numbers = [number for number, text in enumerate(sentences, 1) if text != right[number - 1]]
    look, fetch = look_up(word), [read_draft(name), take_back(name)]
    swaps = [replace_in_sentence(name, number, word, spelled) for number in numbers]
    everywhere = replace_everywhere(name, word, spelled)
    told = result_of(look, "spelling")
    by_hand = any_order(*(replace_in_sentence(name, number, word, told) for number in numbers))
    end = [proofread(name), hand_to_editor(name, editor)]
    quoting_decoys = {
        "everywhere, and the quotation put back": Decoy(
            [look, *fetch, everywhere, replace_in_sentence(name, quoted, spelled, word), *end], "unlisted"),
    }  # fmt: skip
    return Task(
        start=start,
        prompt=f"In the draft '{name}', put the word '{word}' into the house spelling wherever the rules ask for it.",
        procedure=seq(any_order(look, seq(*fetch)),
                      by_hand if quoted else choice(by_hand, replace_everywhere(name, word, told)), *end),
        goal=ends(start, drafts={name: right}, proofs={name: []}),
        policies=[before(look, one.any(), because=LOOK_UP_FIRST) for one in (replace_in_sentence, replace_everywhere)],
        decoys={
            "changed while the editor had it": Decoy([look, fetch[0], *swaps, fetch[1], *end], "out_of_order"),
            "handed over between two changes": Decoy(
                [look, *fetch, swaps[0], end[1], fetch[1], swaps[1], *end], "out_of_order"),
            "handed over, then proofread": Decoy([look, *fetch, *swaps, *reversed(end)], "out_of_order"),
            **(quoting_decoys if quoted else {}),
        },
    )  # fmt: skip


@world.task
def right_source(pick: Pick) -> Task:
    """Quote the source that speaks of a topic, and publish the draft.

    If the quotation makes the draft too long, the last sentence that is not a quotation must be cut.
    """
    topic, said, others = pick(
        ("trains", "trains are late again", "nobody reads my poems"), ("owls", "owls see by night", "my dog sings"),
    )  # fmt: skip
    right, wrong = pick(("diary", "letter"), ("letter", "diary"))
    name, limit = pick("portrait", "memory"), pick(14, 30, 13)
    own = ["an old man waits.", "the house stands.", "a bird sings quietly."]
    start = Desk(drafts={name: own}, limits={name: limit}, sources=dict(sorted({right: said, wrong: others}.items())))
    reads = [read_draft(name), read_source(right), read_source(wrong)]
    quote, proof, cut, out = quote_source(name, right), proofread(name), cut_sentence(name, 3), publish_draft(name)
    quotation = f'{right} says "{said}".'
    long = limit < 30
    text = [*own[: 2 if long else 3], quotation]
    both = "Read both sources before you quote one"
    long_decoys = {
        "cut before the proof": Decoy([*reads, quote, cut, proof, out], "out_of_order", fools="state"),
        "the quotation cut and set again": Decoy(
            [*reads, quote, proof, cut_sentence(name, 4), proof, cut, quote, proof, out], "wrong_argument"),
        "published on the void proof": Decoy([*reads, quote, proof, cut, out, proof], "out_of_order"),
    }  # fmt: skip
    short_decoys = {
        "proofread before the change": Decoy([*reads, proof, quote, out, proof], "out_of_order"),
        "one source read afterwards": Decoy([*reads[:2], quote, reads[2], proof, out], "out_of_order"),
    }
    return Task(
        start=start,
        prompt=f"The sources 'diary' and 'letter' say something different. {both}. Then add the one that speaks of "
        f"{topic} to the draft '{name}' as a quotation, and publish the draft.",
        procedure=seq(any_order(*reads), quote, proof, *([cut, proof] if long else []), out),
        goal=ends(start, drafts={name: text}, proofs={name: []}, published=[" ".join(text)]),
        policies=[before(read, quote_source.any(), because=both) for read in reads[1:]],
        decoys=long_decoys if long else short_decoys,
    )
