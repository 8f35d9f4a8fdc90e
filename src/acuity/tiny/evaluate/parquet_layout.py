"""What a parquet file declares of its layout, checked before Arrow unpacks any of it.

A page is unpacked as a whole, and a few kilobytes can claim to become two gigabytes; and Arrow ends the
process at the footer of a file whose columns are encrypted. So the footer and the headers of the pages that
will be read are looked at here first.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import Any, BinaryIO, Final, NamedTuple, TypeAlias

from acuity.errors import EvaluationError
from acuity.text import shortened

# The fields to keep by number: None for a plain value or a list of them, a mapping for those of a structure.
Wanted: TypeAlias = "Mapping[int, Wanted | None]"

_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12
_NUMBERS: Final = (4, 5, 6)  # i16, i32, i64
_DEEPEST: Final = 16  # structures within structures
_NOTHING: Final[dict[int, None]] = {}
MAGIC: Final = b"PAR1"
_ENCRYPTED: Final = b"PARE"
_TAIL: Final = 8  # bytes: the length of the footer, and the magic again
LARGEST_FOOTER: Final = 8 << 20
LARGEST_PAGE: Final = 64 << 20
LARGEST_DELTA_PAGE: Final = 4 << 20  # of texts, whose beginnings it repeats without naming them
_LARGEST_HEADER: Final = 64 << 10

# Fields of the structures in parquet.thrift.
_SCHEMA, _ROWS, _GROUPS, _ENCRYPTION, _SIGNING = 2, 3, 4, 8, 9  # of FileMetaData
_COLUMNS, _GROUP_ROWS = 1, 3  # of RowGroup
_ELSEWHERE, _ABOUT, _CRYPTO, _CRYPTED = 1, 3, 8, 9  # of ColumnChunk
_PATH, _PACKED, _DATA, _DICTIONARY = 3, 7, 9, 11  # of ColumnMetaData
_PAGE_UNPACKED, _PAGE_PACKED = 2, 3  # of PageHeader
_CHUNK: Final[Wanted] = {
    _ELSEWHERE: None,
    _ABOUT: {_PATH: None, _PACKED: None, _DATA: None, _DICTIONARY: None},
    _CRYPTO: {},
    _CRYPTED: None,
}
_FOOTER: Final[Wanted] = {
    _ROWS: None,
    _GROUPS: {_COLUMNS: _CHUNK, _GROUP_ROWS: None},
    _ENCRYPTION: {},
    _SIGNING: None,
}


class Chunk(NamedTuple):
    """A column of a row group: where its pages are."""

    column: str
    start: int
    length: int


class Layout:
    """The row groups of a file, and where their columns are."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        """Raises EvaluationError unless the file begins, ends and describes itself as parquet does."""
        self._file = file
        self._name = name
        self._size = file.seek(0, os.SEEK_END)
        footer = self._footer()
        try:
            found = CompactReader(footer).struct(_FOOTER)
            self.rows: int = found[_ROWS]
            groups = found.get(_GROUPS, [])
            if not all(
                isinstance(count, int) for count in (self.rows, *(group[_GROUP_ROWS] for group in groups))
            ):
                raise BadThrift
            if _ENCRYPTION in found or _SIGNING in found:
                raise self._encrypted()
            self.groups = [[self._chunk(chunk) for chunk in group[_COLUMNS]] for group in groups]
            declared = sum(group[_GROUP_ROWS] for group in groups)
        except (BadThrift, KeyError, TypeError, UnicodeDecodeError):
            raise self._broken("its metadata is damaged") from None
        if declared != self.rows or any(group[_GROUP_ROWS] < 0 for group in groups):
            raise self._broken(f"it declares {self.rows} rows, and its row groups {declared}")

    def check_pages(self, group: int, columns: Collection[str], delta: Collection[str] = ()) -> None:
        """Raise EvaluationError if a page of these columns is damaged, or too large when unpacked.

        `delta` are columns in an encoding whose pages become larger still.
        """
        for chunk in self.groups[group]:
            if chunk.column in columns:
                self._check_chunk(chunk, LARGEST_DELTA_PAGE if chunk.column in delta else LARGEST_PAGE)

    def _check_chunk(self, chunk: Chunk, largest: int) -> None:
        at, end = chunk.start, chunk.start + chunk.length
        if at < len(MAGIC) or chunk.length < 0 or end > self._size:
            raise self._broken(f"column '{shortened(chunk.column)}' lies outside the file")
        while at < end:
            self._file.seek(at)
            reader = CompactReader(self._file.read(min(_LARGEST_HEADER, end - at)))
            try:
                header = reader.struct({_PAGE_UNPACKED: None, _PAGE_PACKED: None})
                unpacked, packed = header[_PAGE_UNPACKED], header[_PAGE_PACKED]
            except (BadThrift, KeyError):
                unpacked = packed = -1
            if not (isinstance(unpacked, int) and isinstance(packed, int)) or unpacked < 0 or packed < 0:
                raise self._broken(f"a page of column '{shortened(chunk.column)}' is damaged")
            if unpacked > largest:
                raise EvaluationError(
                    f"'{self._name}' has a page of {unpacked >> 20} MiB in column"
                    f" '{shortened(chunk.column)}', more than {largest >> 20} MiB:"
                    " write it with smaller pages"
                )
            at += reader.at + packed

    def _chunk(self, chunk: dict[int, object]) -> Chunk:
        if _CRYPTO in chunk or _CRYPTED in chunk:
            raise self._encrypted()
        if _ELSEWHERE in chunk:
            raise self._broken("its columns are in other files, which are not read")
        about = chunk[_ABOUT]
        if not isinstance(about, dict):
            raise BadThrift
        path = b".".join(about[_PATH]).decode()
        start, length = about[_DATA], about[_PACKED]
        if dictionary := about.get(_DICTIONARY):
            start = min(start, dictionary)
        if not (isinstance(start, int) and isinstance(length, int)):
            raise BadThrift
        return Chunk(path, start, length)

    def _footer(self) -> bytes:
        file, name, size = self._file, self._name, self._size
        file.seek(0)
        head = file.read(len(MAGIC))
        file.seek(max(size - _TAIL, 0))
        tail = file.read(_TAIL)
        if size == 0:
            raise EvaluationError(f"'{name}' is empty: it has to be a parquet file")
        if _ENCRYPTED in (head, tail[-4:]):
            raise self._encrypted()
        if head != MAGIC:
            raise EvaluationError(f"'{name}' is not a parquet file: write the table with pyarrow or pandas")
        length = int.from_bytes(tail[:4], "little")
        if tail[-4:] != MAGIC or size < len(MAGIC) + _TAIL or length > size - len(MAGIC) - _TAIL:
            raise EvaluationError(
                f"'{name}' is truncated: it begins as parquet and doesn't end so; copy it again"
            )
        if length > LARGEST_FOOTER:
            raise EvaluationError(
                f"'{name}' has {length >> 20} MiB of metadata, more than {LARGEST_FOOTER >> 20} MiB:"
                " write it with fewer columns and row groups"
            )
        file.seek(size - _TAIL - length)
        return file.read(length)

    def _broken(self, why: str) -> EvaluationError:
        return EvaluationError(f"'{self._name}' can't be read as parquet: {why}; write it again")

    def _encrypted(self) -> EvaluationError:
        return EvaluationError(
            f"'{self._name}' is encrypted parquet, which is not read: write it without encryption"
        )


# ---- Thrift's compact encoding -------------------------------------------------------------------
# Reads Thrift's compact encoding, in which parquet files describe themselves.
# Arrow's own reader ends the whole process at some damaged or encrypted descriptions, so they are read here
# first. Only the fields that are asked for are kept; all others are stepped over.


class BadThrift(ValueError):
    """Not the encoding that was expected."""


class CompactReader:
    """Reads structures from bytes; `at` is where the next one begins."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def struct(self, wanted: Wanted, depth: int = 0) -> dict[int, Any]:
        """The wanted fields of a structure by number; raises BadThrift."""
        if depth > _DEEPEST:
            raise BadThrift
        found: dict[int, Any] = {}
        field = 0
        while (byte := self._byte()) != 0:
            step, kind = byte >> 4, byte & 0x0F
            field = field + step if step else self._signed()
            if kind in (_TRUE, _FALSE):  # the type of a field is its value
                value: Any = kind == _TRUE
            else:
                value = self._value(kind, wanted.get(field) or _NOTHING, field in wanted, depth)
            if field in wanted:
                found[field] = value
        return found

    def _value(self, kind: int, wanted: Wanted, kept: bool, depth: int) -> Any:
        if kind in _NUMBERS:
            return self._signed()
        if kind == _BINARY:
            return self._bytes(self._number())
        if kind == _STRUCT:
            return self.struct(wanted, depth + 1)
        if kind in (_LIST, _SET):
            head = self._byte()
            size, inner = head >> 4, head & 0x0F
            if size == 15:
                size = self._number()
            if kept:
                return [self._value(inner, wanted, True, depth + 1) for _ in range(self._counted(size))]
            for _ in range(self._counted(size)):
                self._value(inner, _NOTHING, False, depth + 1)
            return None
        if kind == _MAP:
            size = self._number()
            kinds = self._byte() if size else 0
            for _ in range(self._counted(size)):
                self._value(kinds >> 4, _NOTHING, False, depth + 1)
                self._value(kinds & 0x0F, _NOTHING, False, depth + 1)
            return None
        if kind in (_TRUE, _FALSE, _BYTE):  # in lists
            return self._byte()
        if kind == _DOUBLE:
            return self._bytes(8)
        raise BadThrift

    def _counted(self, size: int) -> int:
        """The number of elements, which have a byte each at least."""
        if size > len(self._data) - self.at:
            raise BadThrift
        return size

    def _byte(self) -> int:
        if self.at >= len(self._data):
            raise BadThrift
        self.at += 1
        return self._data[self.at - 1]

    def _bytes(self, length: int) -> bytes:
        start, self.at = self.at, self.at + length
        if self.at > len(self._data):
            raise BadThrift
        return self._data[start : self.at]

    def _number(self) -> int:
        value = shift = 0
        while shift < 70:
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
        raise BadThrift

    def _signed(self) -> int:
        value = self._number()
        return (value >> 1) ^ -(value & 1)
