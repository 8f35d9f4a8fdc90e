"""The `vmaf` command: what it takes, what it writes, what it says."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from acuity import __version__
from acuity.cli.getopt import UsageError
from acuity.cli.vmaf import main as vmaf_main
from acuity.cli.vmaf.options import FLAGS, help_page, parse
from acuity.cli.vmaf.specs import allowed, forbidden_cards
from acuity.devices import BACKENDS
from acuity.measure import Measurement
from acuity.scoring.presets import PRESETS
from cli_helpers import FRAMES, GEOMETRY, HEIGHT, WIDTH, Cli, encode, environment, moving
from golden_figures import GoldenRun, load_cases, needs_golden


def report(path: Path) -> dict[str, object]:
    document: dict[str, object] = json.loads(path.read_text())
    return document


# ---- what it takes --------------------------------------------------------------------------


def test_defaults_are_libvmafs() -> None:
    settings = parse(["-r", "a", "-d", "b"])
    assert settings.models == ["version=vmaf_v0.6.1"]
    assert (settings.format, settings.precision, settings.cpumask) == ("xml", "legacy", 0)
    assert settings.request == {"reference": "a", "distorted": "b", "default_model": True}
    assert parse(["-r", "a", "-d", "b", "--no_prediction"]).models == []


def test_every_option_lands_in_the_settings() -> None:
    line = (
        "-r a -d b -w 64 -h 36 -p 422 -b 10 -m version=x -o out --csv --precision 9 --threads 3 --feature f "
        "--subsample 2 -c 0xff --gpumask 1 --frame_cnt 7 --frame-skip-ref 1 --frame_skip_dist 2 -n -q "
        "--backend cpu --no_cuda --scale force --rate match --allow-damaged"
    )
    settings = parse(line.split())
    assert (settings.models, settings.features) == (["version=x"], ["f"])
    assert (settings.output, settings.format, settings.precision) == ("out", "csv", "9")
    assert (settings.cpumask, settings.gpumask, settings.quiet, settings.excluded) == (255, 1, True, {"cuda"})
    assert settings.request == {
        "reference": "a",
        "distorted": "b",
        "width": 64,
        "height": 36,
        "pixel_format": "422",
        "bitdepth": 10,
        "threads": 3,
        "sequential_first": True,
        "subsample": 2,
        "predict": False,
        "backend": "cpu",
        "frames": 7,
        "skip_ref": 1,
        "skip_dis": 2,
        "scale": "force",
        "rate": "match",
        "allow_damaged": True,
    }


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", "reference"),
        ("-r a", "distorted"),
        ("-r a -d b -w 64 -h 36", "-p/--pixel_format, -b/--bitdepth"),
        ("-r a -d b -w 0", "a whole number of 1 or more"),
        ("-r a -d b --precision 18", "1 to 17"),
        ("-r a -d b --backend gpu", "cuda"),
        ("-r a -d b --aom_ctc v8.0", "v7.0"),
        ("-r a -d b --aom_ctc proposed", "deprecated"),
        ("-r a -d b --nflx_ctc v2.0", "v1.0"),
    ],
)
def test_lines_that_make_no_sense(line: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(line.split())
    assert words in str(caught.value)


# ---- what it writes -------------------------------------------------------------------------


def test_xml_is_the_default(cli: Cli, pair: list[str], tmp_path: Path) -> None:
    ran = cli.vmaf(*pair, "-o", str(tmp_path / "out"))
    assert ran.code == 0
    root = ET.parse(tmp_path / "out").getroot()
    assert root.tag == "VMAF"
    assert len(root.findall("frames/frame")) == FRAMES
    score = root.find("pooled_metrics/metric[@name='vmaf']")
    assert score is not None
    assert ran.err == f"vmaf_v0.6.1: {score.get('mean')}\n"


@pytest.mark.parametrize(
    ("switch", "start_of_file"), [("--json", "{\n"), ("--csv", "Frame,"), ("--sub", "{0}{1}")]
)
def test_other_formats(cli: Cli, pair: list[str], tmp_path: Path, switch: str, start_of_file: str) -> None:
    assert cli.vmaf(*pair, switch, "-o", str(tmp_path / "out")).code == 0
    assert (tmp_path / "out").read_text().startswith(start_of_file)


def test_report_on_standard_output(cli: Cli, pair: list[str]) -> None:
    ran = cli.vmaf(*pair, "--json", "-q", "-o", "-")
    assert ran.err == ""
    assert len(json.loads(ran.out)["frames"]) == FRAMES


def test_a_raw_reference_and_an_encoded_file(cli: Cli, clips: Path, tmp_path: Path) -> None:
    lossless = encode(tmp_path / "same.mkv", moving(), codec="ffv1")
    ran = cli.vmaf("-r", str(clips / "ref.yuv"), "-d", str(lossless), *GEOMETRY)
    assert ran.code == 0
    itself = cli.vmaf("-r", str(clips / "ref.y4m"), "-d", str(clips / "ref.y4m"))
    assert ran.err.splitlines()[-1] == itself.err.splitlines()[-1]


def test_threads_and_cpumask_change_no_digit(cli: Cli, pair: list[str], tmp_path: Path) -> None:
    texts = []
    for options in (["--threads", "1"], ["--threads", "3"], ["--cpumask", "0xffffffff"], ["-c", "8"]):
        cli.vmaf(*pair, *options, "--csv", "--precision", "max", "-o", str(tmp_path / "out"))
        texts.append((tmp_path / "out").read_text())
    assert len(set(texts)) == 1


def test_frames_are_skipped_and_counted(cli: Cli, pair: list[str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = ["--json", "-o", str(out)]
    cli.vmaf(*pair, *options, "--frame_cnt", "2")
    assert len(report(out)["frames"]) == 2  # type: ignore[arg-type]
    cli.vmaf(*pair, *options, "--subsample", "2")
    assert [f["frameNum"] for f in report(out)["frames"]] == [0, 2, 4]  # type: ignore[attr-defined]
    ran = cli.vmaf(*pair, *options, "--frame_skip_ref", "1")
    assert len(report(out)["frames"]) == FRAMES - 1  # type: ignore[arg-type]
    assert "ended before" in ran.err


def test_models_and_features(cli: Cli, pair: list[str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    neg = "version=vmaf_v0.6.1:vif.vif_enhn_gain_limit=1.0:adm.adm_enhn_gain_limit=1.0:name=neg"
    models = ["-m", "version=vmaf_v0.6.1", "-m", neg, "--feature", "vif=debug=true"]
    ran = cli.vmaf(*pair, *models, "--json", "-o", str(out))
    assert [line.partition(":")[0] for line in ran.err.splitlines()] == ["vmaf_v0.6.1"] * 2
    pooled = report(out)["pooled_metrics"]
    assert {"vmaf", "neg", "integer_vif_scale0_egl_1", "integer_vif_num"} <= set(pooled)  # type: ignore[call-overload]


def test_no_prediction_gives_the_models_features(cli: Cli, pair: list[str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    ran = cli.vmaf(*pair, "-n", "-m", "version=vmaf_v0.6.1", "--json", "-o", str(out))
    assert ran.err == ""
    pooled = report(out)["pooled_metrics"]
    assert "integer_vif_scale0" in pooled  # type: ignore[operator]
    assert "vmaf" not in pooled  # type: ignore[operator]


def _golden_runs() -> list[tuple[str, str]]:
    wanted = ("opt_", "model_vmaf_v0.6.1")
    cases = ("q160x90_48f", "src01_576x324_420p10", "park_joy_480x270_y4m_x264")
    have = load_cases()
    return [(c, r) for c in cases if c in have for r in have[c].runs if r.startswith(wanted)]


@needs_golden
@pytest.mark.parametrize(("case_name", "run_name"), _golden_runs())
def test_the_command_line_of_a_golden_run(cli: Cli, tmp_path: Path, case_name: str, run_name: str) -> None:
    case = load_cases()[case_name]
    run = case.runs[run_name]
    line = ["-r", str(case.reference), "-d", str(case.distorted), *run.args]
    if case.width:
        line += ["-w", str(case.width), "-h", str(case.height), "-p", str(case.pixel_format)]
        line += ["-b", str(case.bitdepth)]
    out = tmp_path / "out"
    ran = cli.vmaf(*line, "--json", "--precision", "max", "-o", str(out))
    assert ran.code == run.exit == 0
    frames = json.loads(out.read_text())["frames"]
    assert [f["frameNum"] for f in frames] == run.frames
    for name, values in run.metrics.items():
        np.testing.assert_allclose([f["metrics"][name] for f in frames], values, rtol=0, atol=1e-9)


# ---- what it says ---------------------------------------------------------------------------


def test_quiet_with_an_output_says_nothing(cli: Cli, pair: list[str], tmp_path: Path) -> None:
    ran = cli.vmaf(*pair, "-q", "-o", str(tmp_path / "out"))
    assert (ran.out, ran.err) == ("", "")


def test_help_names_every_option(cli: Cli) -> None:
    ran = cli.vmaf("--help")
    assert ran.code == 0
    assert ran.out == help_page()
    assert all(f"--{flag.long}" in ran.out for flag in FLAGS)
    assert max(map(len, ran.out.splitlines())) <= 100


def printed_by(code: str) -> subprocess.CompletedProcess[str]:
    """What a program prints in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment(), timeout=60
    )


def test_the_version_needs_neither_numpy_nor_kernels() -> None:
    ran = printed_by(
        "import sys; from acuity.cli.vmaf import main; main(['--version']); "
        "print([m for m in ('numpy', 'av', 'acuity._native', 'argparse') if m in sys.modules])"
    )
    assert ran.stderr.splitlines() == ["3.2.0", f"acuity {__version__}"]  # as libvmaf, and ours below
    assert ran.stdout == "[]\n"


# Loading any of these would be felt at every start, and raw video needs none of them.
NOT_FOR_RAW_VIDEO = (
    *("av", "mcp", "pydantic", "asyncio", "uvloop", "argparse", "difflib", "shutil", "lzma", "logging"),
    *("xml", "socket", "subprocess", "multiprocessing", "importlib.metadata", "fractions", "jsonschema"),
    *("numpy", "dataclasses", "inspect", "pathlib", "urllib", "hashlib", "secrets", "random", "ctypes"),
    *("platform", "textwrap", "datetime", "acuity.agents", "acuity.jobs", "acuity.tiny", "acuity.frames"),
    *("acuity.devices.cuda", "acuity.features.cambi", "acuity.features.ssimulacra2", "acuity.report.page"),
    *("acuity.video.readers.y4m", "acuity.video.pairs.convert", "acuity.video.pairs.alignment"),
    *("acuity.video.alignment.aligner", "acuity.models.describe", "acuity.scoring.presets"),
)


@pytest.mark.parametrize("wanted", [[], ["--feature", "psnr", "--feature", "float_ssim", "--no_prediction"]])
def test_scoring_raw_video_loads_only_what_it_takes(clips: Path, tmp_path: Path, wanted: list[str]) -> None:
    """Only in longer videos it is looked whether frames match, by what is loaded beside the first ones."""
    videos = ["-r", str(clips / "ref.yuv"), "-d", str(clips / "dis.yuv"), *GEOMETRY]
    given = [*videos, "-o", str(tmp_path / "out"), "--backend", "cpu", *wanted]
    ran = printed_by(
        f"import sys; from acuity.cli.vmaf import main; main({given!r}); "
        f"print([m for m in {NOT_FOR_RAW_VIDEO!r} if m in sys.modules])"
    )
    assert ran.stdout == "[]\n"
    assert (tmp_path / "out").exists()


X86 = ["avx512vnni", "avx512", "avx2vnni", "avx2", "sse4", "plain"]


@pytest.mark.parametrize(
    ("mask", "expected"),
    [(0, "avx512vnni"), (32, "avx512"), (16, "avx2vnni"), (48, "avx2vnni"), (8, "sse4"), (4, "plain"),
     (1, "plain"), (64, "avx512vnni"), (0xFFFFFFFF, "plain")],
)  # fmt: skip
def test_x86(mask: int, expected: str) -> None:
    assert allowed(X86, mask, "x86_64") == expected


@pytest.mark.parametrize(
    ("mask", "expected"), [(0, "neon_dotprod"), (2, "neon"), (1, "plain"), (0xFFFFFFFF, "plain")]
)
def test_arm(mask: int, expected: str) -> None:
    assert allowed(["neon_dotprod", "neon", "plain"], mask, "aarch64") == expected


@pytest.mark.parametrize(
    ("mask", "expected"),
    [(0, ()), (1, ("cuda:0",)), (2, ("cuda:1",)), (13, ("cuda:0", "cuda:2", "cuda:3")),
     (0xFFFFFFFF, BACKENDS[1:])],
)  # fmt: skip
def test_cards(mask: int, expected: tuple[str, ...]) -> None:
    assert forbidden_cards(mask) == expected


def test_a_gpumask_excludes_gpus_by_name(clips: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["-r", str(clips / "ref.y4m"), "-d", str(clips / "dis.y4m")]
    assert vmaf_main([*line, "--backend", "cuda", "--gpumask", "-1"]) == 100
    assert "'cuda' can't start (it is excluded)" in capsys.readouterr().err
    for mask in ("1", "-1"):
        assert vmaf_main([*line, "-q", "--gpumask", mask]) == 0


# ---- Common test conditions: what the presets add, and in which order their figures c ----


ANYTHING = ["-r", "a", "-d", "b"]


@pytest.mark.parametrize("family", PRESETS)
def test_presets_add_models_and_features_in_order(family: str) -> None:
    for version, preset in PRESETS[family].items():
        settings = parse([*ANYTHING, "--feature", "vif", f"--{family}", version])
        assert settings.models == list(preset.models)
        assert settings.features == ["vif", *preset.features]


def preset_runs() -> list[GoldenRun]:
    """One run of each preset."""
    runs = {r.name: r for case in load_cases().values() for r in case.runs.values() if r.exit == 0}
    return [run for name, run in runs.items() if name.startswith("preset_")]


@needs_golden
@pytest.mark.parametrize("run", preset_runs(), ids=lambda run: run.name)
def test_presets_give_libvmafs_figures_in_its_order(run: GoldenRun) -> None:
    settings = parse([*ANYTHING, *run.args])
    with Measurement() as measurement:
        for model in settings.models:
            measurement.add_model(model)
        for feature in settings.features:
            measurement.add_feature(feature)
        scores = [name for model in measurement.models for name in model.output_names()]
        assert [*measurement.features, *scores] == list(run.metrics)


def deepened(source: Path, target: Path) -> Path:
    """The same samples with two more bits, as Y4M."""
    frames = np.frombuffer(source.read_bytes(), np.uint8).astype("<u2") << 2
    parts = [b"FRAME\n" + frame.tobytes() for frame in frames.reshape(-1, WIDTH * HEIGHT * 3 // 2)]
    target.write_bytes(f"YUV4MPEG2 W{WIDTH} H{HEIGHT} F25:1 Ip C420p10\n".encode() + b"".join(parts))
    return target


def test_a_pair_of_different_depths(
    cli: Cli, clips: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Samples of the lesser depth are shifted up, where libvmaf 3.2 scores nonsense or fails."""
    few = PRESETS["aom_ctc"]["v6.0"]._replace(features=("psnr",))
    monkeypatch.setitem(PRESETS["aom_ctc"], "v6.0", few)
    monkeypatch.setitem(PRESETS["aom_ctc"], "v5.0", few._replace(common_bitdepth=False))
    deep = {name: deepened(clips / f"{name}.yuv", tmp_path / f"{name}.y4m") for name in ("ref", "dis")}

    def pooled(ref: Path, *options: str) -> object:
        out = tmp_path / "out.json"
        line = ["-r", str(ref), "-d", str(deep["dis"]), "-o", str(out), "--json", *options]
        assert cli.vmaf(*line).code == 0
        return json.loads(out.read_text())["pooled_metrics"]

    both = pooled(deep["ref"], "--aom_ctc", "v6.0")
    assert pooled(clips / "ref.y4m", "--aom_ctc", "v6.0") == both
    line = ["-r", str(clips / "ref.y4m"), "-d", str(deep["dis"]), "--aom_ctc"]
    assert "bit depths do not match" in cli.vmaf(*line, "v5.0").err
    assert "bit depths do not match" in cli.vmaf(*line, "v6.0", "--convert", "never").err
