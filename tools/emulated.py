"""A Python for another processor, run by QEMU's user mode, so that wheels for it can be tried here.

Debian's packages of it are unpacked into a folder; nothing is installed, and apt's lists stay as they are.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

_DEBIAN: Final = {"x86_64": "amd64", "aarch64": "arm64"}
# What Python and the wheels of numpy and PyAV load; {version} is Python's.
_PACKAGES: Final = (
    "python{version}-minimal",
    "libpython{version}-minimal",
    "libpython{version}-stdlib",
    "libc6",
    "libgcc-s1",
    "libstdc++6",
    "libexpat1",
    "libffi8",
    "zlib1g",
)


class NoEmulation(Exception):
    """This machine can't run another processor's Python; the message says what is missing."""


def emulated_python(processor: str, version: str, folder: Path) -> list[str]:
    """The command that runs Python `version`, such as 3.11, of that processor; its files go into `folder`."""
    emulator = shutil.which(f"qemu-{processor}")
    if emulator is None:
        raise NoEmulation(f"there is no qemu-{processor} (Debian's qemu-user)")
    if shutil.which("apt-get") is None:
        raise NoEmulation("a Python for it comes from Debian's packages, and there is no apt-get")
    root = folder / "root"
    for package in _download(processor, version, folder):
        subprocess.run(["dpkg", "-x", package, root], check=True)
    return [emulator, "-L", str(root), str(root / "usr" / "bin" / f"python{version}")]


def install(wheel: Path, processor: str, version: str, target: Path) -> None:
    """Unpacks a wheel and what it depends on, as that processor's pip would choose it."""
    glibcs = [f"--platform=manylinux_2_{minor}_{processor}" for minor in range(17, 29)]
    which = [f"--platform=manylinux2014_{processor}", *glibcs, f"--python-version={version}"]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--only-binary=:all:", f"--target={target}"]
    subprocess.run([*pip, *which, str(wheel)], check=True)


def _download(processor: str, version: str, folder: Path) -> list[Path]:
    settings = {
        "APT::Architecture": _DEBIAN[processor],
        "APT::Architectures": _DEBIAN[processor],
        "APT::Sandbox::User": "root",  # the folder is ours alone
        "Dir::State": folder / "state",
        "Dir::State::status": "/dev/null",
        "Dir::Cache": folder / "cache",
    }
    apt = ["apt-get", "-qq", *(f"-o{name}={value}" for name, value in settings.items())]
    for place in ("state/lists/partial", "cache/archives/partial", "packages"):
        (folder / place).mkdir(parents=True)
    names = [name.format(version=version) for name in _PACKAGES]
    for command in (["update"], ["download", *names]):
        ran = subprocess.run([*apt, *command], cwd=folder / "packages", capture_output=True, text=True)
        if ran.returncode != 0:
            raise NoEmulation(f"apt-get {command[0]}: {ran.stderr.strip()}")
    return sorted((folder / "packages").glob("*.deb"))
