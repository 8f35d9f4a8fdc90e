"""Values that JSON can hold."""

from __future__ import annotations

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from acuity.report.document import plain


def test_what_json_cannot_say_becomes_null_or_a_question_mark() -> None:
    value = {
        "a": (float("nan"), 1.0),
        3: float("-inf"),
        "b": np.float64("inf"),
        "c": "caf\udce9",
        "d": np.int64(8),
    }
    assert plain(value) == {"a": [None, 1.0], "3": None, "b": None, "c": "caf?", "d": 8}


_LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters())


@given(
    st.recursive(_LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)
)
def test_whatever_comes_can_be_written_and_read_again(value: object) -> None:
    found = plain(value)
    text = json.dumps(found, allow_nan=False, ensure_ascii=False)
    text.encode()
    assert json.loads(text) == found
