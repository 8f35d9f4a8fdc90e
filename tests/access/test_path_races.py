"""Whoever may change files under a root while they are checked gains nothing by it.

Each race is staged: the change happens at the very moment that hurts most, right before the opening.
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


def open_secret(ground: Ground) -> None:
    """A descriptor that the process has anyway."""
    fd = os.open(ground.secret, os.O_RDONLY)
    os.dup2(fd, SPARE)
    os.close(fd)
    replace(ground.root / "sub/clip.yuv", f"/proc/self/fd/{SPARE}")


def directory(ground: Ground) -> None:
    (ground.root / "sub/clip.yuv").unlink()
    (ground.root / "sub/clip.yuv").mkdir()


def nothing(ground: Ground) -> None:
    (ground.root / "sub/clip.yuv").unlink()


def links_to(name: str, target: str) -> Swap:
    return lambda ground: replace(ground.root / name, ground.text(target))


SWAPS: dict[str, Swap] = {
    "link": links_to("sub/clip.yuv", "{secret}"),
    "relative_link": links_to("sub/clip.yuv", "../../outside/secret.yuv"),
    "folder": links_to("sub", "{outside}"),
    "device": links_to("sub/clip.yuv", "/dev/zero"),
    "standard_input": links_to("sub/clip.yuv", "/dev/stdin"),
    "process": links_to("sub/clip.yuv", "/proc/self/environ"),
    "loop": links_to("sub/clip.yuv", "clip.yuv"),
    **{swap.__name__: swap for swap in (root, moved_folder, pipe, open_secret, directory, nothing)},
}


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    yield make_ground(tmp_path)
    restrict(None)
    with contextlib.suppress(OSError):
        os.close(SPARE)


def at_the_opening(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """Make the first os.open() of a clip happen right after `act`."""
    real, left = os.open, [act]

    def opened(path: object, *rest: object, **names: object) -> int:
        if left and str(path).endswith("clip.yuv"):
            left.pop()()
        return real(path, *rest, **names)  # type: ignore[call-overload]

    monkeypatch.setattr(os, "open", opened)


@pytest.mark.parametrize("swap", SWAPS)
def test_between_check_and_open(ground: Ground, monkeypatch: pytest.MonkeyPatch, swap: str) -> None:
    at_the_opening(monkeypatch, lambda: SWAPS[swap](ground))
    before = open_descriptors()
    with pytest.raises(PathError) as caught:
        ground.paths.check(str(ground.root / "sub/clip.yuv"))
    assert open_descriptors() - {str(SPARE)} == before
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("swap", SWAPS)
def test_between_the_server_and_its_worker(ground: Ground, swap: str) -> None:
    checked = ground.paths.check(str(ground.root / "sub/clip.yuv"))
    SWAPS[swap](ground)
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
        with pytest.raises((AcuityError, OSError) if swap in ("loop", "nothing") else PathError):
            attempt()
    assert open_descriptors() == before


def test_a_root_that_is_replaced_before_a_worker_starts(ground: Ground) -> None:
    """Workers get the roots as the server resolved them, and don't resolve them again."""
    replace(ground.root, ground.outside)
    restrict(guard_for(AllowedPaths(ground.paths.roots, resolved=True)))
    for path in (ground.root / "clip.yuv", ground.secret):
        with pytest.raises(PathError, match="not under"):
            open_local(path)
