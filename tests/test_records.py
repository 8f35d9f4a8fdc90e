"""Records and named tuples behave as those of dataclasses and typing do."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import typing
from typing import Any

import pytest

from acuity.records import NamedTuple, Record, field


class Size(Record):
    width: int
    height: int = 2
    notes: list[str] = field(default_factory=list, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.width < 0:
            raise ValueError("too small")


class Named(Size, frozen=False):
    name: str = "any"


class Alone(Record, eq=False):
    value: int


class Place(NamedTuple):
    x: int
    y: int = 5

    @property
    def sum(self) -> int:
        return self.x + self.y


class Usual(typing.NamedTuple):
    x: int
    y: int = 5


def test_records_are_made_compared_and_shown_by_their_fields() -> None:
    size = Size(1, notes=["a"])
    assert (size.width, size.height, size.notes, repr(size)) == (1, 2, ["a"], "Size(width=1, height=2)")
    assert size == Size(1, 2, ["b"])
    assert hash(size) == hash(Size(1))
    assert size not in (Size(2), Named(1))
    assert Alone(1) not in (Alone(1),)
    assert Size(1).notes is not Size(1).notes
    assert size.changed(height=3) == dataclasses.replace(size, height=3) == Size(1, 3)
    assert dataclasses.asdict(size) == {"width": 1, "height": 2, "notes": ["a"]}
    assert pickle.loads(pickle.dumps(size)) == copy.deepcopy(size) == size


@pytest.mark.parametrize("given", [((), {}), ((1, 2, [], 4), {}), ((1,), {"width": 2}), ((1,), {"depth": 2})])
def test_a_wrong_field_is_refused(given: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
    for kind in (Size, Place):
        with pytest.raises(TypeError):
            kind(*given[0], **given[1])


def test_only_records_that_say_so_can_be_changed() -> None:
    with pytest.raises(AttributeError, match="can't be changed"):
        Size(1).width = 2  # type: ignore[misc]
    with pytest.raises(AttributeError, match="can't be changed"):
        del Size(1).width
    with pytest.raises(ValueError, match="too small"):
        Size(-1)
    match Size(3, 4):
        case Size(width, height):
            assert (width, height) == (3, 4)
    named = Named(1)
    named.name = "one"
    assert (named.name, named.height, named == Named(1, name="one")) == ("one", 2, True)


def test_named_tuples_are_those_of_typing() -> None:
    for given in ((1,), (1, 2)):
        ours, theirs = Place(*given), Usual(*given)
        assert ours == theirs == tuple(theirs)
        assert (ours._asdict(), ours._replace(x=7)) == (theirs._asdict(), theirs._replace(x=7))
        assert repr(ours).removeprefix("Place") == repr(theirs).removeprefix("Usual")
        assert pickle.loads(pickle.dumps(ours)) == copy.deepcopy(ours) == ours
        assert ours.sum == sum(theirs)
    assert (Place._fields, Place._field_defaults, Place._make([3, 4])) == (Usual._fields, {"y": 5}, (3, 4))
    assert Place(x=2, y=1).x == 2
    with pytest.raises(AttributeError):
        Place(1).x = 2  # type: ignore[misc]
    with pytest.raises(ValueError, match="no such entry"):
        Place(1)._replace(z=1)  # type: ignore[call-arg]
