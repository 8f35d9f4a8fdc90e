"""Backends: what there is, and that none stands in for another."""

from __future__ import annotations

import pytest

from acuity.backends import BACKENDS, list_backends, start_backend, usable_instruction_sets
from acuity.errors import BackendError


def test_every_backend_is_listed_once() -> None:
    assert tuple(backend.name for backend in list_backends()) == BACKENDS
    cpu, *others = list_backends()
    assert (cpu.compiled, cpu.usable, cpu.init_status) == (True, True, "ok")
    assert cpu.threads >= 1
    assert not any(backend.compiled or backend.usable for backend in others)


def test_the_plain_instruction_set_always_works() -> None:
    assert usable_instruction_sets()[-1] == "plain"


def test_a_backend_is_never_replaced_by_another() -> None:
    assert start_backend("auto") == start_backend("cpu") == "cpu"
    with pytest.raises(BackendError, match="cuda"):
        start_backend("cuda")
    with pytest.raises(BackendError, match="abacus"):
        start_backend("abacus")
    with pytest.raises(BackendError, match="auto"):
        start_backend("auto", excluded=("cpu",))
