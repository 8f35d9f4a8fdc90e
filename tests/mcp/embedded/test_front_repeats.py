"""What comes again and again is neither read nor written anew, and nobody can tell."""

from __future__ import annotations

import json
from typing import Any

import pytest
from acuity.mcp.embedded.agreed import Agreed
from hypothesis import given
from hypothesis import strategies as st

from acuity.mcp.app import build_server
from acuity.mcp.embedded.fast import Document, FastAnswers
from acuity.mcp.embedded.parted import Parted
from acuity.mcp.embedded.shapes import Shape
from front_bench import Measured, call

SERVER = build_server(Measured().catalog(), name="bench", version="1")
VERSIONS = ["2024-11-05", "2025-11-25", "2026-07-28"]
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
VALUES = st.none() | st.integers() | st.floats()


def answers(document: Document) -> FastAnswers:
    return FastAnswers(SERVER, {"vmaf.status": document})


def shape(version: str) -> Shape:
    return answers(dict)._shape(version)


# ---- documents in two parts ------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
@given(st.dictionaries(TEXT, TEXT | VALUES, max_size=4), st.lists(st.tuples(VALUES, VALUES), max_size=4))
def test_two_parts_make_the_bytes_of_the_whole(
    version: str, rest: dict[str, Any], changes: list[tuple[float | None, float | None]]
) -> None:
    once, again = shape(version), shape(version)
    constant = {"b": None, **rest, "a": 0}
    for first, second in changes:
        document = Parted(constant, {"a": first, "b": second})
        assert once.filled(1, document) == again.filled(1, document.whole())


@pytest.mark.parametrize("value", [0.0, -0.0, 1e-4, 9.99e-5, 1e16, 1e15, 1e300, float("nan"), 93.125, 2**70])
def test_numbers_that_vary_are_written_as_ever(value: float) -> None:
    parted = shape(VERSIONS[1])
    for number in (1.5, value):
        document = Parted({"a": 0, "b": "%d %b"}, {"a": number})
        assert parted.filled("x", document) == shape(VERSIONS[1]).filled("x", document.whole())


def test_what_looks_like_a_hole_is_none() -> None:
    constant = {"a": 0, "b": "-5081700093046", "c": [-5081700093046]}
    document = Parted(constant, {"a": 7})
    assert shape(VERSIONS[1]).filled(1, document) == shape(VERSIONS[1]).filled(1, document.whole())


def test_another_constant_part_makes_another_answer() -> None:
    parted = shape(VERSIONS[1])
    for word in ("one", "two"):
        assert word.encode() in parted.filled(1, Parted({"a": 0, "b": word}, {"a": 7}))


# ---- questions that come again ---------------------------------------------------------------


def ask(number: int = 1, **more: Any) -> bytes:
    return json.dumps({**call(number, "vmaf.status"), **more}).encode()


def test_a_question_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    fast, agreed = answers(lambda: {"a": 1}), Agreed()
    first = fast.answer(ask(1), agreed)
    assert first is not None
    monkeypatch.setattr(fast, "_read", lambda *_: pytest.fail("it was read again"))
    for number in (0, 2, 10**14):
        assert fast.answer(ask(number), agreed) == first.replace(b'"id":1,', b'"id":%d,' % number)


STRANGE = [
    ask().replace(b'"id": 1', b'"id": 01'),
    ask().replace(b'"id": 1', b'"id": -1, "x": 1'),
    ask().replace(b'"id": 1', b'"id": 1.0'),
    ask().replace(b'"id": 1', b'"id": '),
    ask().replace(b'"id": 1', b'"id": 1, "id": "a", "x": 1'),
    ask() + b" {}",
    ask()[:-1],
    ask().replace(b"tools/call", b"tools/list"),
]


@pytest.mark.parametrize("text", STRANGE)
def test_what_only_looks_like_the_question_goes_the_long_way(text: bytes) -> None:
    fast, agreed = answers(lambda: {"a": 1}), Agreed()
    assert fast.answer(ask(), agreed) is not None
    assert agreed.questions
    assert fast.answer(text, agreed) is None


@pytest.mark.parametrize(
    "text",
    [
        # The number that looks like the id isn't: it stands somewhere else, under the same name.
        b'{"jsonrpc":"2.0","\\u0069d":5,"method":"tools/call","params":{"name":"vmaf.status","_meta":{"id":5}}}',
        b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"vmaf.status","_meta":{"id":5}}}',
    ],
)
def test_an_id_that_can_not_be_told_is_read_each_time(text: bytes) -> None:
    fast, agreed = answers(lambda: {"a": 1}), Agreed()
    found = fast.answer(text, agreed)
    assert found is not None
    assert json.loads(found)["id"] == 5
    assert agreed.questions == []
    other = fast.answer(text.replace(b'"_meta":{"id":5}', b'"_meta":{"id":6}'), agreed)
    assert other is not None
    assert json.loads(other)["id"] == 5


def test_a_question_means_what_was_agreed_on_last() -> None:
    fast, agreed = answers(lambda: {"a": 1}), Agreed()
    before = fast.answer(ask(), agreed)
    agreed.version = VERSIONS[2]
    found = fast.answer(ask(), agreed)
    assert found is not None
    assert found != before
    assert fast.answer(ask(2), agreed) == found.replace(b'"id":1,', b'"id":2,')
    agreed.shaking = 1
    assert fast.answer(ask(), agreed) is None


def test_a_question_whose_id_is_under_way_goes_the_long_way() -> None:
    fast, agreed = answers(lambda: {"a": 1}), Agreed()
    assert fast.answer(ask(), agreed) is not None
    assert fast.answer(ask(7), agreed, busy={7}) is None
    assert fast.answer(ask(8), agreed, busy={7}) is not None
    assert fast.answer(ask(8), agreed, said=("vmaf.status", "1999-01-01")) is None


def test_few_questions_are_kept() -> None:
    fast, agreed = answers(lambda: {"a": 1}), Agreed()
    for blanks in range(20):
        assert fast.answer(b" " * blanks + ask(), agreed) is not None
    assert 0 < len(agreed.questions) <= 4
    long = ask().replace(b"{}", b"{" + b" " * 5000 + b"}")
    agreed.questions.clear()
    assert fast.answer(long, agreed) is not None
    assert agreed.questions == []
