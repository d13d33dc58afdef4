"""Registers corepath's tasks and scorer with Inspect, and its scanner if Inspect Scout is installed.

Inspect imports this module through corepath's entry point.
"""

from importlib.util import find_spec

import corepath.runs.inspect_tasks

if find_spec("inspect_scout"):
    import corepath.testing.scout  # noqa: F401
