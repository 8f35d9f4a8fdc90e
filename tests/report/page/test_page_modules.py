"""The page's own arithmetic in Node: columns unpacked, ranges of any stretch, figures as text."""

from __future__ import annotations

import json
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acuity.report.page.bundle import bundle, bundled
from acuity.report.page.packing import pack, pack_ranges

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed here")

STATIC = Path(str(files("acuity.report").joinpath("static")))


def run(imports: str, body: str, given: Any = None) -> Any:
    """What a few lines of script return, in JSON."""
    script = (
        "".join(f"import {{ {names} }} from '{(STATIC / f'{module}.js').as_uri()}';\n"
                for module, names in (part.split(": ") for part in imports.split("; ")))
        + f"const given = {json.dumps(given)};\n"
        + "const plain = (list) => Array.from(list, (v) => (v === v ? v : null));\n"
        + f"console.log(JSON.stringify(await (async () => {{ {body} }})()));"
    )  # fmt: skip
    node = ["node", "--no-warnings", "--input-type=module"]
    done = subprocess.run(node, input=script, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_columns_come_out_as_they_went_in() -> None:
    random = np.random.default_rng(7)
    for values, decimals in (
        (np.round(random.uniform(-1e6, 1e6, 500), 3), 3),
        (np.array([0.0, 2.0**50, -(2.0**50), np.nan, 1.0]), 0),
        (np.array([np.nan, np.nan, 97.123456, np.nan]), 6),
        (np.zeros(0), 2),
    ):
        found = run("packed: unpack", "return plain((await unpack(given)).values)", pack(values, decimals))
        assert found == [None if np.isnan(value) else value for value in values.tolist()]


def test_ranges_come_out_with_gaps() -> None:
    values = np.concatenate([np.arange(25.0), np.full(10, np.nan), [3.5, 1.25]])
    body = "const f = await unpack(given); return [plain(f.low), plain(f.high), f.bucket, f.rows]"
    low, high, bucket, rows = run("packed: unpack", body, pack_ranges(values, 2, 10))
    assert (bucket, rows) == (10, 37)
    assert low == [0, 10, 20, 1.25]
    assert high == [9, 19, 24, 3.5]
    low, high, *_ = run("packed: unpack", body, pack_ranges(np.array([1.0, 2, np.nan, np.nan, 5, 6]), 0, 2))
    assert (low, high) == ([1, None, 5], [2, None, 6])


def test_any_stretch_has_its_lowest_highest_and_mean() -> None:
    random = np.random.default_rng(5)
    values = random.normal(80, 9, 2311)
    values[random.random(2311) < 0.05] = np.nan
    stretches = [sorted(random.integers(0, 2312, 2).tolist()) for _ in range(300)] + [[0, 2311], [7, 7]]
    given = {"values": [None if np.isnan(v) else v for v in values.tolist()], "stretches": stretches}
    body = """const all = Float64Array.from(given.values, (v) => v ?? NaN);
      const pyramid = new Pyramid(all.subarray(0, 100));
      for (let at = 100; at < all.length; at += 37) pyramid.append(all.subarray(at, at + 37));
      return given.stretches.map(([from, to]) => pyramid.over(from, to))
        .map((f) => [f.low, f.high, f.sum, f.known]);"""
    for (start, end), (low, high, total, known) in zip(
        stretches, run("pyramid: Pyramid", body, given), strict=True
    ):
        part = values[start:end][~np.isnan(values[start:end])]
        assert known == len(part)
        if known:
            assert (low, high) == (part.min(), part.max())
            assert total == pytest.approx(part.sum())


def test_columns_of_pixels_leave_nothing_out() -> None:
    values = np.random.default_rng(2).normal(50, 20, 1003)
    body = """const f = new Pyramid(Float64Array.from(given)).range(0, given.length, 97);
      return [plain(f.low), plain(f.high)];"""
    low, high = run("pyramid: Pyramid", body, values.tolist())
    assert (min(low), max(high)) == (values.min(), values.max())
    step = len(values) / 97
    for column in range(97):
        begin, end = int(column * step), int((column + 1) * step)
        assert low[column] == values[begin : end + 1].min()  # up to the first of the next
        assert high[column] == values[begin : end + 1].max()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("number(43.615, 2)", f"{43.615:.2f}"),
        ("number(-0.001, 2)", "0.00"),
        ("number(NaN, 2)", "\u2013"),
        ("figure(43.613578, 2, 6)", "43.61"),
        ("figure(43.615, 2, 3)", "43.615"),  # 43.6146 and 43.6154 both were stored so
        ("figure(43.615, 2, 6)", "43.615000"),
        ("figure(43.61, 4, 2)", "43.61"),
        ("clock(59.9996, 3)", "1:00.000"),
        ("clock(7.3, 3)", "0:07.300"),
        ("clock(5666.6, 0)", "1:34:27"),
        ("clock(-0.5, 1)", "\u22120:00.5"),
        ("count(170000)", "170,000"),
    ],
)
def test_figures_as_text(call: str, text: str) -> None:
    assert run("format: number, figure, clock, count", f"return {call}") == text


def test_imports_exports_comments_and_indents_are_dropped() -> None:
    one = "// Greets.\n\nexport function hello(name) {\n  // kindly\n  return `hello ${name}`; // twice\n}\n"
    two = "import { hello } from './one.js';\n\nexport const said = hello('you');\n"
    assert bundle([("one.js", one), ("two.js", two)]) == (
        "// one.js\nfunction hello(name) {\nreturn `hello ${name}`; // twice\n}\n\n"
        "// two.js\nconst said = hello('you');\n"
    )


def test_the_pages_own_files_stay_small() -> None:
    assert len(bundled("page.js").encode()) < 81_000
