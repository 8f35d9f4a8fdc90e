"""Another vmaf binary: where it is, and what it says about itself."""

from __future__ import annotations

import os
from pathlib import Path

import anyio
import pytest

from acuity.agents.tools import external
from acuity.agents.tools.external import External, examine, locate, version
from acuity.cli.vmaf.options import help_page
from acuity.errors import BackendError
from scoring_clips import FORK_HELP, HELP, fake_vmaf, runs_of
from vmaf_binary import make_binary


def asked(named: Path | str) -> External:
    return anyio.run(examine, str(named))


def test_options_and_backends_are_read_from_the_help(tmp_path: Path) -> None:
    found = asked(fake_vmaf(tmp_path / "vmaf", help=FORK_HELP))
    assert found.path == (tmp_path / "vmaf").resolve()
    assert {"reference", "precision", "no_cuda", "frame_skip_dist"} <= found.options
    assert found.backends == ("cpu", "cuda", "sycl")


def test_libvmafs_own_complains_about_the_question_and_answers_it(tmp_path: Path) -> None:
    help = f"unrecognized option '--help'\n{HELP}"
    found = asked(fake_vmaf(tmp_path / "vmaf", help=help, stream="stderr", code=1))
    assert "subsample" in found.options
    assert "precision" not in found.options
    assert found.backends == ("cpu",)


def test_a_binary_is_asked_once_whatever_its_name(tmp_path: Path) -> None:
    binary = fake_vmaf(tmp_path / "vmaf")
    (tmp_path / "link").symlink_to(binary)
    assert asked(binary) == asked(tmp_path / "link") == asked(binary)
    assert runs_of(binary) == [["--help"]]


def test_a_list_of_backends_is_believed_more_than_the_help(tmp_path: Path) -> None:
    listed = '{"backends": [{"name": "cpu", "compiled": true}, {"name": "cuda", "compiled": false},'
    listed += ' {"name": "hip", "compiled": true}, {"name": "future", "compiled": true}]}'
    help = FORK_HELP + " --list-backends: as JSON\n"
    binary = fake_vmaf(tmp_path / "one", help=help, **{"list-backends": ("stdout", listed, 0)})
    assert asked(binary).backends == ("cpu", "hip")
    broken = fake_vmaf(tmp_path / "two", help=help, **{"list-backends": ("stdout", "no JSON", 1)})
    assert asked(broken).backends == ("cpu", "cuda", "sycl")


def test_acuitys_own_command_is_such_a_binary(tmp_path: Path) -> None:
    found = asked(make_binary(tmp_path, help=help_page()))
    assert found.backends == ("cpu",)
    assert {"precision", "subsample", "no_prediction"} <= found.options


def test_one_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = tmp_path / "vmaf"
    with pytest.raises(BackendError, match=rf"^vmaf binary not found at {missing}\. Set VMAF_BIN"):
        locate(str(missing))
    missing.write_text("not executable")
    with pytest.raises(BackendError, match="vmaf binary not found at"):
        asked(missing)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BackendError, match="vmaf binary not found at vmaf"):
        locate("vmaf")
    missing.chmod(0o755)
    assert locate("vmaf") == missing.resolve()


def test_one_that_can_not_run_or_says_nothing(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/nowhere/at/all\n")
    broken.chmod(0o755)
    with pytest.raises(BackendError, match="can't be run"):
        asked(broken)
    with pytest.raises(BackendError, match="lists no options"):
        asked(fake_vmaf(tmp_path / "silent", help="hello"))


def test_one_that_never_answers_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(external, "_TIMEOUT", 1.0)
    binary = tmp_path / "vmaf"
    binary.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec tail -f /dev/null\n")
    binary.chmod(0o755)
    with pytest.raises(BackendError, match="did not answer --help"):
        asked(binary)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
    assert external._seen == {}  # so it is asked again


@pytest.mark.parametrize(
    ("said", "expected"),
    [("3.2.0", "3.2.0"), ("vmaf v3.0.0-lusoris.5 (abc)", "3.0.0-lusoris.5"), ("who knows", None)],
)
def test_versions(tmp_path: Path, said: str, expected: str | None) -> None:
    binary = fake_vmaf(tmp_path / "vmaf", version=("stderr", said, 0))
    assert anyio.run(version, binary) == expected
