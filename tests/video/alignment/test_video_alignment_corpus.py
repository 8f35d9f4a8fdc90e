"""Real encodes of eight kinds of content with twelve kinds of faults, each to be found and named.

Each content has every third fault and a clean encode, the next one others, because encodes take long;
bench/alignment.py makes all of them.
"""

from __future__ import annotations

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

QUALITIES = ("20", "28")
# Of a fast preset: slower ones make better pictures, and take most of the time.
CLEAN = {
    "fine": {"crf": "18"},
    "coarse": {"crf": "38"},
    "coarsest": {"crf": "45"},
    "small": {"crf": "28", "size": (160, 90)},
    "deep": {"crf": "28", "pix_fmt": "yuv420p10le"},
}
Answers = dict[tuple[str, str], str]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """What is wrong, for each fault of each content; empty where it was found and named."""
    folder = tmp_path_factory.mktemp("corpus")

    def of(place: int) -> Answers:
        content = [*CONTENTS][place]
        frames, path, wrong = frames_of(content), folder / f"{content}.mkv", {}
        ref = reference_signatures(frames)
        for number, (name, fault) in enumerate([*FAULTS.items()][place % 2 :: 2]):
            if number % 3 == place // 2 % 3:
                continue
            shown = [frames[n] for n in fault.shown(FRAMES)]
            encode_luma(path, shown, crf=QUALITIES[(place // 2 + number) % 2], preset="ultrafast")
            finding = found(ref, signatures(path))
            wrong[content, name] = "" if is_named_rightly(content, fault, finding) else str(finding)
        kinds = [*CLEAN.items()][place % 2 :: 2]
        name, how = kinds[place // 2 % len(kinds)]
        clean = [*signatures(encode_luma(path, frames, preset="superfast", **how))]  # type: ignore[arg-type]
        wrong[content, f"clean {name}"] = str(found(ref, clean) or "")
        other = found(reference_signatures(frames_of([*CONTENTS][place - 1])), clean)
        wrong[content, "other"] = "" if other is not None and other.kind == "other" else str(other)
        return wrong

    with ThreadPoolExecutor(2) as pool:
        return {key: told for answer in pool.map(of, range(len(CONTENTS))) for key, told in answer.items()}


def test_faults_are_found_and_named(answers: Answers) -> None:
    faults = {key: told for key, told in answers.items() if not key[1].startswith("clean")}
    assert {name for _, name in faults} == {*FAULTS, "other"}
    assert len(faults) == len(CONTENTS) * (len(FAULTS) // 3 + 1)
    assert {key: told for key, told in faults.items() if told} == {}


def test_clean_pairs_raise_no_alarm(answers: Answers) -> None:
    clean = {key: told for key, told in answers.items() if key[1].startswith("clean")}
    assert len(clean) == len(CONTENTS)
    assert {name for _, name in clean} == {f"clean {name}" for name in CLEAN}
    assert {key: told for key, told in clean.items() if told} == {}
