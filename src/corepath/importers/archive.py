"""Read members of zip archives, including members compressed with Zstandard.

The standard `zipfile` module reads Zstandard only from Python 3.14 on.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from importlib import import_module
from io import SEEK_CUR, SEEK_END
from typing import IO, Any, Final

from corepath.errors import RecordError

_ZSTANDARD: Final = 93
_SIZES_FOLLOW: Final = 8
"""The header flag which says that the sizes come after the data."""
_MAGIC: Final = b"PK\x03\x04"
_HEADER: Final = struct.Struct("<4s2x2H4x3L2H")
"""The header before each member: flags, compression, CRC, compressed size, size, name length, extra field length."""


def is_archive(file: IO[bytes]) -> bool:
    """Return True if `file` is a zip archive, even a truncated one."""
    file.seek(0)
    return file.read(len(_MAGIC)) == _MAGIC or zipfile.is_zipfile(file)


def list_members(file: IO[bytes]) -> tuple[list[zipfile.ZipInfo], bool]:
    """Return an archive's members and whether the archive is complete.

    If the archive is truncated, only the members before the cut are returned.
    """
    if not zipfile.is_zipfile(file):
        return list(_scan_members(file)), False
    with zipfile.ZipFile(file) as archive:
        return archive.infolist(), True


def read_member(file: IO[bytes], info: zipfile.ZipInfo) -> bytes:
    """Read and decompress an archive member. Raises `RecordError` if that fails."""
    try:
        raw = _decompress(_read_compressed(file, info), info)
    except (zipfile.BadZipFile, zlib.error) as error:
        raise RecordError(f"cannot be unpacked: {error}") from None
    if len(raw) != info.file_size or zlib.crc32(raw) != info.CRC:
        raise RecordError("cannot be unpacked: its size or checksum does not match the archive")
    return raw


def _scan_members(file: IO[bytes]) -> Iterator[zipfile.ZipInfo]:
    """Yield the complete members in a truncated archive by reading its headers one after another.

    Stops at a header that does not say how large the member is, because the next header cannot be found then.
    """
    end, at = file.seek(0, SEEK_END), 0
    while True:
        file.seek(at)
        header = file.read(_HEADER.size)
        if len(header) < _HEADER.size or not header.startswith(_MAGIC):
            return
        _, flags, compression, crc, compressed, size, name, extra = _HEADER.unpack(header)
        info = zipfile.ZipInfo(file.read(name).decode(errors="replace"))
        info.header_offset, info.compress_type, info.CRC = at, compression, crc
        info.compress_size, info.file_size = compressed, size
        at += _HEADER.size + name + extra + compressed
        if at > end or flags & _SIZES_FOLLOW:
            return
        yield info


def _read_compressed(file: IO[bytes], info: zipfile.ZipInfo) -> bytes:
    file.seek(info.header_offset)
    header = file.read(_HEADER.size)
    if len(header) < _HEADER.size or not header.startswith(_MAGIC):
        raise zipfile.BadZipFile("a member does not begin where the archive says")
    *_, name, extra = _HEADER.unpack(header)
    file.seek(name + extra, SEEK_CUR)
    return file.read(info.compress_size)


def _decompress(packed: bytes, info: zipfile.ZipInfo) -> bytes:
    """Decompress a member's data. Zstandard data may consist of several frames in a row."""
    if info.compress_type == zipfile.ZIP_STORED:
        return packed
    if info.compress_type == zipfile.ZIP_DEFLATED:
        return zlib.decompress(packed, wbits=-zlib.MAX_WBITS)
    if info.compress_type != _ZSTANDARD:
        raise zipfile.BadZipFile(f"compression {info.compress_type} is not known")
    new_decompressor, zstd_error = _load_zstandard()
    frames: list[bytes] = []
    while packed and sum(map(len, frames)) <= info.file_size:
        decompressor = new_decompressor()
        try:
            frames.append(decompressor.decompress(packed))
        except zstd_error as error:
            raise zipfile.BadZipFile(str(error)) from None
        packed = decompressor.unused_data
    return b"".join(frames)


def _load_zstandard() -> tuple[Any, type[Exception]]:
    """Import the first Zstandard package that is installed, and return its decompressor factory and its error class.

    Raises `RecordError` if no such package is installed.
    """
    for name in ("compression.zstd", "backports.zstd", "zstandard"):
        try:
            module = import_module(name)
        except ImportError:
            continue
        if name == "zstandard":
            return module.ZstdDecompressor().decompressobj, module.ZstdError
        return module.ZstdDecompressor, module.ZstdError
    raise RecordError("it is compressed with zstandard; install the package 'zstandard' to read it")
