"""The process that reads a table of ratings: `python -m acuity.tiny.evaluate.table_process`.

A damaged parquet file can crash its reader, and a few kilobytes can claim to become gigabytes. So the file is
unpacked here, with a limit of memory; ratings.py is the other end.

The input is a document with the open file, then one with the columns. The answers are ABOUT, ROWS for each
batch, and END; or FAILED with the end of a sentence about the file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, Final

from acuity.child_process import Ended, Tell, begin, read_document
from acuity.machine_memory import limit_memory
from acuity.text import shortened

ABOUT: Final = b"A"  # numbers of rows, columns and row groups, in 8 bytes each, and the schema
ROWS: Final = b"R"  # a batch as an Arrow stream
END: Final = b"E"
FAILED: Final = b"F"

_BATCH: Final = 1 << 14  # rows
_BUFFER: Final = 1 << 20  # bytes that are read at once
_LARGEST_CSV: Final = 64 << 20  # bytes
_MAGIC: Final = b"PAR1"
_LIMITS: Final = {"thrift_string_size_limit": 1 << 24, "thrift_container_size_limit": 1_000_000}
_STATM: Final = Path("/proc/self/statm")  # in pages; the sixth number is the data


def main() -> None:
    """Answer one parent."""
    file, tell = begin()
    try:
        _answer(file, tell)
    except Ended:
        return


def _answer(file: BinaryIO, tell: Tell) -> None:
    import pyarrow as pa

    asked = read_document(file)
    memory, kind = asked["memory"], "CSV" if asked["csv"] else "parquet"
    limit_memory(int(_STATM.read_text().split()[5]) * os.sysconf("SC_PAGE_SIZE") + memory)
    try:
        with os.fdopen(asked["descriptor"], "rb") as source:
            table = _from_csv(source) if asked["csv"] else _opened(source)
            about, schema = table.metadata, table.schema_arrow
            numbers = (about.num_rows, about.num_columns, about.num_row_groups)
            tell(ABOUT, *(number.to_bytes(8, "little") for number in numbers), schema.serialize())
            for batch in _batches(table, read_document(file)):
                tell(ROWS, batch)
            tell(END)
    except _Refused as error:
        tell(FAILED, str(error).encode())
    except MemoryError:
        limit = f"more than {memory >> 20} MiB in one piece"
        tell(FAILED, f"has {limit}: write it with smaller pages and row groups".encode())
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        line = next(iter(str(error).strip().splitlines()), type(error).__name__)
        if "decrypt" in line:
            line = "it is encrypted: write it without encryption"
        tell(FAILED, f"can't be read as {kind}: {shortened(line)}".encode())


class _Refused(Exception):
    """The end of a sentence about a file that isn't read."""


def _opened(source: BinaryIO) -> Any:
    from pyarrow import parquet

    head = source.read(len(_MAGIC))
    source.seek(-min(len(_MAGIC), source.seek(0, os.SEEK_END)), os.SEEK_END)
    tail = source.read()
    if not tail:
        raise _Refused("is empty: it has to be a parquet file")
    if head != _MAGIC and tail != b"PARE":  # which ends an encrypted file
        raise _Refused("is not a parquet file: write the table with pyarrow or pandas")
    if head == _MAGIC and tail not in (_MAGIC, b"PARE"):
        raise _Refused("is truncated: it begins as parquet and doesn't end so; copy it again")
    return parquet.ParquetFile(
        source, pre_buffer=False, page_checksum_verification=True, buffer_size=_BUFFER, **_LIMITS
    )


def _from_csv(source: BinaryIO) -> Any:
    """The same table as a parquet file in memory."""
    from pyarrow import csv, parquet

    data = source.read(_LARGEST_CSV + 1)
    if len(data) > _LARGEST_CSV:
        raise _Refused(f"has more than {_LARGEST_CSV:,} bytes: write it as parquet")
    made = BytesIO()
    parquet.write_table(csv.read_csv(BytesIO(data)), made)
    return parquet.ParquetFile(made)


def _batches(table: Any, columns: list[str]) -> Iterator[Any]:
    import pyarrow as pa

    for batch in table.iter_batches(_BATCH, columns=columns, use_threads=False):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as stream:
            stream.write_batch(batch)
        yield sink.getvalue()


if __name__ == "__main__":
    main()
