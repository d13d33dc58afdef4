"""Tool files from traces, schemas and Python functions.

>>> from corepath.authoring.tools import describe_tools
>>> described = describe_tools({"name": "get_order", "parameters": {"properties": {"id": {}}, "required": ["id"]}})
>>> described.evidence["get_order"]
Verdict(kind='read', evidence=('name says get',), sure=True)
"""

from __future__ import annotations

from corepath.authoring.tools.describe import Described, describe_tools
from corepath.authoring.tools.verdict import Verdict

__all__ = ["Described", "Verdict", "describe_tools"]
