"""Bad input and output, for both commands: one sentence, the right code, and no file left behind."""

from __future__ import annotations

import json
import resource
from collections.abc import Sequence
from pathlib import Path

import pytest

from cli_helpers import FRAME_BYTES, Cli, Runner, encode, moving, start, y4m
from damaged_clip import FRAGILE, damage
from small_model import small_document

TEXT = b"Dear diary, today I encoded everything at CRF 51.\n" * 50
REFUSED = 1  # or the code of `vmaf` for that
# What is wrong with a file: its name and content, whether its geometry is given, and what is said.
BAD_FILES: list[tuple[str, bytes, bool, int, str]] = [
    ("empty.yuv", b"", True, 101, "empty"),
    ("empty.yuv", b"", False, 101, "empty"),
    ("bare.y4m", y4m(b""), False, 101, "bare.y4m"),
    ("empty.y4m", b"", False, 101, "empty.y4m"),
    ("short.yuv", moving()[:-1], True, REFUSED, "whole number of frames"),
    ("short.yuv", moving()[: -FRAME_BYTES // 2], True, REFUSED, "whole number of frames"),
    ("other.y4m", y4m(moving(width=40, height=32), width=40, height=32), False, REFUSED, "--scale force"),
    ("short.y4m", y4m(moving())[:-100], False, REFUSED, "short.y4m"),
    *((name, TEXT, False, REFUSED, name) for name in ("notes.txt", "notes.mp4", "notes.mkv", "notes.y4m")),
]


@pytest.mark.parametrize(("name", "content", "raw", "code", "words"), BAD_FILES)
def test_bad_files(
    score: Runner, clips: Path, tmp_path: Path, name: str, content: bytes, raw: bool, code: int, words: str
) -> None:
    (tmp_path / name).write_bytes(content)
    ran = score(clips / ("ref.yuv" if raw else "ref.y4m"), tmp_path / name, raw=raw)
    assert ran.refused if code == REFUSED else ran.code == code
    assert name in ran.err
    assert words in ran.err


def test_geometry_for_a_container(score: Runner, tmp_path: Path) -> None:
    clip = encode(tmp_path / "clip.mkv", moving())
    ran = score(clip, clip, raw=True)
    assert ran.refused
    assert "leave out the geometry" in ran.err


def test_damaged_frames(score: Runner, tmp_path: Path, command: str, cli: Cli) -> None:
    whole = encode(tmp_path / "whole.mkv", moving(20), **{"x264-params": FRAGILE})
    broken = tmp_path / "broken.mkv"
    broken.write_bytes(whole.read_bytes())
    damage(broken, 10)
    ran = score(whole, broken)
    assert ran.refused
    assert "frame 10 of" in ran.err
    assert ("--allow_damaged" if command == "vmaf" else "--allow-damaged") in ran.err
    if command == "vmaf":
        ran = cli.vmaf("-r", str(whole), "-d", str(broken), "--allow_damaged")
    else:
        # What the decoder makes of the rest is one frame late, which is a fault of its own.
        ran = cli.acuity("score", str(whole), str(broken), "--allow-damaged", "--align", "warn")
    assert ran.code == 0
    assert "warning: frame 10 of" in ran.out + ran.err


@pytest.mark.parametrize("name", ["nowhere.yuv", "nowhere.y4m", "nowhere.mp4", "no/where.mkv"])
def test_missing_file(score: Runner, clips: Path, tmp_path: Path, name: str) -> None:
    ran = score(clips / "ref.yuv", tmp_path / name, raw=name.endswith(".yuv"))
    assert ran.refused
    ran = score(tmp_path / name, tmp_path / name)
    assert ran.refused
    assert name in ran.err


def test_no_frames_in_common(score: Runner, command: str, clips: Path) -> None:
    skip = "--frame_skip_ref" if command == "vmaf" else "--skip-ref"
    ran = score(clips / "ref.y4m", clips / "dis.y4m", skip, "50")
    assert ran.code == 101
    assert "no frame in common" in ran.err


def test_pictures_too_small(score: Runner, command: str, tmp_path: Path) -> None:
    tiny = tmp_path / "tiny.y4m"
    tiny.write_bytes(y4m(moving(width=8, height=8), width=8, height=8))
    other = tmp_path / "other.y4m"
    other.write_bytes(y4m(moving(width=8, height=8, noise=9), width=8, height=8))
    ran = score(tiny, other)
    assert ran.code == {"vmaf": 234, "acuity": 1}[command]
    assert "8x8" in ran.err


def test_output_is_known_to_fail_before_anything_is_read(score: Runner, tmp_path: Path) -> None:
    target = tmp_path / "nowhere" / "report.json"
    ran = score("no-such.y4m", "no-such.y4m", "-o", str(target))
    assert "report.json" in ran.err


def test_output_would_overwrite_an_input(score: Runner, clips: Path, tmp_path: Path) -> None:
    ref = tmp_path / "ref.json"
    ref.write_bytes((clips / "ref.y4m").read_bytes())
    ran = score(ref, clips / "dis.y4m", "-o", str(ref))
    assert ran.code == 1
    assert "overwrite" in ran.err
    assert ref.read_bytes() == (clips / "ref.y4m").read_bytes()


def _command_line(command: str, clips: Path, output: str) -> tuple[str, Sequence[str]]:
    ref, dis = str(clips / "ref.y4m"), str(clips / "dis.y4m")
    if command == "vmaf":
        return "vmaf", ["-q", "-r", ref, "-d", dis, "--json", "-o", output]
    return "main", ["score", ref, dis, "-q", "--format", "json", "-o", output]


def test_full_disk_leaves_no_file(command: str, clips: Path, tmp_path: Path) -> None:
    """A limit on the size of files makes writes fail halfway, as a full disk does."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    kept = tmp_path / "report.json"
    kept.write_text("yesterday's")
    ran = start(*_command_line(command, clips, str(kept)), preexec_fn=limit)
    assert ran.returncode == 1
    assert len(ran.stderr.splitlines()) == 1
    assert "report.json" in ran.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["report.json"]
    assert kept.read_text() == "yesterday's"


# ---- Models, features and options that make no sense, for both commands; refused as b ----


IN_ITS_WORDS = None  # the code of the command for what it refuses


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ("-m version=vmaf_v0.6.9", IN_ITS_WORDS, "vmaf_v0.6.1"),
        ("-m version=vmaf_v0.6.1:adm.adm_csf_mode=7", IN_ITS_WORDS, "adm_csf_mode cannot be '7': it must be"),
        ("--feature vifff", IN_ITS_WORDS, "vifff"),
        ("--feature vif=vif_enhn_gain_limit=1000", IN_ITS_WORDS, "1000"),
        ("--feature vif=vif_enhn_gain_limit=many", IN_ITS_WORDS, "many"),
        ("--feature psnr=min_sse=-1", IN_ITS_WORDS, "min_sse cannot be '-1': it must be 0 or more"),
        ("--feature psnr=enable_mse=2", IN_ITS_WORDS, "enable_mse cannot be '2': it must be true or false"),
        ("--feature=", IN_ITS_WORDS, "feature"),
        ("--feature vif=debug", 1, "'debug' is no option=value"),
        ("--threads 4000000000", IN_ITS_WORDS, "threads 4000000000"),
        ("--backend cuda", 100, "cuda"),
        *((option, 1, "--help") for option in ("--frobnicate", "--threads=many", "--threads=-1")),
        *((f"-p {value}", 1, "420") for value in ("421", "yuv420p", "nv12")),
        *((f"-b {value}", 1, "bitdepth") for value in ("9", "0", "x", "8.0")),
        *((option, 1, "--help") for option in ("--subsample=x", "--width=x", "--backend")),
    ],
)
def test_wrong_options(score: Runner, clips: Path, options: str, code: int | None, words: str) -> None:
    ran = score(clips / "ref.y4m", clips / "dis.y4m", *options.split())
    assert ran.refused if code is IN_ITS_WORDS else ran.code == code
    assert words in ran.err


@pytest.mark.parametrize("spec", ["", "version=", "path=", ":", "name=only", "version=vmaf_v0.6.1:what=ever"])
def test_malformed_model_option(score: Runner, clips: Path, spec: str) -> None:
    assert score(clips / "ref.y4m", clips / "dis.y4m", "-m", spec).code == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--feature", "vif=vif_gain=1"], "vif_gain"),
        (["--feature", "vif=vif_enhn_gain_limi=2"], "did you mean vif_enhn_gain_limit?"),
        (["--feature", "vif=adm_csf_mode=2"], "vif has no option 'adm_csf_mode', which "),
        (["-m", "version=vmaf_v0.6.1:cambi.enc_width=640"], "does not use the extractor 'cambi'; it uses"),
        (["-m", "version=vmaf_v0.6.1:vif.vif_gain=1"], "cannot be measured: vif has no option 'vif_gain'"),
    ],
)
def test_acuity_refuses_options_that_do_nothing(
    cli: Cli, clips: Path, options: list[str], words: str
) -> None:
    """`vmaf` ignores them as libvmaf does: see test_cli_vmaf_dropin.py."""
    ran = cli.acuity("score", str(clips / "ref.y4m"), str(clips / "dis.y4m"), *options)
    assert ran.refused
    assert words in ran.err


def test_a_model_that_needs_what_no_extractor_gives(score: Runner, clips: Path, tmp_path: Path) -> None:
    document = small_document()
    document["model_dict"]["feature_names"][0] = "VMAF_feature_magic_score"
    model = tmp_path / "odd.json"
    model.write_text(json.dumps(document))
    ran = score(clips / "ref.y4m", clips / "dis.y4m", "-m", f"path={model}")
    assert "odd.json' needs VMAF_feature_magic_score, which this version cannot measure" in ran.err


@pytest.mark.parametrize(
    ("options", "code"), [(("--device", "9" * 5000), 1), (("--backend", f"cuda:{'9' * 5000}"), 100)]
)
def test_the_number_of_a_card_has_few_digits(
    score: Runner, clips: Path, options: tuple[str, ...], code: int
) -> None:
    ran = score(clips / "ref.y4m", clips / "dis.y4m", *options)
    assert ran.code == code
    assert "99999…99999" in ran.err
    assert len(ran.err) < 300
