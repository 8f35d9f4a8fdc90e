"""axe, the accessibility checker, fetched once into a folder that `make clean` removes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

_VERSION: Final = "4.14.0"
_FOLDER: Final = Path(__file__).resolve().parents[3] / "build" / "axe"
# Contrast is checked against what is drawn, so the page has to be in a window; all of WCAG 2 A and AA.
_RUN = """axe.run({
  runOnly: %s,
  resultTypes: ['violations'],
}).then((found) => found.violations.map(
  (one) => one.id + ': ' + one.nodes.map((node) => node.html.slice(0, 160)).join(' | ')))"""
RUN: Final = _RUN % ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
RUN_CONTRAST: Final = _RUN % "{type: 'rule', values: ['color-contrast']}"


def axe_script() -> str:
    """The checker's text; the test is skipped where it can't be fetched."""
    script = _FOLDER / "node_modules" / "axe-core" / "axe.min.js"
    if not script.is_file():
        if shutil.which("npm") is None:
            pytest.skip("npm is not installed here, so axe can't be fetched")
        quiet = ["--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"]
        npm = ["npm", "install", "--prefix", str(_FOLDER), *quiet, f"axe-core@{_VERSION}"]
        _FOLDER.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(npm, capture_output=True, text=True, timeout=120)
        if done.returncode:
            pytest.skip(f"npm could not fetch axe-core: {done.stderr.strip()[-300:]}")
    return script.read_text(encoding="utf-8")
