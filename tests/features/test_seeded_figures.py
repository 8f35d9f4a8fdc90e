"""libvmaf's figures of small pictures by formula: those of seeded.py, and float_adm's and float_vif's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import float_figures
from drawn_pictures import made_pairs
from float_figures import close, run
from seeded import figures, pair, same

# An extractor, the width, height, layout and depth of a pair, and what libvmaf says about it.
FIGURES = json.loads(Path(__file__).with_name("seeded_figures.json").read_text())


@pytest.mark.parametrize(("name", "case", "expected"), FIGURES, ids=str)
def test_figures_are_libvmafs(
    name: str, case: tuple[int, int, str, int], expected: dict[str, float], instruction_set: str
) -> None:
    # libvmaf's reader rounds chroma down at odd sizes, which matters to ciede.
    pictures = pair(*case, round_up=name != "ciede")
    found = figures(name, *pictures, instruction_set=instruction_set)
    assert list(found) == list(expected)
    # Functions of the C library differ in their last digits, and moments need none of them.
    within = 0.0 if name == "float_moment" else 1e-9
    assert same(list(found.values()), list(expected.values()), within)


# The figures of the second frame: of patterns, without adm3, and with options, where some come first.
KEYS = {
    "float_adm": ["adm2", "aim", "adm3", *(f"adm_scale{scale}" for scale in range(4))],
    "float_vif": [f"vif_scale{scale}" for scale in range(4)],
}
FLOAT = {name: tuple(float_figures.FIGURES[name].values()) for name in KEYS}
PATTERNS = [(name, *row) for name, (rows, _) in FLOAT.items() for row in rows]
OPTIONS = [(name, *row) for name, (_, options) in FLOAT.items() for row in options.items()]


@pytest.mark.parametrize(("name", "case", "expected"), PATTERNS, ids=str)
def test_figures_in_single_precision_are_libvmafs(
    name: str, case: tuple[str, int, int, int], expected: list[float], instruction_set: str
) -> None:
    found = run(name, made_pairs(*case, "444"), instruction_set)
    assert list(found) == KEYS[name]
    if name == "float_adm":
        adm2, aim, *scales = expected
        expected = [adm2, aim, (adm2 + 1 - aim) / 2, *scales]
    close([column[1] for column in found.values()], expected)


@pytest.mark.parametrize(("name", "options", "expected"), OPTIONS)
def test_options_do_what_libvmafs_do(
    name: str, options: str, expected: list[float], instruction_set: str
) -> None:
    found = run(f"{name}={options}", made_pairs("detail"), instruction_set)
    close([column[1] for column in found.values()][: len(expected)], expected)


@pytest.mark.parametrize(
    ("name", "first", "expected"),
    [
        ("adm", 7, (0.9809174950, 93.80978012, 95.63473034, 46.80063629, 46.72966003)),
        ("vif", 4, (0.7018795532, 21015.76071, 29942.11844, 279.0990906, 279.5503235)),
    ],
)
def test_debug_gives_the_fractions_too(name: str, first: int, expected: tuple[float, ...]) -> None:
    found = run(f"float_{name}=debug=true", made_pairs("detail"))
    keys = [name, *(f"{name}_{part}" for part in ("num", "den", "num_scale0", "den_scale0"))]
    assert list(found)[first : first + 5] == keys
    keys[3:] = [f"{name}_num_scale3", f"{name}_den_scale3"]
    close([found[key][1] for key in keys], expected)
