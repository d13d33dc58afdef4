"""Members of zip archives, those too that are compressed with zstandard, which Python's zipfile reads from 3.14 on."""

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
_SIZES_COME_LATER: Final = 8
_BEGINS: Final = b"PK\x03\x04"
_LOCAL: Final = struct.Struct("<4s2x2H4x3L2H")
"""The header that stands before a member: flags, compression, check sum, sizes, and lengths of what follows."""


def is_archive(read: IO[bytes]) -> bool:
    """Whether a file is an archive, in whole or with its end cut off."""
    read.seek(0)
    return read.read(len(_BEGINS)) == _BEGINS or zipfile.is_zipfile(read)


def members(read: IO[bytes]) -> tuple[list[zipfile.ZipInfo], bool]:
    """The members of an archive, and whether it is whole: of one that is cut off, those before the cut."""
    if not zipfile.is_zipfile(read):
        return list(_before_the_cut(read)), False
    with zipfile.ZipFile(read) as archive:
        return archive.infolist(), True


def member(read: IO[bytes], info: zipfile.ZipInfo) -> bytes:
    """The bytes of a member. Raises `RecordError` where they cannot be had."""
    try:
        raw = _unpacked(_packed(read, info), info)
    except (zipfile.BadZipFile, zlib.error) as error:
        raise RecordError(f"cannot be unpacked: {error}") from None
    if len(raw) != info.file_size or zlib.crc32(raw) != info.CRC:
        raise RecordError("cannot be unpacked: it is not what the archive says it is")
    return raw


def _before_the_cut(read: IO[bytes]) -> Iterator[zipfile.ZipInfo]:
    """The members that are there in whole, by the header before each; one without sizes in it ends them."""
    size, at = read.seek(0, SEEK_END), 0
    while True:
        read.seek(at)
        header = read.read(_LOCAL.size)
        if len(header) < _LOCAL.size or not header.startswith(_BEGINS):
            return
        _, flags, kind, crc, packed, full, name, extra = _LOCAL.unpack(header)
        info = zipfile.ZipInfo(read.read(name).decode(errors="replace"))
        info.header_offset, info.compress_type, info.CRC, info.compress_size, info.file_size = (
            at,
            kind,
            crc,
            packed,
            full,
        )
        at += _LOCAL.size + name + extra + packed
        if at > size or flags & _SIZES_COME_LATER:
            return
        yield info


def _packed(read: IO[bytes], info: zipfile.ZipInfo) -> bytes:
    read.seek(info.header_offset)
    header = read.read(_LOCAL.size)
    if len(header) < _LOCAL.size or not header.startswith(_BEGINS):
        raise zipfile.BadZipFile("a member does not begin where the archive says")
    *_, name, extra = _LOCAL.unpack(header)
    read.seek(name + extra, SEEK_CUR)
    return read.read(info.compress_size)


def _unpacked(packed: bytes, info: zipfile.ZipInfo) -> bytes:
    """Stored or deflated, or one frame of zstandard after the other, as far as the archive says."""
    if info.compress_type == zipfile.ZIP_STORED:
        return packed
    if info.compress_type == zipfile.ZIP_DEFLATED:
        return zlib.decompress(packed, wbits=-zlib.MAX_WBITS)
    if info.compress_type != _ZSTANDARD:
        raise zipfile.BadZipFile(f"compression {info.compress_type} is not known")
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
