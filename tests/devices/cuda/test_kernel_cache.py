"""The cache of compiled kernels: hits, everything that is no hit, limits, folders that can't be written."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from acuity.devices.cuda.compiler.build import KernelBuilder
from acuity.devices.cuda.compiler.kernel_cache import KernelCache, kernel_key
from acuity.errors import BackendError

KEY = kernel_key("a", "b")
CODE = b"\x7fELF" + bytes(range(256)) * 20


class CountingCompiler:
    """Its code is the source's; it can be told to fail, and to wait for others."""

    def __init__(self, identity: str = "nvrtc 13.0") -> None:
        self.identity = identity
        self.compiled: list[str] = []
        self.failure: BackendError | None = None
        self.meeting: threading.Barrier | None = None

    def compile(self, name: str, source: str, architecture: str) -> bytes:
        self.compiled.append(name)
        if self.meeting is not None:
            self.meeting.wait(20)
        if self.failure is not None:
            raise self.failure
        return f"{name} {source} {architecture} {self.identity}".encode()


def builder(
    folder: Path, compiler: CountingCompiler, architecture: str = "sm_90", text: str = "text of {} in {}"
) -> KernelBuilder:
    return KernelBuilder(architecture, compiler, KernelCache(str(folder)), text.format)


def the_file(folder: Path) -> Path:
    (file,) = folder.iterdir()
    return file


def test_what_was_kept_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "not" / "there yet"
    cache = KernelCache(str(folder))
    assert cache.find(KEY) is None
    cache.keep(KEY, CODE)
    assert KernelCache(str(folder)).find(KEY) == CODE
    assert cache.find(kernel_key("another")) is None
    assert oct(the_file(folder).stat().st_mode)[-3:] == "600"
    cache.drop(KEY)
    assert cache.find(KEY) is None
    cache.drop(KEY)
    assert cache.notes == []


@pytest.mark.parametrize(
    "damage", ["empty", "cut", "longer", "changed", "head", "other key", "folder", "fifo"]
)
def test_what_is_no_kernel_of_ours_is_replaced(tmp_path: Path, damage: str) -> None:
    compiler = CountingCompiler()
    good = builder(tmp_path, compiler).code("vif", "k")
    path = the_file(tmp_path)
    data = path.read_bytes()
    if damage in ("folder", "fifo"):
        path.unlink()
        path.mkdir() if damage == "folder" else os.mkfifo(path)
    else:
        other = KernelCache(str(tmp_path / "other"))
        other.keep(kernel_key("other"), data)
        path.write_bytes(
            {
                "empty": b"",
                "cut": data[:-1],
                "longer": data + b"\0",
                "changed": data[:-3] + bytes([data[-3] ^ 1]) + data[-2:],
                "head": b"acuity kernels 0\n" + data[17:],
                "other key": the_file(tmp_path / "other").read_bytes(),
            }[damage]
        )
    again = builder(tmp_path, compiler)
    assert again.code("vif", "k") == good
    assert compiler.compiled == ["vif.k", "vif.k"]
    if damage == "folder":
        assert "can't be kept" in again.notes[0]
    else:
        assert builder(tmp_path, compiler).code("vif", "k") == good
        assert compiler.compiled == ["vif.k", "vif.k"]
        assert path.read_bytes() == data


def test_a_file_of_somebody_else_is_not_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = KernelCache(str(tmp_path))
    cache.keep(KEY, CODE)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    owner = the_file(tmp_path).stat().st_uid
    assert (cache.find(KEY) is None) == (owner != 0)  # root's are trusted


def test_source_compiler_and_architecture_are_in_the_key(tmp_path: Path) -> None:
    compiler, newer = CountingCompiler(), CountingCompiler("nvrtc 13.1")
    assert builder(tmp_path, compiler).code("vif", "k") == builder(tmp_path, compiler).code("vif", "k")
    builder(tmp_path, compiler, "sm_80").code("vif", "k")
    builder(tmp_path, compiler, text="changed {} {}").code("vif", "k")
    builder(tmp_path, newer).code("vif", "k")
    assert (len(compiler.compiled), len(newer.compiled)) == (3, 1)
    assert len([*tmp_path.iterdir()]) == 4


def test_what_was_used_longest_ago_is_deleted(tmp_path: Path) -> None:
    cache = KernelCache(str(tmp_path), largest=3 * (len(CODE) + 49))
    keys = [kernel_key(str(number)) for number in range(5)]
    for age, key in enumerate(keys[:3]):
        cache.keep(key, CODE)
        os.utime(tmp_path / f"{key}.kernels", (1000 + age, 1000 + age))
    assert cache.find(keys[0]) == CODE  # used now
    cache.keep(keys[3], CODE)
    assert [cache.find(key) is not None for key in keys] == [True, False, True, True, False]
    tiny = KernelCache(str(tmp_path), largest=1)
    tiny.keep(keys[4], CODE)
    assert [*tmp_path.iterdir()] == [tmp_path / f"{keys[4]}.kernels"]  # the newest stays, whatever its size


def test_without_a_folder_everything_is_compiled_and_a_note_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    compiler = CountingCompiler()
    found = builder(tmp_path / "file" / "kernels", compiler)
    assert found.code("vif", "k") == found.code("vif", "k")
    found.code("adm", "k")
    assert compiler.compiled == ["vif.k", "adm.k"]
    (note,) = found.notes
    assert note.startswith(f"compiled kernels can't be kept in '{tmp_path}/file/kernels' (Not a directory)")
    assert note.endswith("set ACUITY_CACHE to a folder that can be written")


def test_the_folder_is_in_the_cache_of_acuity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACUITY_CACHE", str(tmp_path / "mine"))
    assert KernelCache().folder == tmp_path / "mine" / "kernels"
    monkeypatch.delenv("ACUITY_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert KernelCache().folder == tmp_path / "acuity" / "kernels"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "expanduser", lambda _: (_ for _ in ()).throw(RuntimeError("no home")))
    homeless = KernelCache()
    homeless.keep(KEY, CODE)
    homeless.drop(KEY)
    assert homeless.find(KEY) is None
    assert "the user's cache folder (no home)" in homeless.notes[0]


def test_programs_are_compiled_side_by_side_and_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acuity.devices.cuda.compiler.build.available_threads", lambda: 3)
    compiler = CountingCompiler()
    compiler.meeting = threading.Barrier(3)  # nobody goes on before three compile at once
    found = builder(tmp_path, compiler)
    found.prefetch("vif", ["first", "second"])
    found.prefetch("adm", ["third"])
    found.prefetch("adm", ["third"])
    for program, name in (("vif", "first"), ("vif", "second"), ("adm", "third")):
        assert found.code(program, name).startswith(f"{program}.{name} text of {program} in {name}".encode())
    assert sorted(compiler.compiled) == ["adm.third", "vif.first", "vif.second"]


def test_a_failure_reaches_whoever_asks(tmp_path: Path) -> None:
    compiler = CountingCompiler()
    compiler.failure = BackendError("no such instruction")
    found = builder(tmp_path, compiler)
    found.prefetch("vif", ["k"])
    for _ in range(2):
        with pytest.raises(BackendError, match="no such instruction"):
            found.code("vif", "k")
    assert [*tmp_path.iterdir()] == []
    compiler.failure = None
    assert found.rebuild("vif", "k").startswith(b"vif")
