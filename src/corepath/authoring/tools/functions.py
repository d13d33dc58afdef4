"""Tools that are Python functions, or belong to a world."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any, Final

from corepath.errors import TaskError, nearest
from corepath.files.tool_list import ListedTool
from corepath.notation.action import Tool
from corepath.notation.call import REQUIRED
from corepath.values import why_not_json
from corepath.world.tools import WorldTool
from corepath.world.world import World

_WRAPPED: Final = ("fn", "func", "coroutine", "function")
"""Where the tool objects of agent frameworks keep their function."""


def tools_of_world(world: World[Any]) -> Iterator[ListedTool]:
    """Yield a world's tools. Their decorators say whether they read or write."""
    for tool in world.tools.values():
        yield tool_of_world(tool)


def tool_of_world(tool: WorldTool[Any]) -> ListedTool:
    """Return a world's tool. Its decorator says whether it reads or writes."""
    by = "@world.write" if tool.writes else "@world.read"
    listed = Tool(tool.name, tool.parameters)
    return ListedTool(listed, tool.description, "write" if tool.writes else "read", by, firm=True)


def tool_of_function(function: Callable[..., Any], name: str | None = None) -> ListedTool:
    """Return the tool that a function is. Raises `TaskError` if it has no name or no signature."""
    name = name or getattr(function, "__name__", None)
    if inspect.isclass(function):
        raise TaskError.of("it is a class, and a tool is a function, a World, or a list of them")
    if not isinstance(name, str):
        raise TaskError.of(f"this {type(function).__name__} has no name; give its function")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return ListedTool(Tool(name), inspect.getdoc(function) or "")
    return ListedTool(Tool(name, _parameters(signature)), inspect.getdoc(function) or "")


def _parameters(signature: inspect.Signature) -> dict[str, Any] | None:
    """Return the parameters with their defaults, or None if the function takes any arguments."""
    found: dict[str, Any] = {}
    for place, one in enumerate(signature.parameters.values()):
        if one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
            return None
        if place == 0 and one.name in ("self", "cls"):
            continue
        default = REQUIRED if one.default is one.empty else one.default
        found[one.name] = default if default is REQUIRED or why_not_json(default) is None else None
    return found


def tools_of_value(value: Any) -> Iterator[ListedTool]:
    """Yield the tools that a Python value holds: a world, a function, a framework's tool object, or a list of them.

    Raises `TaskError` if it is anything else.
    """
    if isinstance(value, World):
        yield from tools_of_world(value)
    elif isinstance(value, WorldTool):
        yield tool_of_world(value)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from tools_of_value(item)
    elif (function := _wrapped_function(value)) is not None:
        yield tool_of_function(function, value.name)
    elif callable(value):
        yield tool_of_function(value)
    else:
        raise TaskError.of(
            f"it is of the type {type(value).__name__}, and a tool is a function, a World, or a list of them"
        )


def tools_of_module(module: ModuleType, name: str | None, where: str) -> tuple[ListedTool, ...]:
    """Return the tools that a module has under a name. Without a name, these are its worlds, or else its functions.

    Functions whose names begin with `_` and those from other modules are left out. Raises `TaskError` if there are
    none. `where` is how error messages refer to the module.
    """
    members = {key: value for key, value in vars(module).items() if not key.startswith("_")}
    if name is not None:
        if not hasattr(module, name):
            raise TaskError.of(f"no '{name}' in {where}{nearest(name, members)}")
        try:
            return tuple(tools_of_value(getattr(module, name)))
        except TaskError as error:
            raise TaskError.of(f"'{name}' in {where}: {error}") from None
    worlds = {id(one): one for one in members.values() if isinstance(one, World)}
    found: list[Any] = list(worlds.values()) or [one for one in members.values() if _is_own(one, module)]
    if not found:
        raise TaskError.of(f"{where} has no functions and no World; name a list of tools as {where}:TOOLS")
    return tuple(tools_of_value(found))


def _is_own(value: Any, module: ModuleType) -> bool:
    function = value if isinstance(value, FunctionType) else _wrapped_function(value)
    return function is not None and function.__module__ == module.__name__


def _wrapped_function(value: Any) -> FunctionType | None:
    """Return the function of a framework's tool object, or None if it is no such object."""
    if inspect.isclass(value) or isinstance(value, ModuleType) or not isinstance(getattr(value, "name", None), str):
        return None
    found = (getattr(value, key, None) for key in _WRAPPED)
    return next((one for one in found if isinstance(one, FunctionType)), None)
