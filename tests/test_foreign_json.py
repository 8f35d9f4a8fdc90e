"""JSON of others: what it says, how it fails, and that no finalizer runs where there is no room for one."""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acuity.foreign_json import NestedTooDeeply, parse_json, parse_strictly

DEEP = ["[" * 100_000, b'{"a":' * 100_000, "[" * 100_000 + "]" * 100_000]
documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    """Every test leaves the collector as it was."""
    before = gc.isenabled(), gc.get_threshold()
    yield
    gc.set_threshold(*before[1])
    (gc.enable if before[0] else gc.disable)()


@given(documents)
def test_documents_are_read_back(document: object) -> None:
    assert parse_json(json.dumps(document)) == document
    assert parse_json(json.dumps(document).encode()) == document


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "Expecting value"),
        ("{", "Expecting property name"),
        ("nul", "Expecting value"),
        (b"\xff", "can't decode byte"),
        ("1" * (sys.get_int_max_str_digits() + 1), "Exceeds the limit"),
        (DEEP[0], "nested too deeply"),
    ],
)
def test_whatever_is_wrong_is_a_value_error(text: str | bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_json(text)
    assert gc.isenabled()


@pytest.mark.parametrize("text", DEEP)
def test_depth_has_a_name(text: str | bytes) -> None:
    with pytest.raises(NestedTooDeeply, match="nested too deeply"):
        parse_json(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b'{"a": 1, "a": 1}', "'a' comes twice"),
        (b'{"a": [{"b": 1, "b": 2}]}', "'b' comes twice"),
        (b"[NaN]", "NaN is no JSON"),
        (b"-Infinity", "-Infinity is no JSON"),
        ('"é"'.encode("latin-1"), "can't decode byte"),
        ('"é"'.encode("utf-16"), "can't decode byte"),
        (b'{"a":' * 100_000, "nested too deeply"),
    ],
)
def test_what_readers_could_take_differently_is_refused(text: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_strictly(text)


def test_strict_documents_are_read() -> None:
    assert parse_strictly('{"a": [1, 2.5, null, "é"]}'.encode()) == {"a": [1, 2.5, None, "é"]}


class Finalized:
    """An object in a circle, whose finalizer needs some room on the stack."""

    done = 0

    def __init__(self) -> None:
        self.circle = self

    def __del__(self) -> None:
        def down(levels: int) -> None:
            if levels:
                down(levels - 1)

        down(100)
        Finalized.done += 1


def test_no_finalizer_runs_inside_a_deep_text(monkeypatch: pytest.MonkeyPatch) -> None:
    failed: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", failed.append)
    gc.collect()
    made: list[int] = []

    def garbage(_: str) -> None:
        Finalized()
        made.append(Finalized.done)

    gc.set_threshold(5)  # a collection after a few lists
    with pytest.raises(NestedTooDeeply):
        parse_json("[NaN," * 100_000, parse_constant=garbage)
    assert gc.isenabled()
    gc.collect()
    assert made == [0] * Finalized.done
    assert not failed


def test_the_collector_stays_off_if_it_was() -> None:
    gc.disable()
    assert parse_json("[1]") == [1]
    assert not gc.isenabled()


def test_threads_that_parse_at_the_same_time_leave_the_collector_on() -> None:
    inside = Barrier(2)

    def constant(_: str) -> bool:
        inside.wait(20)
        return gc.isenabled()

    with ThreadPoolExecutor(2) as threads:
        found = [threads.submit(parse_json, "NaN", parse_constant=constant) for _ in range(2)]
        assert [one.result(30) for one in found] == [False, False]
    assert gc.isenabled()
