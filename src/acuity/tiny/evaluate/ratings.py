"""A table of rated frames or clips: a parquet or CSV file with `mos`, features, and the `key` of each clip.

It is read in batches by a process of its own (table_process.py), and only the columns that are needed.
Nothing is dropped: a row without a value would change the figures without a word, so the file is refused,
with the column and the row.

The samples that figures are computed of are rows of the table, or clips whose rows are averaged. Viewers rate
clips, so a clip's rating stands in every row of its frames. The correlation over rows would
count a long clip as many, and call the frames of one clip wrong for differing. Where keys repeat, a clip is
therefore one sample: the mean of its predictions against its rating.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

from acuity.child_process import ChildProcess, document
from acuity.errors import EvaluationError
from acuity.text import one_line, quoted, shortened
from acuity.tiny.evaluate.choices import ALL, number_of, split_of
from acuity.tiny.evaluate.statistics import Vector
from acuity.tiny.evaluate.table_process import END, FAILED
from acuity.video.local_file import regular_opener

TARGET: Final = "mos"
MARGIN: Final = "mos_ci95"  # half of the rating's 95 % interval
KEY: Final = "key"
CODEC: Final = ("codec", "preset", "crf")  # for models that read how a video was encoded
PREFIX: Final = "integer_"  # libvmaf's, before the names of features computed with whole numbers

LARGEST: Final = 1e100  # of numbers; squares of greater ones would overflow
MEMORY: Final = 1 << 30  # bytes that the reading process may have for its data
# Few threads and no memory that is only reserved: both count as data.
_VARIABLES: Final = {"OPENBLAS_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}
MOST_ROWS: Final = 50_000_000
_MOST_COLUMNS: Final = 10_000
_MOST_GROUPS: Final = 100_000
_LONGEST_KEY: Final = 4096  # characters

Whole = npt.NDArray[np.uint64]
RowNumbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RatedRows:
    """Rows of the split that was asked for."""

    target: Vector
    keys: Whole | None  # numbers that stand for the keys
    rows: RowNumbers  # their numbers in the file, from 0
    columns: dict[str, Vector]
    texts: dict[str, list[str]]
    done: int  # rows of the file that have been read

    def __len__(self) -> int:
        return len(self.target)


class Ratings:
    """An open table of ratings. Closes itself as a context."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Raises EvaluationError or PathError."""
        self.name = os.fspath(path)
        try:
            with open(path, "rb", opener=regular_opener) as file:
                descriptor = file.fileno()
                self._process = ChildProcess("acuity.tiny.evaluate.table_process", _VARIABLES, [descriptor])
        except OSError as error:
            raise EvaluationError(f"'{self.name}' can't be opened: {error.strerror or error}") from error
        try:
            csv = self.name.lower().endswith(".csv")
            self._ask({"descriptor": descriptor, "csv": csv, "memory": MEMORY})
            self._fields = self._check_fields(self._message()[1])
            self.keyed = KEY in self._fields
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.close()

    def column(self, feature: str) -> str | None:
        """The column of a feature: its own name, or the same with or without `integer_`."""
        plain = feature.removeprefix(PREFIX)
        return next((name for name in (feature, plain, PREFIX + plain) if name in self._fields), None)

    def columns(self, features: Sequence[str], reader: str) -> tuple[str, ...]:
        """The columns of features that `reader` reads; raises EvaluationError where some are missing."""
        found = {feature: self.column(feature) for feature in features}
        if missing := [feature for feature, column in found.items() if column is None]:
            raise EvaluationError(
                f"{self.name} has no column {', '.join(map(quoted, missing[:8]))}, which '{reader}' reads:"
                " add it to the table"
            )
        return tuple(str(found[feature]) for feature in features)

    def has(self, column: str) -> bool:
        return column in self._fields

    def first_of(self, columns: Sequence[str]) -> str | None:
        """The first of these columns that the table has."""
        return next((column for column in columns if column in self._fields), None)

    def check_numbers(self, column: str) -> None:
        """Raise EvaluationError unless the column holds numbers."""
        import pyarrow as pa

        kind = _values(self._fields[column])
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
            raise self._other_kind(column, kind, "numbers")

    def batches(self, split: str, numbers: Sequence[str], texts: Sequence[str] = ()) -> Iterator[RatedRows]:
        """The rows of a split with these columns; raises EvaluationError at a row that can't be used.

        This can be called once.
        """
        import pyarrow as pa

        for column in (TARGET, *numbers):
            self.check_numbers(column)
        wanted = [TARGET, *([KEY] if self.keyed else []), *numbers, *texts]
        self._ask(list(dict.fromkeys(wanted)))
        done = 0
        while (message := self._message())[0] != END:
            table = pa.ipc.open_stream(message[1]).read_next_batch()
            first, done = done, done + table.num_rows
            try:
                yield self._batch(table, first, done, split, numbers, texts)
            except (pa.ArrowException, UnicodeDecodeError) as error:  # text that is no text, for example
                raise self._broken(error) from error

    def _batch(
        self, table: Any, first: int, done: int, split: str, numbers: Sequence[str], texts: Sequence[str]
    ) -> RatedRows:
        chosen, keys = np.ones(table.num_rows, np.bool_), None
        if self.keyed:
            chosen, keys = self._places(table.column(KEY), first, split)
        rows = first + np.flatnonzero(chosen)
        if len(rows) < table.num_rows:
            import pyarrow as pa

            table = table.filter(pa.array(chosen))
        return RatedRows(
            self._numbers(table, TARGET, rows),
            None if keys is None else keys[chosen],
            rows,
            {column: self._numbers(table, column, rows) for column in numbers},
            {column: self._texts(table, column, rows) for column in texts},
            done,
        )

    def _places(self, column: Any, first: int, split: str) -> tuple[npt.NDArray[np.bool_], Whole]:
        """Which rows are in the split, and the numbers of their keys."""
        codes, values = self._coded(column, KEY, np.arange(first, first + len(column)))
        known = list(map(str, values))
        if (longest := max(map(len, known), default=0)) > _LONGEST_KEY:
            raise EvaluationError(
                f"'{self.name}' has a key of {longest:,} characters, more than {_LONGEST_KEY:,}: shorten it"
            )
        inside = np.array([split == ALL or split == split_of(key) for key in known], np.bool_)
        numbers = np.array(list(map(number_of, known)), np.uint64)
        return inside[codes], numbers[codes]

    def _numbers(self, table: Any, column: str, rows: RowNumbers) -> Vector:
        import pyarrow as pa

        array = table.column(column)
        self._check_present(array, column, rows)
        values: Vector = array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        usable = np.abs(values) <= LARGEST  # False for NaN
        if not usable.all():
            bad = int(np.flatnonzero(~usable)[0])
            raise self._unusable(column, int(rows[bad]), f"is {values[bad]}")
        return values

    def _texts(self, table: Any, column: str, rows: RowNumbers) -> list[str]:
        codes, values = self._coded(table.column(column), column, rows)
        return [str(values[code]) for code in codes]

    def _coded(self, array: Any, column: str, rows: RowNumbers) -> tuple[npt.NDArray[np.int64], list[object]]:
        """For each row the index of its text or whole number, and those that occur."""
        import pyarrow as pa

        kind = _values(array.type)
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_integer(kind)):
            raise self._other_kind(column, kind, "text or whole numbers")
        self._check_present(array, column, rows)
        if not pa.types.is_dictionary(array.type):
            array = array.dictionary_encode()
        codes = array.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        used, codes = np.unique(codes, return_inverse=True)  # a dictionary may hold values that no row has
        return codes, array.dictionary.take(pa.array(used)).to_pylist()

    def _check_present(self, array: Any, column: str, rows: RowNumbers) -> None:
        if array.null_count:
            missing = int(np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))[0])
            raise self._unusable(column, int(rows[missing]), "has no value")

    def _other_kind(self, column: str, kind: Any, wanted: str) -> EvaluationError:
        return EvaluationError(
            f"column '{column}' of '{self.name}' holds {shortened(str(kind))} values: it has to hold {wanted}"
        )

    def _unusable(self, column: str, row: int, why: str) -> EvaluationError:
        return EvaluationError(
            f"column '{column}' of '{self.name}' {why} in row {row}, counted from 0:"
            " correct or remove that row"
        )

    def _broken(self, why: object) -> EvaluationError:
        return EvaluationError(f"'{self.name}' can't be read: {shortened(one_line(str(why)))}")

    def _ask(self, what: object) -> None:
        with suppress(BrokenPipeError):  # the next message says why
            self._process.write(document(what))

    def _message(self) -> tuple[bytes, bytes]:
        """The next message of the process; raises EvaluationError if that is an error, or its end."""
        try:
            kind, content = self._process.message()
        except EOFError:
            raise self._broken(self._process.ending()) from None
        if kind == FAILED:
            raise EvaluationError(f"'{self.name}' {content.decode()}")
        return kind, content

    def _check_fields(self, about: bytes) -> dict[str, Any]:
        """The types of the columns by name."""
        import pyarrow as pa

        numbers = [int.from_bytes(about[at : at + 8], "little") for at in (0, 8, 16)]
        for count, most, what, remedy in (
            (numbers[0], MOST_ROWS, "rows", "evaluate a part of them"),
            (numbers[1], _MOST_COLUMNS, "columns", "write only those that the model reads"),
            (numbers[2], _MOST_GROUPS, "row groups", "write it with larger ones"),
        ):
            if count > most:
                raise EvaluationError(f"'{self.name}' has {count:,} {what}, more than {most:,}: {remedy}")
        self.rows = numbers[0]
        schema = pa.ipc.read_schema(pa.py_buffer(about[24:]))
        if TARGET not in schema.names:
            raise EvaluationError(f"{self.name} has no '{TARGET}' column — can't score correlations")
        twice, times = Counter(schema.names).most_common(1)[0]
        if times > 1:
            raise EvaluationError(f"'{self.name}' has two columns '{shortened(twice)}': rename one of them")
        if self.rows == 0:
            raise EvaluationError(f"'{self.name}' has no rows: there is nothing to evaluate")
        return {field.name: field.type for field in schema}


def _values(kind: Any) -> Any:
    """The type of the values, of which a dictionary may keep each once."""
    import pyarrow as pa

    return kind.value_type if pa.types.is_dictionary(kind) else kind


PER_CLIP: Final = "per_clip"
_MOST_KEPT: Final = 40_000_000  # numbers, of 8 bytes each


@dataclass(slots=True)
class Collected:
    """The ratings of all rows of a split, as they come in."""

    models: int  # whose predictions are kept beside them
    targets: list[Vector] = field(default_factory=list)
    keys: list[Whole] = field(default_factory=list)
    margins: list[Vector] = field(default_factory=list)  # of the ratings, where the table has them
    rows: int = 0

    def add(self, batch: RatedRows) -> None:
        self.rows += len(batch)
        if self.rows * (2 + self.models) > _MOST_KEPT:
            raise EvaluationError(
                f"more than {self.rows - len(batch):,} rows are too many for {self.models} models"
                " at once: evaluate fewer models in a call, or a smaller split"
            )
        self.targets.append(batch.target)
        if MARGIN in batch.columns:
            self.margins.append(batch.columns[MARGIN])
        if batch.keys is not None:
            self.keys.append(batch.keys)


@dataclass(frozen=True, slots=True)
class Samples:
    """The samples that figures are computed of; pooled() turns predictions of rows into theirs."""

    pooling: str
    rows: Vector  # the rating of every row
    target: Vector  # the rating of every sample
    notes: tuple[str, ...]
    margins: Vector | None = None  # of every row's rating
    _clip: npt.NDArray[np.intp] | None = None  # the number of each row's clip
    _sizes: Vector | None = None  # the number of rows of each clip

    @property
    def sample_margins(self) -> Vector | None:
        return None if self.margins is None else self.pooled(self.margins)

    def pooled(self, predicted: Vector) -> Vector:
        """One prediction for each sample, from those of the rows."""
        if self._clip is None or self._sizes is None:
            return predicted
        return np.bincount(self._clip, predicted) / self._sizes


def samples_of(collected: Collected, ratings: Ratings, pooling: str) -> Samples:
    """The rows, or the clips if their keys repeat or the caller wants them; raises EvaluationError."""
    target = np.concatenate(collected.targets) if collected.targets else np.empty(0)
    margins = np.concatenate(collected.margins) if collected.margins else None
    if pooling == "clip" and not ratings.keyed:
        raise EvaluationError(
            f"'{ratings.name}' has no '{KEY}' column, so clips can't be told apart: use pooling none"
        )
    alone = Samples("none", target, target, (), margins)
    if pooling == "none" or not ratings.keyed or not len(target):
        return alone
    keys, clip, sizes = np.unique(np.concatenate(collected.keys), return_inverse=True, return_counts=True)
    if pooling == "auto" and len(keys) == len(target):
        return alone
    mean = np.bincount(clip, target) / sizes
    # By their ratings: the draws of the intervals should not depend on how keys are spelled.
    order = np.argsort(mean, kind="stable")
    place = np.empty(len(order), np.intp)
    place[order] = np.arange(len(order))
    clip, mean, sizes = place[clip], mean[order], sizes[order]
    notes = _varied(target, clip, len(keys))
    return Samples(PER_CLIP, target, mean, notes, margins, clip, sizes.astype(np.float64))


def _varied(target: Vector, clip: npt.NDArray[np.intp], clips: int) -> tuple[str, ...]:
    lowest, highest = np.full(clips, np.inf), np.full(clips, -np.inf)
    np.minimum.at(lowest, clip, target)
    np.maximum.at(highest, clip, target)
    varied = int((highest > lowest).sum())
    if not varied:
        return ()
    return (f"'{TARGET}' differs between the rows of {varied} of {clips} clips: their mean is the rating",)
