"""Open files that may be compressed with gzip or Zstandard."""

from __future__ import annotations

import errno
import gzip
import io
import zlib
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from corepath.errors import InputError, Problem, install

_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_SKIPPED: Final = tuple(bytes([first]) + b"\x2a\x4d\x18" for first in range(0x50, 0x60))
"""How frames of Zstandard begin that hold no data. Programs that pack in parallel write them first."""
_CHUNK: Final = 2048
"""How many bytes of Zstandard are unpacked at a time. Few bytes can become many."""


def is_compressed(start: bytes) -> bool:
    """Return True if a file that begins with `start` is compressed with gzip or Zstandard."""
    return start.startswith((_GZIP, _ZSTD, *_SKIPPED))


def is_packed(file: Path) -> bool:
    """Return True if the content of a file is compressed with gzip or Zstandard, whatever its name is."""
    with file.open("rb") as start:
        return is_compressed(start.read(len(_ZSTD)))


def open_bytes(file: Path) -> io.BufferedReader[Any]:
    """Open a file for reading. If its first bytes are those of gzip or Zstandard, what is read is unpacked.

    Damaged data raise `OSError` when they are reached. Raises `InputError` if zstandard is needed and not installed.
    """
    read = file.open("rb")
    start = read.peek(len(_ZSTD))
    if start.startswith(_GZIP):
        return io.BufferedReader(_Unpacked(gzip.GzipFile(fileobj=read), read, "gzip", (EOFError, zlib.error, OSError)))
    if start.startswith((_ZSTD, *_SKIPPED)):
        try:
            zstandard = import_module("zstandard")
        except ImportError:
            read.close()
            message = f"compressed with Zstandard; to read such files: {install('batch')}"
            raise InputError([Problem(str(file), 1, 1, message)]) from None
        frames = _Frames(zstandard.ZstdDecompressor(), read)
        return io.BufferedReader(_Unpacked(frames, read, "Zstandard", (EOFError, zstandard.ZstdError, OSError)))
    return read


class _Frames:
    """The unpacked bytes of Zstandard frames, which follow each other in a file."""

    def __init__(self, unpacker: Any, packed: io.BufferedReader[Any]) -> None:
        self._unpacker, self._packed = unpacker, packed
        self._frame: Any = None
        self._held = b""

    def read(self, size: int) -> bytes:
        """Read at most `size` bytes, or return no bytes at the end. Raises `EOFError` if the last frame is cut."""
        while not self._held:
            given = self._frame.unused_data if self._frame is not None and self._frame.eof else b""
            given = given or self._packed.read(_CHUNK)
            if not given:
                if self._frame is not None and not self._frame.eof:
                    raise EOFError
                return b""
            if self._frame is None or self._frame.eof:
                self._frame = self._unpacker.decompressobj()
            self._held = self._frame.decompress(given)
        read, self._held = self._held[:size], self._held[size:]
        return read


class _Unpacked(io.RawIOBase):
    """Unpacked bytes of a file, whose damage is an `OSError` with a message."""

    def __init__(
        self, stream: Any, packed: io.BufferedReader[Any], name: str, errors: tuple[type[Exception], ...]
    ) -> None:
        self._stream, self._packed, self._name, self._errors = stream, packed, name, errors

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            read: bytes = self._stream.read(len(buffer))
        except self._errors:
            raise OSError(errno.EIO, f"the data of {self._name} are cut or damaged") from None
        buffer[: len(read)] = read
        return len(read)

    def close(self) -> None:
        self._packed.close()
        super().close()
