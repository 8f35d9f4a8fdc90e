"""A plan's documents: JSON with the entries that users know, CSV, and a script."""

from __future__ import annotations

import csv
import io
import json
import shlex
import subprocess
from dataclasses import replace

import pytest
from shot_plans import plan_of, settings_of, write_shots

from acuity.errors import TuneError
from acuity.scoring.fronts import sentence
from acuity.tune.shots.plan import (
    ShotPlan,
    Stitched,
    check_script,
    concat_command,
    segment_commands,
    shell_script,
)


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> ShotPlan:
    clip = write_shots(tmp_path_factory.mktemp("a folder") / "it's a clip.y4m")
    return plan_of(clip, settings_of("libx264"), (24, 34, 30), (14, 28))


def test_a_variable_rate_has_no_script_and_the_remedy_is_an_option(plan: ShotPlan) -> None:
    clip = replace(plan.clip, info=replace(plan.clip.info, variable_rate=True))
    with pytest.raises(TuneError) as caught:
        check_script(clip)
    assert "leave out --format and pass --output, which makes" in sentence(caught.value, "vmaf-tune")
    assert "leave out format and pass output=, which makes" in sentence(caught.value, "run_tune_per_shot")


def test_the_document_has_what_users_know_and_more(plan: ShotPlan) -> None:
    document = json.loads(json.dumps(plan.document()))
    assert {"encoder", "framerate", "predicate", "target_vmaf", "shots"} < set(document)
    assert document["framerate"] == 24
    assert [(s["start_frame"], s["end_frame"], s["crf"]) for s in document["shots"]] == [
        (0, 14, 24),
        (14, 28, 34),
        (28, 42, 30),
    ]
    assert len(document["segment_commands"]) == 3
    assert document["measured"] is None
    assert document["predicted"]["bytes"] == sum(shot["bytes"] for shot in document["shots"])
    mean = sum(shot["predicted_vmaf"] for shot in document["shots"]) / 3
    assert document["predicted"]["score"] == pytest.approx(mean)
    kbps = sum(shot["bitrate_kbps"] for shot in document["shots"]) / 3
    assert document["predicted"]["bitrate_kbps"] == pytest.approx(kbps, abs=0.001)


def test_csv_has_a_line_for_each_shot(plan: ShotPlan) -> None:
    rows = list(csv.DictReader(io.StringIO(plan.csv())))
    assert [int(row["crf"]) for row in rows] == [24, 34, 30]
    assert [row["shot"] for row in rows] == ["1", "2", "3"]
    for row, shot in zip(rows, plan.shots, strict=True):
        assert float(row["predicted_vmaf"]) == round(shot.point.pool(), 6)
        assert float(row["bitrate_kbps"]) == round(shot.point.bitrate_kbps, 3)


def test_what_was_measured_stands_beside_what_was_predicted(plan: ShotPlan) -> None:
    stitched = Stitched("out.mp4", 1200, 1000, 1000 / 7, 1000 / 11, 42, (0, 14, 28))
    made = replace(plan, stitched=stitched).document()
    assert made["concat_command"][-1] == "out.mp4"
    assert (made["measured"]["score"], made["measured"]["bitrate_kbps"]) == (90.909091, 142.857)
    for about in (made["predicted"], made["measured"], *made["shots"]):
        assert about["bitrate_kbps"] == round(about["bitrate_kbps"], 3)
    assert made["predicted"]["score"] == round(plan.predicted, 6)


def test_commands_count_frames(plan: ShotPlan) -> None:
    second = segment_commands(plan)[1]
    assert second[second.index("-vf") + 1].startswith("trim=start_frame=14:end_frame=28,")
    assert second[second.index("-crf") + 1] == "34"
    assert "stitchable=1" in second[second.index("-x264-params") + 1]
    assert concat_command(plan)[-1] == "per_shot_encode.mp4"


def test_the_script_is_a_script(plan: ShotPlan) -> None:
    script = shell_script(plan)
    assert "Needs an ffmpeg" in script
    assert subprocess.run(["sh", "-n"], input=script, text=True, check=False).returncode == 0
    lines = [line for line in script.splitlines() if line.startswith("ffmpeg")]
    assert [shlex.split(line) for line in lines] == [*segment_commands(plan), concat_command(plan)]
    assert script.count("file 'shot_") == 3
