"""Members of zip archives, those too that are compressed with zstandard, which Python's zipfile reads from 3.14 on."""

from __future__ import annotations

import zipfile
import zlib
from importlib import import_module
from typing import Any, Final

from corepath.importers.conversation import RecordError

_ZSTANDARD: Final = 93
_LOCAL: Final = 30
"""Bytes of the header that stands before a member, without its name."""


def member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """The bytes of a member. Raises `RecordError` where they cannot be had."""
    try:
        if info.compress_type != _ZSTANDARD:
            return archive.read(info)
        raw = _unpacked(_packed(archive, info), info)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise RecordError(f"cannot be unpacked: {error}") from None
    if len(raw) != info.file_size or zlib.crc32(raw) != info.CRC:
        raise RecordError("cannot be unpacked: it is not what the archive says it is")
    return raw


def _packed(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    file = archive.fp
    if file is None:
        raise zipfile.BadZipFile("the archive is closed")
    file.seek(info.header_offset)
    header = file.read(_LOCAL)
    if len(header) < _LOCAL or header[:4] != b"PK\x03\x04":
        raise zipfile.BadZipFile("a member does not begin where the archive says")
    file.seek(int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little"), 1)
    return file.read(info.compress_size)


def _unpacked(packed: bytes, info: zipfile.ZipInfo) -> bytes:
    """One frame of zstandard after the other, as far as the archive says."""
    make, wrong = _decompressor()
    made: list[bytes] = []
    while packed and sum(map(len, made)) <= info.file_size:
        one = make()
        try:
            made.append(one.decompress(packed))
        except wrong as error:
            raise zipfile.BadZipFile(str(error)) from None
        packed = one.unused_data
    return b"".join(made)


def _decompressor() -> tuple[Any, type[Exception]]:
    for name in ("compression.zstd", "backports.zstd", "zstandard"):
        try:
            module = import_module(name)
        except ImportError:
            continue
        if name == "zstandard":
            return module.ZstdDecompressor().decompressobj, module.ZstdError
        return module.ZstdDecompressor, module.ZstdError
    raise RecordError("it is compressed with zstandard; install the package 'zstandard' to read it")
