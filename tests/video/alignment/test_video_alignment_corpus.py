"""Real encodes of eight kinds of content with twelve kinds of faults, each to be found and named."""

from __future__ import annotations

import functools
from concurrent.futures import ThreadPoolExecutor

import pytest

from misaligned_clips import (
    CONTENTS,
    FAULTS,
    FRAMES,
    encode_luma,
    found,
    frames_of,
    is_named_rightly,
    reference_signatures,
    signatures,
)

# Of the fastest preset: slower ones make better pictures, and take most of the time.
QUALITIES = (20, 28)
# As many of the clean pairs as fit; bench/alignment.py has the others.
CLEAN = {
    "fine": {"preset": "superfast", "crf": "18"},
    "coarse": {"preset": "superfast", "crf": "38"},
    "coarsest": {"preset": "superfast", "crf": "45"},
    "small": {"preset": "superfast", "crf": "28", "size": (160, 90)},
    "deep": {"preset": "superfast", "crf": "28", "pix_fmt": "yuv420p10le"},
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str, int], str]:
    """What is wrong, for each fault of each content and quality; empty where it was found and named."""
    folder = tmp_path_factory.mktemp("corpus")
    made = functools.cache(frames_of)

    def of(content: str) -> dict[tuple[str, str, int], str]:
        frames = made(content)
        ref = reference_signatures(frames)
        others = reference_signatures(made(list(CONTENTS)[list(CONTENTS).index(content) - 1]))
        path = folder / f"{content}.mkv"
        wrong = {}
        for quality in QUALITIES:
            for name, fault in FAULTS.items():
                shown = [frames[n] for n in fault.shown(FRAMES)]
                encode_luma(path, shown, crf=str(quality), preset="ultrafast")
                finding = found(ref, signatures(path))
                right = is_named_rightly(content, fault, finding)
                wrong[content, name, quality] = "" if right else str(finding)
        for name, how in CLEAN.items():
            clean = list(signatures(encode_luma(path, frames, **how)))  # type: ignore[arg-type]
            finding = found(ref, clean)
            wrong[content, f"clean {name}", 0] = "" if finding is None else str(finding)
        finding = found(others, clean)
        wrong[content, "other", 0] = "" if finding is not None and finding.kind == "other" else str(finding)
        return wrong

    with ThreadPoolExecutor(2) as pool:
        return {key: told for answer in pool.map(of, CONTENTS) for key, told in answer.items()}


def test_faults_are_found_and_named(answers: dict[tuple[str, str, int], str]) -> None:
    faults = {key: told for key, told in answers.items() if not key[1].startswith("clean")}
    wrong = {key: told for key, told in faults.items() if told}
    assert len(faults) == len(CONTENTS) * (len(FAULTS) * len(QUALITIES) + 1)
    assert len(wrong) <= 0.02 * len(faults), wrong


def test_clean_pairs_raise_no_alarm(answers: dict[tuple[str, str, int], str]) -> None:
    clean = {key: told for key, told in answers.items() if key[1].startswith("clean")}
    assert len(clean) == len(CONTENTS) * len(CLEAN)
    assert {key: told for key, told in clean.items() if told} == {}
