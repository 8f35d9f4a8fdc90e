"""Attempts to read or write outside the allowed roots, one by one. Each must fail, in one clear sentence.

The kernel itself is asked whether anything outside was opened meanwhile.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest

from acuity.errors import AcuityError, FeatureError, ModelError, PathError
from canary import FileCanary, open_descriptors
from path_attempts import FEATURES, MODELS, OUTPUTS, READS
from path_ground import Ground, make_ground


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    return make_ground(tmp_path_factory.mktemp("attacks"))


@pytest.fixture
def ground(world: Ground, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ground]:
    """The world, entered; at the end nothing outside was opened, and no descriptor is left."""
    monkeypatch.chdir(world.base)
    monkeypatch.setenv("HOME", str(world.home))
    before = sorted(os.listdir(world.root))
    with FileCanary(world.outside, world.evil, world.home) as canary:
        held = open_descriptors()
        yield world
        assert open_descriptors() == held
        assert not canary.touched
    assert sorted(os.listdir(world.root)) == before


def refused(
    attempt: Callable[[str], object],
    text: str,
    *errors: type[AcuityError],
) -> str:
    with pytest.raises((PathError, *errors)) as caught:
        attempt(text)
    message = str(caught.value)
    assert message.isprintable()
    assert 0 < len(message) < 1000
    return message


@pytest.mark.parametrize("name", READS)
def test_reading(ground: Ground, name: str) -> None:
    text = ground.text(READS[name])
    message = refused(ground.paths.check, text)
    assert refused(ground.paths.open, text) == message


@pytest.mark.parametrize("name", READS)
def test_reading_as_a_model(ground: Ground, name: str) -> None:
    text = ground.text(READS[name])
    refused(ground.paths.check_model, f"path={text}", ModelError)
    if "/" in text or "\\" in text:  # otherwise it may be the name of a model
        refused(ground.paths.check_model, text, ModelError)


@pytest.mark.parametrize("name", READS)
def test_reading_as_an_option(ground: Ground, name: str) -> None:
    refused(ground.paths.check_feature, f"lpips=model_path={ground.text(READS[name])}", FeatureError)


@pytest.mark.parametrize("name", MODELS)
def test_models(ground: Ground, name: str) -> None:
    refused(ground.paths.check_model, ground.text(MODELS[name]), ModelError)


@pytest.mark.parametrize("name", FEATURES)
def test_features(ground: Ground, name: str) -> None:
    refused(ground.paths.check_feature, ground.text(FEATURES[name]), FeatureError)


@pytest.mark.parametrize("name", OUTPUTS)
def test_writing(ground: Ground, name: str) -> None:
    text = ground.text(OUTPUTS[name])
    message = refused(ground.paths.check_output, text)
    assert refused(ground.paths.create, text) == message


def test_there_are_many_of_them() -> None:
    assert len(READS) + len(MODELS) + len(FEATURES) + len(OUTPUTS) >= 200


def test_whether_something_outside_exists_is_not_told(ground: Ground) -> None:
    there, missing = (
        refused(ground.paths.check, str(ground.outside / name)).replace(name, "X")
        for name in ("secret.yuv", "not_there.yuv")
    )
    assert there == missing
    assert there.endswith("not under an allowlisted root; set VMAF_MCP_ALLOW to extend.")


def test_the_canary_sings(world: Ground) -> None:
    """Or the tests above would prove nothing."""
    with FileCanary(world.outside) as canary:
        assert not canary.touched
        world.secret.read_bytes()
        assert canary.touched
        assert not canary.touched
