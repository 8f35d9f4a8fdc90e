"""Folders for tests of path attacks: an allowed root, secrets outside it, and links and special files."""

from __future__ import annotations

import json
import os
import socket
from dataclasses import dataclass
from pathlib import Path

from acuity.access.paths import AllowedPaths
from small_model import small_document

CLIP = bytes(range(240)) * 2  # two raw frames of 16x10
SECRET = b"top secret" * 48
GEOMETRY = {"width": 16, "height": 10, "pixel_format": "420", "bitdepth": 8}


@dataclass(frozen=True)
class Ground:
    """`base` holds everything: `root` is allowed, `outside` and `evil` (root's name and more) are not."""

    base: Path
    root: Path
    outside: Path
    evil: Path
    home: Path
    secret: Path
    paths: AllowedPaths

    def text(self, template: str) -> str:
        """An attack with this world's folders in place of {root}, {outside}, …"""
        return template.format(
            base=self.base, root=self.root, outside=self.outside, evil=self.evil, secret=self.secret
        )


def make_ground(base: Path) -> Ground:
    base = base.resolve()
    root, outside, evil, home = (base / name for name in ("allowed", "outside", "allowed_evil", "home"))
    for folder in (root, root / "sub", outside, evil, home):
        folder.mkdir()
    for folder in (root, root / "sub"):
        (folder / "clip.yuv").write_bytes(CLIP)
        (folder / "model.json").write_text(json.dumps(small_document()))
    for folder in (outside, evil, home):
        (folder / "secret.yuv").write_bytes(SECRET)
        (folder / "secret.json").write_text(json.dumps(small_document()))
    (outside / "clip.yuv").write_bytes(SECRET)
    _make_links(root, outside)
    _make_special_files(root)
    return Ground(base, root, outside, evil, home, outside / "secret.yuv", AllowedPaths([root]))


def _make_links(root: Path, outside: Path) -> None:
    links = {
        "good.yuv": "clip.yuv",
        "good.json": "sub/model.json",
        "out.yuv": str(outside / "secret.yuv"),
        "out.json": str(outside / "secret.json"),
        "out_relative.yuv": "../outside/secret.yuv",
        "out_folder": str(outside),
        "up": "..",
        "slash": "/",
        "chain.yuv": "chain2.yuv",
        "chain2.yuv": "sub/../up/outside/secret.yuv",
        "loop": "loop",
        "ping": "pong",
        "pong": "ping",
        "dangling.yuv": str(outside / "not_there.yuv"),
        "dangling_inside.yuv": "not_there.yuv",
        "etc": "/etc",
        "passwd": "/etc/passwd",
        "zero": "/dev/zero",
        "null": "/dev/null",
        "stdin": "/dev/stdin",
        "environ": "/proc/self/environ",
        "proc": "/proc",
        "fds": "/proc/self/fd",
        "proc_root": "/proc/self/root",
        "proc_cwd": "/proc/self/cwd",
    }
    for name, target in links.items():
        (root / name).symlink_to(target)


def _make_special_files(root: Path) -> None:
    os.mkfifo(root / "pipe.yuv")
    os.mkfifo(root / "pipe.json")
    (root / "folder.yuv").mkdir()
    (root / "folder.json").mkdir()
    here = os.getcwd()
    os.chdir(root)  # a socket's address is short
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("socket.yuv")
    finally:
        os.chdir(here)
