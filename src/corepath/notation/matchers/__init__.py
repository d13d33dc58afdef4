"""Matchers: conditions on one argument, one result or one answer.

A matcher says whether a value fits, gives examples that do, and prints itself in the call notation. Build them with
the functions of `patterns`.
"""

from corepath.notation.matchers.base import PROBES, Matcher, Scope, walk
from corepath.notation.matchers.choices import NoneOf, OneOf
from corepath.notation.matchers.containers import Contains, Fields, Items, Unordered
from corepath.notation.matchers.references import ResultOf, Variable, depends_on_calls
from corepath.notation.matchers.values import Anything, Approx, Between, Literal, Regex, SameText, Satisfies

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
    "Unordered",
    "Variable",
    "depends_on_calls",
    "walk",
]
