"""Play live models on tasks. Several episodes run at once, and each episode is written when it ends."""

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
from corepath.play.play import episode_seed, record_episode
from corepath.play.session import Session
from corepath.runs.conversation import Ending, converse, keep_responses
from corepath.runs.failure import CONNECTION, NOT_ALLOWED, SERVER_ERROR, TIMEOUT, describe_failure
from corepath.runs.folder import Key, RunFolder
from corepath.runs.local_model import Progress, fetch_engine, fetch_weights, request_fields, serve_model
from corepath.runs.plan import Plan

LOCAL: Final = "local"
LOCAL_TURNS: Final = 6
LOCAL_TOKENS: Final = 128
"""The limits for a local model: turns per episode and tokens per turn."""
CONNECTIONS: Final = 10
MOST_FAILURES: Final = 3
"""A model that never responded is abandoned after this many failed episodes."""
_DOWN: Final = (CONNECTION, TIMEOUT, SERVER_ERROR)
"""The failure kinds that mean that a service is down."""


@dataclass(frozen=True)
class Harness:
    """A model that is ready to play.

    `config` takes the turn's number, counted from 1, and returns the request options.
    """

    name: str
    model: Model
    connections: int
    config: Callable[[int], GenerateConfig]
    most_turns: int | None = None

    @property
    def reached(self) -> bool:
        """Whether the model ever responded."""
        return bool(getattr(self.model.api, "corepath_reached", False))

    async def play(self, source: Source, epoch: int, plan: Plan) -> Episode:
        """Play one episode and return it."""
        task = source.make(plan.seed)
        session = Session(task, episode_seed(plan.seed, self.name, task.id, epoch), time.monotonic)
        ending: Ending = await converse(session, self.model, self.config, self.most_turns)
        return record_episode(
            session, self.name, epoch=epoch, seed=plan.seed, answer=ending.answer, ended=ending.ended,
            scoring=plan.scoring, more=ending.to_dict(),
        )  # fmt: skip


def check_models(models: Iterable[str], options: Mapping[str, Any], progress: Progress) -> None:
    """Check that the models can be used. Raises `RunError` with a message that says what would help."""
    for name in models:
        if is_local(name):
            _weights(name, progress)
            fetch_engine(progress)
        else:
            _remote(name, options)


def play_models(
    plan: Plan, folder: RunFolder, done: set[Key], on_episode: Callable[[Episode], None], progress: Progress
) -> None:
    """Play the missing episodes of the plan's models, and append each episode when it ends.

    A model that never responds is abandoned after a few failed episodes.
    """
    for name in plan.models:
        todo = [(source, epoch) for source, left in plan.missing(done, [name]) for _, epoch in left]
        if todo:
            with open_harness(name, plan.options, progress) as harness:
                asyncio.run(_play(harness, todo, plan, folder, on_episode))


async def _play(
    harness: Harness,
    todo: list[tuple[Source, int]],
    plan: Plan,
    folder: RunFolder,
    on_episode: Callable[[Episode], None],
) -> None:
    """Play the (task, epoch) pairs in `todo`, as many at once as the model has connections."""
    waiting = iter(todo)
    failed = stopped = 0
    reached = False

    async def worker() -> None:
        nonlocal failed, stopped, reached
        for source, epoch in waiting:
            # Each episode has its own asyncio task, whose end frees what Inspect keeps about the conversation.
            episode = await asyncio.create_task(harness.play(source, epoch, plan))
            folder.append(episode)
            on_episode(episode)
            kind = episode.failure.get("kind")
            failed += MOST_FAILURES if kind == NOT_ALLOWED else 1
            reached = reached or harness.reached or kind not in (NOT_ALLOWED, *_DOWN)
            if reached:  # restart the workers that gave up too early
                for _ in range(stopped):
                    group.create_task(worker())
                stopped = 0
            elif failed >= MOST_FAILURES:
                stopped += 1
                return

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(harness.connections, len(todo))):
                group.create_task(worker())
    except* Exception as errors:  # noqa: BLE001  # raise the error itself, not the group
        raise errors.exceptions[0] from None
    finally:
        with suppress(Exception):  # an error while closing does not matter
            await harness.model.api.aclose()


# Models by name


@contextmanager
def open_harness(name: str, options: Mapping[str, Any], progress: Progress) -> Iterator[Harness]:
    """Prepare a model and yield its harness. A local model's server runs only inside the `with` block."""
    connections = options.get("max_connections")
    if not is_local(name):
        model = _remote(name, options)
        config = _config(options)
        yield Harness(name, model, connections or CONNECTIONS, lambda _: config)
        return
    weights = _weights(name, progress)
    threads = int(options.get("threads") or 2)
    with serve_model(weights, threads=threads, engine=fetch_engine(progress)) as url:
        model = _compatible(LOCAL, url, options)

        def config_of(turn: int) -> GenerateConfig:
            return _config(options, max_tokens=LOCAL_TOKENS, temperature=0.0, extra_body=request_fields(turn))

        yield Harness(name, model, 1, config_of, LOCAL_TURNS)


def is_local(name: str) -> bool:
    """Whether the model runs on this machine, in a server that the run starts."""
    return name == LOCAL or name.startswith(f"{LOCAL}:")


def _weights(name: str, progress: Progress) -> Path:
    """Return a local model's weights file. The small model's file is fetched if needed."""
    if name == LOCAL:
        return fetch_weights(progress)
    path = Path(name.removeprefix(f"{LOCAL}:"))
    if not path.is_file():
        raise RunError(f"no such file: {path}; --model local:FILE takes a model in the GGUF format")
    return path


def _remote(name: str, options: Mapping[str, Any]) -> Model:
    """Return a provider's model or, if the option `base_url` is set, the model on that server."""
    if options.get("base_url"):
        return _compatible(name, str(options["base_url"]), options)
    if "/" not in name:
        raise RunError(
            f"'{name}' is not a model: write it as PROVIDER/NAME, such as openai/gpt-4o, or give --base-url; "
            "local runs a small model on this machine"
        )
    provider, known = name.partition("/")[0], _providers()
    if provider not in known:
        raise OptionError(f"no provider '{provider}'{nearest(provider, known)}")
    return _model(name, options, {"max_retries": 0} if name.startswith(("openai/", "openai-api/")) else {})


def _providers() -> list[str]:
    """Return the names of all providers that Inspect knows, including providers from other packages."""
    providers = registry_find(lambda info: info.type == "modelapi")
    return sorted(registry_info(one).name.removeprefix("inspect_ai/") for one in providers)


def _compatible(name: str, url: str, options: Mapping[str, Any]) -> Model:
    """Return a model on an OpenAI-compatible server."""
    key = os.environ.get("OPENAI_API_KEY", "none")
    return _model(f"openai-api/server/{name}", options, {"base_url": url, "api_key": key, "max_retries": 0})


def _model(name: str, options: Mapping[str, Any], arguments: Mapping[str, Any]) -> Model:
    """Create an Inspect model that keeps raw responses.

    Until the server has responded once, failed connections are not retried.
    """
    try:
        model = keep_responses(get_model(name, config=_config(options), memoize=False, **arguments))
    except Exception as error:  # noqa: BLE001  # each provider raises its own errors
        lines = Text.from_markup(str(error)).plain.removeprefix("ERROR:").splitlines()
        message = "; ".join(line.strip() for line in lines if line.strip())
        raise RunError(f"model '{name}' cannot be used: {message}") from None
    api: Any = model.api
    original = api.should_retry

    def should_retry(error: Exception) -> Any:
        """Whether to retry after an error. Until the first response, failed connections are not retried."""
        return (api.corepath_reached or describe_failure(error)["kind"] != CONNECTION) and original(error)

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
