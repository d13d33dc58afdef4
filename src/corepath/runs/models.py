"""Live models on tasks: many episodes at the same time, each written when it ends."""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from inspect_ai._util.registry import registry_find, registry_info
from inspect_ai.model import GenerateConfig, Model, get_model
from rich.text import Text

from corepath.episode import Episode
from corepath.errors import OptionError, RunError, nearest
from corepath.files.lookup import Source
from corepath.play.play import recorded, seed_of
from corepath.play.session import Session
from corepath.runs.folder import Key, RunFolder
from corepath.runs.local import Told, engine, fetch, request_fields, serving
from corepath.runs.model_loop import (
    CONNECTION,
    NOT_ALLOWED,
    SERVER_ERROR,
    TIMEOUT,
    Ending,
    converse,
    failure_of,
    listened_to,
)
from corepath.runs.plan import Plan

LOCAL: Final = "local"
LOCAL_TURNS: Final = 6
LOCAL_TOKENS: Final = 128
"""Turns of an episode, and tokens of a turn, of a local model."""
CONNECTIONS: Final = 10
FEW: Final = 3
"""Episodes after which a model that was never reached is given up."""
_DOWN: Final = (CONNECTION, TIMEOUT, SERVER_ERROR)
"""How the episodes of a service that is down fail."""


@dataclass(frozen=True)
class Harness:
    """A model that is ready, and how it is asked."""

    name: str
    model: Model
    connections: int
    config: Callable[[int], GenerateConfig]
    most_turns: int | None = None

    @property
    def reached(self) -> bool:
        """Whether the model ever said anything."""
        return bool(getattr(self.model.api, "corepath_reached", False))

    async def played(self, source: Source, epoch: int, plan: Plan) -> Episode:
        """One episode."""
        task = source.make(plan.seed)
        session = Session(task, seed_of(plan.seed, self.name, task.id, epoch), time.monotonic)
        ending: Ending = await converse(session, self.model, self.config, self.most_turns)
        return recorded(
            session, self.name, epoch=epoch, seed=plan.seed, answer=ending.answer, ended=ending.ended,
            scoring=plan.scoring, more=ending.to_dict(),
        )  # fmt: skip


def ready(models: Iterable[str], options: Mapping[str, Any], told: Told) -> None:
    """Find out, before anything is run, whether the models can be: raises `RunError` with what would help."""
    for name in models:
        if is_local(name):
            _weights(name, told)
            engine(told)
        else:
            _remote(name, options)


def play_models(plan: Plan, folder: RunFolder, done: set[Key], told: Callable[[Episode], None], fetched: Told) -> None:
    """Play what is missing of a plan's models, and append each episode when it ends.

    A model that is not reached at all is given up: the rest of its episodes is not tried.
    """
    for name in plan.models:
        todo = [(source, epoch) for source, left in plan.missing(done, [name]) for _, epoch in left]
        if todo:
            with harness(name, plan.options, fetched) as ready_one:
                asyncio.run(_play(ready_one, todo, plan, folder, told))


async def _play(
    harness: Harness, todo: list[tuple[Source, int]], plan: Plan, folder: RunFolder, told: Callable[[Episode], None]
) -> None:
    waiting = iter(todo)
    failed = gone = 0
    reached = False

    async def worker() -> None:
        nonlocal failed, gone, reached
        for source, epoch in waiting:
            # In a task of its own: what Inspect keeps of a conversation goes with it.
            episode = await asyncio.create_task(harness.played(source, epoch, plan))
            folder.append(episode)
            told(episode)
            kind = episode.failure.get("kind")
            failed += FEW if kind == NOT_ALLOWED else 1
            reached = reached or harness.reached or kind not in (NOT_ALLOWED, *_DOWN)
            if reached:  # what gave up too early comes back
                for _ in range(gone):
                    group.create_task(worker())
                gone = 0
            elif failed >= FEW:
                gone += 1
                return

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(harness.connections, len(todo))):
                group.create_task(worker())
    except* Exception as errors:  # noqa: BLE001  # raised again, as it is
        raise errors.exceptions[0] from None
    finally:
        with suppress(Exception):  # closing is kind, and no more
            await harness.model.api.aclose()


# Models by name


@contextmanager
def harness(name: str, options: Mapping[str, Any], told: Told) -> Iterator[Harness]:
    """A model that is ready, for as long as it is needed."""
    connections = options.get("max_connections")
    if not is_local(name):
        model = _remote(name, options)
        config = _config(options)
        yield Harness(name, model, connections or CONNECTIONS, lambda _: config)
        return
    weights = _weights(name, told)
    threads = int(options.get("threads") or 2)
    with serving(weights, threads=threads, engine=engine(told)) as url:
        model = _compatible(LOCAL, url, options)

        def config_of(turn: int) -> GenerateConfig:
            return _config(options, max_tokens=LOCAL_TOKENS, temperature=0.0, extra_body=request_fields(turn))

        yield Harness(name, model, 1, config_of, LOCAL_TURNS)


def is_local(name: str) -> bool:
    """Whether the model runs on this machine, in a server that is started for it."""
    return name == LOCAL or name.startswith(f"{LOCAL}:")


def _weights(name: str, told: Told) -> Path:
    if name == LOCAL:
        return fetch(told)
    path = Path(name.removeprefix(f"{LOCAL}:"))
    if not path.is_file():
        raise RunError(f"no such file: {path}; --model local:FILE takes a model in the GGUF format")
    return path


def _remote(name: str, options: Mapping[str, Any]) -> Model:
    if options.get("base_url"):
        return _compatible(name, str(options["base_url"]), options)
    if "/" not in name:
        raise RunError(
            f"'{name}' is no model: write it as PROVIDER/NAME, such as openai/gpt-4o, or give --base-url; "
            "local runs a small one here"
        )
    provider, known = name.partition("/")[0], _providers()
    if provider not in known:
        raise OptionError(f"no provider '{provider}'{nearest(provider, known)}")
    return _model(name, options, {"max_retries": 0} if name.startswith(("openai/", "openai-api/")) else {})


def _providers() -> list[str]:
    """The names of Inspect's providers, and of those that other packages give it."""
    found = registry_find(lambda info: info.type == "modelapi")
    return sorted(registry_info(one).name.removeprefix("inspect_ai/") for one in found)


def _compatible(name: str, url: str, options: Mapping[str, Any]) -> Model:
    """A model behind an OpenAI-compatible server."""
    key = os.environ.get("OPENAI_API_KEY", "none")
    return _model(f"openai-api/server/{name}", options, {"base_url": url, "api_key": key, "max_retries": 0})


def _model(name: str, options: Mapping[str, Any], arguments: Mapping[str, Any]) -> Model:
    try:
        model = listened_to(get_model(name, config=_config(options), memoize=False, **arguments))
    except Exception as error:  # noqa: BLE001  # a provider says in its own way what it lacks
        lines = Text.from_markup(str(error)).plain.removeprefix("ERROR:").splitlines()
        message = "; ".join(line.strip() for line in lines if line.strip())
        raise RunError(f"model '{name}' cannot be used: {message}") from None
    api: Any = model.api
    plain = api.should_retry

    def should_retry(error: Exception) -> Any:
        """As the provider says; but where there is no server, it is not waited for."""
        return (api.corepath_reached or failure_of(error)["kind"] != CONNECTION) and plain(error)

    api.should_retry = should_retry
    return model


def _config(options: Mapping[str, Any], **more: Any) -> GenerateConfig:
    return GenerateConfig(
        max_retries=options.get("max_retries", 5),
        attempt_timeout=math.ceil(options.get("timeout") or 300),
        max_connections=options.get("max_connections") or CONNECTIONS,
        parallel_tool_calls=False,
        **more,
    )
