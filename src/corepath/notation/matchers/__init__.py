"""Matchers: conditions on an argument, a result or an answer.

A matcher decides whether a value matches, lists examples that match, and prints itself in the call notation. Create
matchers with the functions in `patterns`.
"""

from corepath.notation.matchers.base import PROBES, Matcher, Scope, walk
from corepath.notation.matchers.choices import NoneOf, OneOf
from corepath.notation.matchers.containers import Contains, Fields, Items, Unordered
from corepath.notation.matchers.references import ResultOf, Variable, depends_on_calls
from corepath.notation.matchers.values import Anything, Approx, Between, Literal, Regex, SameText, Satisfies, Search

__all__ = [
    "PROBES",
    "Anything",
    "Approx",
    "Between",
    "Contains",
    "Fields",
    "Items",
    "Literal",
    "Matcher",
    "NoneOf",
    "OneOf",
    "Regex",
    "ResultOf",
    "SameText",
    "Satisfies",
    "Scope",
    "Search",
    "Unordered",
    "Variable",
    "depends_on_calls",
    "walk",
]
