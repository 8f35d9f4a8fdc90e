"""Narrators: a real model of a few kilobytes, and runtimes that are slow, crash, fail or are missing."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import numpy as np
import psutil
import pytest

import acuity
from acuity.errors import MissingExtra, NarratorError
from acuity.frames.narrator import Narrator, NarratorLimits, check_narrator
from acuity.png import rgb_png
from small_vlm import write_small_vlm

Spoil: TypeAlias = Callable[[Path], object]
Runtime: TypeAlias = Callable[..., None]

pytest.importorskip("onnxruntime_genai", reason="onnxruntime-genai is not installed here")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small_vlm(tmp_path_factory.mktemp("models") / "small-vlm")


def picture(folder: Path, level: int) -> Path:
    path = folder / f"{level}.png"
    path.write_bytes(rgb_png(np.full((48, 64, 3), level, np.uint8)))
    return path


def test_one_process_says_what_it_sees_and_ends_with_the_narrator(tmp_path: Path, model: Path) -> None:
    with Narrator(model) as narrator:
        assert narrator.model_id is None
        assert narrator.narrate(picture(tmp_path, 10), "blocking 0.4 at the left") == "Dark and blocky."
        assert narrator.model_id == "small-vlm"
        pid = narrator.pid
        assert narrator.narrate(picture(tmp_path, 240), "") == "Bright with ringing."
        assert narrator.pid == pid
    assert pid is not None
    assert not psutil.pid_exists(pid)
    assert narrator.pid is None


def test_what_it_says_is_made_safe_to_show(tmp_path: Path) -> None:
    words = ("Blocks\x1b[31m", "\n\n\ton", " the\x00 face.", " And ringing.", " A third sentence.")
    with Narrator(write_small_vlm(tmp_path / "loud", words)) as narrator:
        assert narrator.narrate(picture(tmp_path, 10), "") == "Blocks [31m on the face. And ringing."


def test_an_endless_answer_is_cut(tmp_path: Path) -> None:
    endless = write_small_vlm(tmp_path / "endless", ("Blocks", " everywhere"), endless=True)
    with Narrator(endless) as narrator:
        said = narrator.narrate(picture(tmp_path, 10), "")
    assert said.startswith("Blocks everywhere everywhere")
    assert len(said) <= 400
    assert said.endswith("everywhere…")


def test_a_picture_that_is_none_leaves_the_others(tmp_path: Path, model: Path) -> None:
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"\x89PNG\r\n\x1a\n and nothing else")
    with Narrator(model) as narrator:
        for path in (broken, tmp_path / "absent.png"):
            with pytest.raises(NarratorError, match="can't describe the picture: "):
                narrator.narrate(path, "")
        assert narrator.narrate(picture(tmp_path, 10), "") == "Dark and blocky."


def _changed(**changes: object) -> Spoil:
    def change(folder: Path) -> None:
        path = folder / "genai_config.json"
        config = json.loads(path.read_text())
        config["model"] |= changes
        path.write_text(json.dumps(config))

    return change


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (
            lambda folder: [path.unlink() for path in folder.iterdir()],
            "is no model of ONNX Runtime GenAI: it has no genai_config.json",
        ),
        (lambda folder: (folder / "vision.onnx").unlink(), "is incomplete: it has no file 'vision.onnx'"),
        (lambda folder: (folder / "genai_config.json").write_text("{"), "is no JSON object"),
        (_changed(vision=None), "doesn't look at pictures"),
        (_changed(embedding={"filename": "../other/embedding.onnx"}), "which is outside its folder"),
        (
            _changed(extra={"session_options": {"custom_ops_library": "evil.so"}}),
            "would run code of the folder",
        ),
        (lambda folder: (folder / "decoder.onnx").write_bytes(b"this is no model"), "can't be loaded: "),
        (_changed(type="telepathy"), "can't be loaded: .*telepathy"),
    ],
)
def test_a_folder_that_is_no_model_is_one_sentence(tmp_path: Path, spoil: Spoil, sentence: str) -> None:
    folder = write_small_vlm(tmp_path / "model")
    spoil(folder)
    with Narrator(folder) as narrator:
        for _ in range(2):  # the second picture gets the same sentence at once
            with pytest.raises(NarratorError, match=sentence) as raised:
                narrator.narrate(picture(tmp_path, 10), "")
            assert "\n" not in str(raised.value)
        assert narrator.model_id is None
        assert narrator.pid is None


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NarratorError, match="is no folder: name the folder of a model"):
        check_narrator(tmp_path / "absent")
    with Narrator(tmp_path / "absent") as narrator, pytest.raises(NarratorError, match="is no folder"):
        narrator.narrate(picture(tmp_path, 10), "")


# Runtimes that misbehave, in the place of onnxruntime_genai.
_RUNTIME = """
import os, signal, time
from pathlib import Path

class Model:
    type = "{type}"
    def __init__(self, folder):
        {load}
    def create_multimodal_processor(self):
        return Processor()

class Tokenizer:
    def __init__(self, model):
        pass
    def apply_chat_template(self, messages, **options):
        return messages

class Processor:
    def __call__(self, prompt, images):
        {describe}

class Images:
    @staticmethod
    def open(path):
        return path
"""


_PARTS = {"load": "pass", "describe": "raise RuntimeError('no')", "type": "gemma3"}


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runtime:
    """Put a runtime that loads and describes like this before the real one, for other processes."""

    def put(source: str = _RUNTIME, **parts: str) -> None:
        folder = tmp_path / "site" / "onnxruntime_genai"
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text(source.format(**{**_PARTS, **parts}))
        package = Path(acuity.__file__).parents[1]
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder.parent), str(package)]))

    return put


@pytest.mark.parametrize(
    ("slow", "limits", "sentence"),
    [
        ("describe", NarratorLimits(frame=0.3), r"ended because it took more than 0\.3 s to describe"),
        ("load", NarratorLimits(load=0.3), r"took more than 0\.3 s to load"),
        ("describe", NarratorLimits(total=1.0), "because the 1 s for all pictures are over"),
    ],
)
def test_a_model_that_is_slow_is_ended(
    tmp_path: Path, model: Path, runtime: Runtime, slow: str, limits: NarratorLimits, sentence: str
) -> None:
    runtime(**{slow: "time.sleep(600)"})
    with Narrator(model, limits) as narrator:
        for level in (10, 240):  # no second wait
            with pytest.raises(NarratorError, match=sentence):
                narrator.narrate(picture(tmp_path, level), "")
            assert narrator.pid is None


def test_some_models_have_their_picture_named_in_the_text(
    tmp_path: Path, model: Path, runtime: Runtime
) -> None:
    runtime(type="phi3v", describe="raise RuntimeError(prompt)")
    with Narrator(model) as narrator, pytest.raises(NarratorError, match=r"<\|image_1\|>.*This is a frame"):
        narrator.narrate(picture(tmp_path, 10), "")


def test_a_model_that_crashes_is_started_once_more(tmp_path: Path, model: Path, runtime: Runtime) -> None:
    runtime(describe="os.kill(os.getpid(), signal.SIGSEGV)")
    with Narrator(model) as narrator:
        for _ in range(3):
            with pytest.raises(NarratorError, match=r"crashed: .*signal 11 \(SIGSEGV\)"):
                narrator.narrate(picture(tmp_path, 10), "")
        assert narrator.pid is None


def test_a_model_that_crashes_while_it_loads(tmp_path: Path, model: Path, runtime: Runtime) -> None:
    runtime(load="os._exit(3)")
    with Narrator(model) as narrator:
        with pytest.raises(NarratorError, match="crashed: its process ended with status 3"):
            narrator.narrate(picture(tmp_path, 10), "")
        assert narrator.model_id is None


def test_a_model_that_fails_on_each_picture_stays_loaded(
    tmp_path: Path, model: Path, runtime: Runtime
) -> None:
    runtime(describe="raise RuntimeError('out of ideas\\x1b[2J')")
    with Narrator(model) as narrator:
        for _ in range(2):
            with pytest.raises(NarratorError, match=r"can't describe the picture: out of ideas\\x1b\[2J$"):
                narrator.narrate(picture(tmp_path, 10), "")
        assert narrator.model_id == "small-vlm"


def test_without_the_package_the_sentence_has_the_install_line(
    tmp_path: Path, model: Path, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime(source="raise ImportError('No module named onnxruntime_genai')")
    with Narrator(model) as narrator, pytest.raises(NarratorError, match=r"pip install 'acuity-vmaf\[vlm\]'"):
        narrator.narrate(picture(tmp_path, 10), "")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install 'acuity-vmaf\[vlm\]'"):
        check_narrator(model)


def test_usage_data_is_turned_off_before_the_runtime_is_loaded(
    tmp_path: Path, model: Path, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ORT_DISABLE_TELEMETRY", raising=False)
    runtime(source="import os\nraise ImportError(os.environ['ORT_DISABLE_TELEMETRY'])")
    with Narrator(model) as narrator, pytest.raises(NarratorError, match=r"\(1\)"):
        narrator.narrate(picture(tmp_path, 10), "")


def test_memory_has_a_limit(tmp_path: Path, model: Path, runtime: Runtime) -> None:
    runtime(load="self.much = bytearray(1 << 30)")
    with (
        Narrator(model, NarratorLimits(memory=512 << 20)) as narrator,
        pytest.raises(NarratorError, match="can't be loaded: MemoryError"),
    ):
        narrator.narrate(picture(tmp_path, 10), "")
