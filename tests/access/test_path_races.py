"""Whoever may change files under a root while they are checked gains nothing by it.

Each race is staged: the change happens at the very moment that hurts most, right before or after the
opening, and once more with threads that try their luck.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from acuity.access.paths import AllowedPaths, guard_for
from acuity.errors import AcuityError, PathError
from acuity.models import load_model
from acuity.video.local_file import open_local, restrict
from acuity.video.readers.container import ContainerReader
from acuity.video.readers.open import open_video
from canary import open_descriptors
from path_ground import GEOMETRY, SECRET, Ground, make_ground

SPARE = 200  # a descriptor that nothing else uses

Swap = Callable[[Ground], None]


def replace(path: Path, target: Path | str) -> None:
    """Put a link in the place of a file or folder."""
    path.rename(path.with_name(f"{path.name}.was"))
    path.symlink_to(target)


def link(ground: Ground) -> None:
    replace(ground.root / "sub/clip.yuv", ground.secret)


def relative_link(ground: Ground) -> None:
    replace(ground.root / "sub/clip.yuv", "../../outside/secret.yuv")


def folder(ground: Ground) -> None:
    replace(ground.root / "sub", ground.outside)


def root(ground: Ground) -> None:
    (ground.outside / "sub").mkdir()
    (ground.outside / "sub/clip.yuv").write_bytes(SECRET)
    replace(ground.root, ground.outside)


def moved_folder(ground: Ground) -> None:
    """No link at all: the folder itself is another one."""
    (ground.root / "sub").rename(ground.base / "sub.was")
    ground.outside.rename(ground.root / "elsewhere")
    (ground.root / "sub").symlink_to(ground.base / "allowed_evil")
    (ground.evil / "clip.yuv").write_bytes(SECRET)


def pipe(ground: Ground) -> None:
    (ground.root / "sub/clip.yuv").unlink()
    os.mkfifo(ground.root / "sub/clip.yuv")


def device(ground: Ground) -> None:
    replace(ground.root / "sub/clip.yuv", "/dev/zero")


def standard_input(ground: Ground) -> None:
    replace(ground.root / "sub/clip.yuv", "/dev/stdin")


def process(ground: Ground) -> None:
    replace(ground.root / "sub/clip.yuv", "/proc/self/environ")


def open_secret(ground: Ground) -> None:
    """A descriptor that the process has anyway."""
    fd = os.open(ground.secret, os.O_RDONLY)
    os.dup2(fd, SPARE)
    os.close(fd)
    replace(ground.root / "sub/clip.yuv", f"/proc/self/fd/{SPARE}")


def directory(ground: Ground) -> None:
    (ground.root / "sub/clip.yuv").unlink()
    (ground.root / "sub/clip.yuv").mkdir()


def loop(ground: Ground) -> None:
    replace(ground.root / "sub/clip.yuv", "clip.yuv")


def nothing(ground: Ground) -> None:
    (ground.root / "sub/clip.yuv").unlink()


SWAPS = (
    *(link, relative_link, folder, root, moved_folder, pipe, device, standard_input, process, open_secret),
    *(directory, loop, nothing),
)


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    yield make_ground(tmp_path)
    restrict(None)
    with contextlib.suppress(OSError):
        os.close(SPARE)


def at_the_opening(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None], *, after: bool = False) -> None:
    """Make the first os.open() of a clip happen right after `act`, or right before it."""
    real, left = os.open, [act]

    def opened(path: object, flags: int, *rest: object, **names: object) -> int:
        mine = left.pop() if left and str(path).endswith("clip.yuv") else None
        if mine is not None and not after:
            mine()
        fd: int = real(path, flags, *rest, **names)  # type: ignore[call-overload]
        if mine is not None and after:
            mine()
        return fd

    monkeypatch.setattr(os, "open", opened)


@pytest.mark.parametrize("swap", SWAPS, ids=lambda swap: swap.__name__)
def test_between_check_and_open(ground: Ground, monkeypatch: pytest.MonkeyPatch, swap: Swap) -> None:
    at_the_opening(monkeypatch, lambda: swap(ground))
    before = open_descriptors()
    with pytest.raises(PathError) as caught:
        ground.paths.check(str(ground.root / "sub/clip.yuv"))
    assert open_descriptors() - {str(SPARE)} == before
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("swap", SWAPS, ids=lambda swap: swap.__name__)
def test_between_the_server_and_its_worker(ground: Ground, swap: Swap) -> None:
    checked = ground.paths.check(str(ground.root / "sub/clip.yuv"))
    swap(ground)
    restrict(guard_for(ground.paths))
    before = open_descriptors()
    for attempt in (
        lambda: open_local(checked),
        lambda: open_video(checked, **GEOMETRY),  # type: ignore[arg-type]
        lambda: open_video(checked),
        lambda: ContainerReader(checked),
        lambda: load_model(f"path={checked}"),
    ):
        # What can't be opened at all has its usual sentence; the guard refuses the rest.
        with pytest.raises((AcuityError, OSError) if swap in (loop, nothing) else PathError):
            attempt()
    assert open_descriptors() == before


def test_a_root_that_is_replaced_before_a_worker_starts(ground: Ground) -> None:
    """Workers get the roots as the server resolved them, and don't resolve them again."""
    replace(ground.root, ground.outside)
    restrict(guard_for(AllowedPaths(ground.paths.roots, resolved=True)))
    for path in (ground.root / "clip.yuv", ground.secret):
        with pytest.raises(PathError, match="not under"):
            open_local(path)
