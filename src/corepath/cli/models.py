"""Checks that live models can run, and imports the optional packages that they need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import typer

from corepath.cli.options import MISSING_EXTRA
from corepath.cli.printing import say, usage_error
from corepath.cli.progress import show_downloads
from corepath.errors import CorepathError, OptionError, install


def check_models(models: Iterable[str], options: Mapping[str, Any]) -> None:
    """Check that models can run, and download what a local model still needs.

    Exit with code 2 if an option is invalid, and with code 3 if a model cannot run.
    """
    with show_downloads() as show:
        try:
            model_runner().check_models(models, options, show)
        except OptionError as error:
            usage_error(str(error))
        except CorepathError as error:
            say(f"corepath: {error}")
            raise typer.Exit(MISSING_EXTRA) from None


def model_runner() -> Any:
    """Import the module that runs models. Exit with code 3 if the packages it needs are not installed."""
    try:
        from corepath.runs import models  # noqa: PLC0415
    except ImportError as error:
        say(f"corepath: running models needs more packages ({error}): {install('run')}")
        raise typer.Exit(MISSING_EXTRA) from None
    return models
