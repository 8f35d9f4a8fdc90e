"""Private members of other packages: each is in one table, and exists as the table says."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from longwire.wire.sdk_private import MEMBERS, Private
from private_names import private_names

SOURCE = Path(__file__).resolve().parents[2] / "src" / "longwire"
PRODUCT = SOURCE.parents[2] / "src" / "acuity"


def owner_of(member: Private) -> Any:
    module, _, name = member.owner.partition(":")
    found = importlib.import_module(module)
    return getattr(found, name) if name else found


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.name)
def test_each_exists_with_its_parameters(member: Private) -> None:
    owner = owner_of(member)
    if member.parameters is not None:
        found = inspect.signature(getattr(owner, member.name)).parameters
        parameters = [name for name in found if name != "self"]
        assert ", ".join(parameters) == member.parameters
    elif not hasattr(owner, member.name):
        assert re.search(rf"self\.{member.name}\b[^=\n]* = ", inspect.getsource(owner))


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.name)
def test_each_has_its_reason_and_is_used(member: Private) -> None:
    assert len(member.reason.split()) > 3
    used = re.compile(rf"(\.|import .*\b){member.name}\b|def {member.name}\(")
    assert any(used.search(path.read_text()) for path in [*SOURCE.rglob("*.py"), *PRODUCT.rglob("*.py")])


def test_no_other_file_uses_one() -> None:
    assert private_names(SOURCE) == set()
