"""A world's tools: functions on the world's state that agents call."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, ParamSpec, TypeVar

from corepath.errors import TaskError
from corepath.notation.action import Action, Tool
from corepath.notation.call import REQUIRED
from corepath.notation.parameters import Parameter
from corepath.world.state import copy_state

S = TypeVar("S")
P = ParamSpec("P")


@dataclass(frozen=True)
class WorldTool(Tool, Generic[P]):
    """A tool that can be executed. Calling the tool in a task definition creates an action, e.g. `move(to="C")`."""

    function: Callable[..., Any] = field(repr=False, kw_only=True)
    inputs: Mapping[str, Parameter] = field(repr=False, kw_only=True)
    writes: bool = field(kw_only=True)

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> Action:
        """Create an action with exactly these arguments."""
        try:
            bound = self._signature.bind_partial(*args, **kwargs)
        except TypeError as error:
            raise TaskError.of(f"tool '{self.name}': {error}") from None
        return self._action(bound.arguments, is_open=False)

    def execute(self, state: S, arguments: Mapping[str, Any]) -> tuple[Any, S]:
        """Run the tool on a copy of the state, and return the result and the new state.

        The caller must check `arguments` first.
        """
        after = copy_state(state)
        return self.function(after, **copy_state(arguments)), after

    @property
    def description(self) -> str:
        """The function's docstring, which the agent reads."""
        return inspect.cleandoc(self.function.__doc__ or "")

    @property
    def schema(self) -> dict[str, Any]:
        """The tool's definition for language models: name, description, and the JSON Schema for its parameters."""
        required = [name for name, parameter in self.inputs.items() if parameter.default is REQUIRED]
        return {
            "name": self.name,
            "description": self.description,
            "parameters": {
                "type": "object",
                "properties": {name: parameter.schema for name, parameter in self.inputs.items()},
                "required": required,
                "additionalProperties": False,
            },
        }

    @cached_property
    def _signature(self) -> inspect.Signature:
        signature = inspect.signature(self.function)
        return signature.replace(parameters=list(signature.parameters.values())[1:])
