"""Tool parameters: their names, types, defaults and JSON Schemas."""

from __future__ import annotations

import inspect
import math
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from corepath.errors import TaskError, ToolError, nearest
from corepath.notation.call import REQUIRED
from corepath.values import equal, to_notation

LARGEST: Final = 10**18
"""The largest whole number that is accepted. Results computed from larger numbers might not fit into JSON."""
_NAMES = {str: "a text", int: "a whole number", float: "a number", bool: "true or false", type(None): "null"}
_SCHEMAS = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
_SAMPLES: dict[Any, tuple[Any, ...]] = {
    str: ("anything", "something else", "x"),
    int: (1, 2, 0),
    float: (1.0, 2.5, 0.0),
    bool: (True, False),
    type(None): (None,),
}


@dataclass(frozen=True)
class Parameter:
    """A tool parameter.

    `type` is `str`, `int`, `float`, `bool`, `None`, `Literal[...]`, `list[...]`, or a union of them. `default` is
    `REQUIRED` if the parameter has no default.
    """

    name: str
    type: Any
    default: Any = REQUIRED
    description: str = ""

    def convert(self, value: Any) -> Any:
        """Convert a value to the parameter's type. Raises `ToolError` if that is not possible."""
        try:
            return _convert(self.type, value)
        except ValueError:
            try:
                shown = to_notation(value)
            except (ValueError, RecursionError):
                shown = f"this {type(value).__name__}"
            cut = shown if len(shown) <= 80 else f"{shown[:79]}…"
            raise ToolError(f"argument '{self.name}' must be {_describe_type(self.type)}, not {cut}") from None

    def admits(self, value: Any) -> bool:
        """Return True if `value` can be converted to the parameter's type."""
        try:
            _convert(self.type, value)
        except ValueError:
            return False
        return True

    @property
    def samples(self) -> tuple[Any, ...]:
        """Example values of the parameter's type."""
        return _samples(self.type)

    @property
    def options(self) -> tuple[Any, ...] | None:
        """All possible values if the type is a `Literal` or `bool`, or None for any other type."""
        if get_origin(self.type) is Literal:
            return get_args(self.type)
        return (True, False) if self.type is bool else None

    @property
    def schema(self) -> dict[str, Any]:
        """The parameter's JSON Schema."""
        schema = _schema(self.type)
        if self.description:
            schema["description"] = self.description
        if self.default is not REQUIRED:
            schema["default"] = self.default
        return schema


def parameters_of(function: Callable[..., Any]) -> dict[str, Parameter]:
    """Return a tool function's parameters, keyed by name. The first parameter, the state, is left out."""
    hints = typing.get_type_hints(function, include_extras=True)
    listed = list(inspect.signature(function).parameters.values())
    if not listed:
        raise TaskError.of(f"tool '{function.__name__}' needs the state as its first parameter")
    found: dict[str, Parameter] = {}
    for parameter in listed[1:]:
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TaskError.of(f"tool '{function.__name__}': '{parameter}' must be a plain parameter")
        if parameter.name not in hints:
            raise TaskError.of(f"tool '{function.__name__}': say of what type '{parameter.name}' is")
        kind, description = hints[parameter.name], ""
        if get_origin(kind) is Annotated:
            kind, description = get_args(kind)[0], str(get_args(kind)[1])
        if not _known(kind):
            raise TaskError.of(f"tool '{function.__name__}': '{parameter.name}' is {kind}, which is no type of JSON")
        default = REQUIRED if parameter.default is parameter.empty else parameter.default
        found[parameter.name] = Parameter(parameter.name, kind, default, description)
    return found


def check_arguments(tool: str, parameters: Mapping[str, Parameter], arguments: Any) -> dict[str, Any]:
    """Check and convert a call's arguments, and fill in defaults. Raises `ToolError` if an argument is invalid."""
    if not isinstance(arguments, Mapping):
        raise ToolError(f"the arguments of '{tool}' must be a JSON object")
    for name in arguments:
        if name not in parameters:
            has = f"it takes {', '.join(parameters)}" if parameters else "it takes none"
            close = nearest(str(name), parameters)
            raise ToolError(f"'{tool}' has no argument '{str(name)[:80]}'{close if 'mean' in close else f'; {has}'}")
    found: dict[str, Any] = {}
    for name, parameter in parameters.items():
        if name in arguments:
            found[name] = parameter.convert(arguments[name])
        elif parameter.default is REQUIRED:
            raise ToolError(f"'{tool}' needs the argument '{name}', {_describe_type(parameter.type)}")
        else:
            found[name] = parameter.default
    return found


def _options(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)


def _known(kind: Any) -> bool:
    if get_origin(kind) is Literal:
        return True
    if get_origin(kind) is list:
        return all(map(_known, get_args(kind)))
    options = _options(kind)
    return all(map(_known, options)) if len(options) > 1 else kind in _NAMES


def _convert(kind: Any, value: Any) -> Any:
    """Convert a value to a type. Raises `ValueError` if that is not possible."""
    if type(value) is kind and (kind is str or kind is bool):
        return value
    origin = get_origin(kind)
    if origin is Literal:
        return _option(kind, value)
    if origin is list:
        if not isinstance(value, (list, tuple)):
            raise ValueError
        return [_convert(get_args(kind)[0], item) for item in value]
    options = _options(kind)
    return _convert_to_any(options, value) if len(options) > 1 else _convert_scalar(kind, value)


def _convert_to_any(kinds: tuple[Any, ...], value: Any) -> Any:
    """Convert a value to the first type that accepts it. Raises `ValueError` if no type does."""
    for kind in kinds:
        try:
            return _convert(kind, value)
        except ValueError:
            continue
    raise ValueError


def _convert_scalar(kind: Any, value: Any) -> Any:
    """Convert a value to `str`, `int`, `float`, `bool` or `None`. Raises `ValueError` if that is not possible.

    Booleans are not accepted as numbers, but a float such as 25.0 is accepted as a whole number.
    """
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind is float and is_number:
        return _finite(value)
    if kind is int:
        whole = int(value) if isinstance(value, float) and value.is_integer() else value
        if not is_number or not isinstance(whole, int) or (isinstance(value, int) and abs(value) > LARGEST):
            raise ValueError
        return whole
    if isinstance(value, kind):
        return value
    raise ValueError


def _finite(value: float) -> float:
    try:
        number = float(value)
    except OverflowError:
        raise ValueError from None
    if not math.isfinite(number):
        raise ValueError
    return number


def _option(kind: Any, value: Any) -> Any:
    for option in get_args(kind):
        if equal(option, value):
            return option
    raise ValueError


def _describe_type(kind: Any) -> str:
    """Describe a type in words for error messages, e.g. `a whole number or null`."""
    if get_origin(kind) is Literal:
        return f"one of {', '.join(map(to_notation, get_args(kind)))}"
    if get_origin(kind) is list:
        return f"a list, each item {_describe_type(get_args(kind)[0])}"
    options = _options(kind)
    return " or ".join(map(_describe_type, options)) if len(options) > 1 else _NAMES[kind]


def _schema(kind: Any) -> dict[str, Any]:
    if get_origin(kind) is Literal:
        return {"enum": list(get_args(kind))}
    if get_origin(kind) is list:
        return {"type": "array", "items": _schema(get_args(kind)[0])}
    options = _options(kind)
    return {"anyOf": [_schema(option) for option in options]} if len(options) > 1 else {"type": _SCHEMAS[kind]}


def _samples(kind: Any) -> tuple[Any, ...]:
    if get_origin(kind) is Literal:
        return get_args(kind)
    if get_origin(kind) is list:
        return tuple([item] for item in _samples(get_args(kind)[0]))
    options = _options(kind)
    return tuple(one for option in options for one in _samples(option)) if len(options) > 1 else _SAMPLES[kind]
