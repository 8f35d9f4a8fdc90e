"""Tables of ratings: which rows are read, and which files are refused, each with one sentence."""

from __future__ import annotations

import base64
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from acuity.errors import EvaluationError
from acuity.tiny.evaluate import ratings
from acuity.tiny.evaluate.ratings import Ratings
from rated_tables import SIX, columns, some_keys, write

Table = dict[str, Any]


def read(path: Path, split: str = "all") -> list[tuple[int, float, float]]:
    """The rows of a split: their numbers, ratings and one column."""
    with Ratings(path) as table:
        return [
            (int(row), float(mos), float(value))
            for batch in table.batches(split, ["adm2"])
            for row, mos, value in zip(batch.rows, batch.target, batch.columns["adm2"], strict=True)
        ]


def refused(path: Path, split: str = "all") -> str:
    with pytest.raises(EvaluationError) as caught:
        read(path, split)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert str(path) in sentence
    return sentence


@pytest.mark.parametrize(
    ("keys", "options"),
    [
        (lambda names: pa.array(names), {"row_group_size": 7}),
        (lambda names: pa.array(names).dictionary_encode(), {}),
        (lambda names: pa.array(names, pa.large_string()), {"use_dictionary": False}),
        (lambda names: pa.array(names), {"compression": "gzip"}),
        *(
            (lambda names: pa.array(names), {"use_dictionary": False, "column_encoding": {"key": encoding}})
            for encoding in ("DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY")
        ),
    ],
)
def test_rows_of_a_split(tmp_path: Path, keys: Callable[[list[str]], pa.Array], options: Table) -> None:
    names = some_keys("train", 400) + some_keys("val", 120) + some_keys("test", 80)
    table = {**columns(600), "key": keys(names)}
    path = write(tmp_path / "rated.parquet", table, **options)
    whole = [(row, table["mos"][row], table["adm2"][row]) for row in range(600)]
    assert read(path, "train") == whole[:400]
    assert read(path, "val") == whole[400:520]
    assert read(path, "test") == whole[520:]
    assert read(path, "all") == whole


@pytest.mark.parametrize("kind", [pa.float32(), pa.float16(), pa.int64(), pa.uint8(), pa.decimal128(9, 3)])
def test_numbers_of_every_type(tmp_path: Path, kind: pa.DataType) -> None:
    values = (
        pa.array([1.0, 2.0, 3.0]).cast(kind) if kind != pa.float16() else pa.array(np.array([1, 2, 3], "f2"))
    )
    path = write(tmp_path / "rated.parquet", {"mos": values, "adm2": values})
    assert read(path) == [(0, 1.0, 1.0), (1, 2.0, 2.0), (2, 3.0, 3.0)]


LONG = "x" * 5000


def swapped(name: str, values: Any) -> Callable[[Table], Table]:
    return lambda table: {**table, name: values}


def with_one(name: str, row: int, value: Any) -> Callable[[Table], Table]:
    def change(table: Table) -> Table:
        values = list(table[name])
        values[row] = value
        return {**table, name: values}

    return change


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda table: {name: table[name] for name in SIX}, "has no 'mos' column — can't score correlations"),
        (lambda table: {name: table[name][:0] for name in table}, "has no rows"),
        (with_one("mos", 3, None), "column 'mos' of '{path}' has no value in row 3, counted from 0"),
        (with_one("adm2", 29, None), "column 'adm2' of '{path}' has no value in row 29"),
        (with_one("key", 12, None), "column 'key' of '{path}' has no value in row 12"),
        (with_one("mos", 8, float("nan")), "column 'mos' of '{path}' is nan in row 8"),
        (with_one("mos", 9, 1e200), "column 'mos' of '{path}' is 1e+200 in row 9"),
        (with_one("adm2", 9, float("-inf")), "column 'adm2' of '{path}' is -inf in row 9"),
        (swapped("mos", ["good"] * 30), "'mos' of '{path}' holds string values: it has to hold numbers"),
        (swapped("adm2", ["0.5"] * 30), "column 'adm2' of '{path}' holds string values"),
        (swapped("mos", [True] * 30), "column 'mos' of '{path}' holds bool values"),
        (swapped("mos", [[1.0]] * 30), "holds list<element: double> values"),
        (swapped("adm2", [{"mean": 1.0}] * 30), "holds struct<mean: double> values"),
        (swapped("mos", pa.nulls(30)), "column 'mos' of '{path}' holds null values"),
        (swapped("key", [1.5] * 30), "column 'key' of '{path}' holds double values: it has to hold text"),
        (swapped("key", [[1]] * 30), "column 'key' of '{path}' holds list"),
        (swapped("key", [b"a"] * 30), "column 'key' of '{path}' holds binary values"),
        (swapped("key", [LONG] * 30), "has a key of 5,000 characters"),
    ],
)
def test_tables_that_are_refused(tmp_path: Path, change: Callable[[Table], Table], sentence: str) -> None:
    table = {**columns(30), "key": [f"clip{number}" for number in range(30)]}
    path = write(tmp_path / "rated.parquet", change(table), row_group_size=10)
    assert sentence.format(path=path) in refused(path)


def test_rows_outside_the_split_may_lack_values(tmp_path: Path) -> None:
    table = {**columns(10), "key": some_keys("train", 5) + some_keys("test", 5)}
    path = write(tmp_path / "rated.parquet", with_one("mos", 2, None)(table))
    assert len(read(path, "test")) == 5
    assert "has no value in row 2" in refused(path, "train")


def test_two_columns_of_one_name(tmp_path: Path) -> None:
    path = tmp_path / "rated.parquet"
    pq.write_table(pa.Table.from_arrays([pa.array([1.0])] * 2, names=["mos", "mos"]), path)
    assert "has two columns 'mos'" in refused(path)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda content: b"", "is empty"),
        (lambda content: b"key,mos\na,5\n", "is not a parquet file"),
        (lambda content: content[: len(content) // 2], "is truncated"),
        (lambda content: b"PAR1", "can't be read as parquet"),
        (lambda content: content[:-4] + b"PARE", "is encrypted"),
        (lambda content: content[:4] + b"\xff" * 400 + content[404:], "can't be read as parquet"),
        (lambda content: content[:-200] + bytes(192) + content[-8:], "can't be read as parquet"),
    ],
)
def test_files_that_are_no_tables(tmp_path: Path, change: Callable[[bytes], bytes], sentence: str) -> None:
    path = write(tmp_path / "rated.parquet", columns(500))
    path.write_bytes(change(path.read_bytes()))
    assert sentence in refused(path)


@pytest.mark.parametrize(
    "options", [{}, {"compression": "gzip", "row_group_size": 50}, {"use_dictionary": False}]
)
def test_damaged_bytes_are_refused_or_harmless(tmp_path: Path, options: Table) -> None:
    """One to twenty bytes are changed, mostly in the footer: rows or one sentence, and never a crash."""
    random = np.random.default_rng(11)
    path = write(tmp_path / "rated.parquet", {**columns(200), "key": some_keys("test", 20) * 10}, **options)
    content = path.read_bytes()
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    refusals = 0
    for number in range(9):
        damaged = bytearray(content)
        first, last = (4, footer) if number % 3 == 0 else (footer, len(content))
        for place in random.integers(first, last, random.integers(1, 20)):
            damaged[place] = random.integers(256)
        path.write_bytes(damaged)
        with suppress(EvaluationError):
            read(path)
            continue
        refusals += 1
    assert refusals > 2


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    assert "can't be opened: No such file" in refused(tmp_path / "none.parquet")
    assert "can't be opened: Is a directory" in refused(tmp_path)


def test_encrypted_columns(tmp_path: Path) -> None:
    pe = pytest.importorskip("pyarrow.parquet.encryption")

    class Kms(pe.KmsClient):  # type: ignore[misc, name-defined]
        def wrap_key(self, key: bytes, _: str) -> str:
            return base64.b64encode(key).decode()

    factory = pe.CryptoFactory(lambda _: Kms())
    for plain_footer in (False, True):
        config = pe.EncryptionConfiguration(
            footer_key="k", column_keys={"k": ["mos"]}, plaintext_footer=plain_footer
        )
        properties = factory.file_encryption_properties(pe.KmsConnectionConfig(), config)
        path = write(tmp_path / f"{plain_footer}.parquet", columns(50), encryption_properties=properties)
        assert "is encrypted" in refused(path)


def test_a_few_bytes_that_unpack_to_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is lowered, or the file would take long to write."""
    table = {"mos": [1.0], "adm2": [1.0], "key": ["x" * (64 << 20)]}
    path = write(tmp_path / "rated.parquet", table, compression="gzip")
    assert path.stat().st_size < 128 << 10
    monkeypatch.setattr(ratings, "MEMORY", 32 << 20)
    assert "has more than 32 MiB in one piece" in refused(path)


def test_a_few_bytes_that_claim_to_be_many_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal values pack to nothing, so the rows are counted before they are read."""
    path = write(tmp_path / "rated.parquet", {"mos": np.zeros(100_000), "adm2": np.zeros(100_000)})
    assert path.stat().st_size < 10_000
    monkeypatch.setattr(ratings, "MOST_ROWS", 99_999)
    assert "has 100,000 rows, more than 99,999" in refused(path)


def test_a_process_that_ends_is_an_error_about_the_file(tmp_path: Path) -> None:
    path = write(tmp_path / "rated.parquet", columns(30))
    before = psutil.Process().children()
    with Ratings(path) as table, pytest.raises(EvaluationError, match="ended by signal 9"):
        (child,) = set(psutil.Process().children()) - set(before)
        child.kill()
        next(iter(table.batches("all", ["adm2"])))


def test_thousands_of_columns(tmp_path: Path) -> None:
    more = {f"c{n}": [0] for n in range(3000)}
    path = write(tmp_path / "some.parquet", {"mos": [1.0], "adm2": [2.0], **more})
    assert read(path) == [(0, 1.0, 2.0)]
    path = write(tmp_path / "many.parquet", {"mos": [1.0], **{f"c{n}": [0] for n in range(10_001)}})
    assert "has 10,002 columns, more than 10,000" in refused(path)
