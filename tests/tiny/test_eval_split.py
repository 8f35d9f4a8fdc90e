"""Which clips are in which part of the split, against figures that were computed by hand."""

from __future__ import annotations

import hashlib

import pytest

from acuity.errors import EvaluationError
from acuity.tiny.evaluate.choices import bucket, check_split, place_of, split_of

# printf 'vmaf-train-splits-v1:KEY' | sha256sum, the first 16 digits, as a fraction of 16^16
BY_HAND = {
    "clip0": "8b758dbec9141b67",
    "clip1": "d37b46e63e8b9ac9",
    "clip2": "e644a11547993b07",
    "clip3": "6dad71feccf8d0ab",
    "BigBuckBunny": "5ac22c2e99e43ba5",
    "étude/17": "1590b65058023bfb",
    "42": "909e0b76b8e6e3ba",
    "clip7": "f347c1111e33b82d",
    "clip18": "2aa2becd7166f2de",
    "clip30": "37ebfd8ff8b85390",
}
PARTS = {"étude/17": "test", "clip18": "val"}  # 0x1590… is 0.084, 0x2aa2… is 0.167; all others are train


@pytest.mark.parametrize("key", BY_HAND)
def test_buckets_are_those_computed_by_hand(key: str) -> None:
    assert bucket(key) == int(BY_HAND[key], 16) / 16**16
    assert split_of(key) == PARTS.get(key, "train")


def test_a_tenth_is_test_and_a_tenth_is_val() -> None:
    parts = [split_of(f"key {number}") for number in range(20_000)]
    assert parts.count("test") == pytest.approx(2000, abs=150)
    assert parts.count("val") == pytest.approx(2000, abs=150)


def test_a_key_has_a_number_of_its_own() -> None:
    digest = hashlib.sha256(b"vmaf-train-splits-v1:clip18").digest()
    assert place_of("clip18") == ("val", int.from_bytes(digest[8:16], "big"))
    assert len({place_of(f"key {number}").number for number in range(2000)}) == 2000


def test_unknown_splits() -> None:
    with pytest.raises(EvaluationError) as caught:
        check_split("foo")
    assert str(caught.value) == "split must be one of ('train', 'val', 'test', 'all'); got 'foo'"
    assert check_split("all") == "all"
