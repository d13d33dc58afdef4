"""The kernel as plain Python, whether or not the installed one is compiled."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

import corepath.scoring
from corepath.scoring import alignment, arrays, metrics, prefix_criticality


@cache
def plain_kernel() -> ModuleType:
    """Load kernel.py as it is."""
    file = Path(corepath.scoring.__file__).with_name("kernel.py")
    spec = importlib.util.spec_from_file_location("plain_kernel", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def leave_uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Score with the kernel as plain Python, and batches too where the extra `batch` is installed."""
    monkeypatch.setattr(arrays, "COMPILED", False)
    for module in (alignment, metrics, prefix_criticality):
        monkeypatch.setattr(module, "kernel", plain_kernel())
    if importlib.util.find_spec("numpy") is not None:
        monkeypatch.setattr("corepath.batch.coded.kernel", plain_kernel())
