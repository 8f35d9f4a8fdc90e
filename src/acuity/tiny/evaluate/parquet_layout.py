"""What a parquet file declares of its layout, checked before Arrow unpacks any of it.

A page is unpacked as a whole, and a few kilobytes can claim to become two gigabytes; and Arrow ends the
process at the footer of a file whose columns are encrypted. So the footer and the headers of the pages that
will be read are looked at here first.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import BinaryIO, Final, NamedTuple

from acuity.errors import EvaluationError
from acuity.text import shortened
from acuity.tiny.evaluate.thrift import BadThrift, CompactReader, Wanted

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
