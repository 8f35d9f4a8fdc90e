"""Writes the golden digits of `acuity selftest` anew, after asking a reference `vmaf` for the same figures:

    export VMAF_REFERENCE_BIN=/path/to/vmaf PYTHONPATH=tests
    .venv/bin/python tests/scoring/golden_digits.py [NAME ...] [--write]

What is installed computes them. Without --write it only says what would change. With names only those
extractors and models are made anew; one that libvmaf lacks needs no libvmaf then. A figure that isn't
libvmaf's is refused. The program should print all digits; libvmaf's own prints six decimals. Of models that
no package carries, those in a folder of ACUITY_MODEL_PATH are made anew, and the others stay as they are.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Any, TypeAlias

from acuity.devices import open_backend
from acuity.features import EXTRACTORS
from acuity.models.sources import PACKAGE_SOURCE, model_files
from acuity.scoring.libvmaf import Libvmaf, find_libvmaf
from acuity.scoring.selftest import CLIPS, all_features, load, measure
from acuity.tiny.files import shipped_models
from tolerances import tolerance

GOLDEN = Path(__file__).parents[2] / "src" / "acuity" / "scoring" / "golden_digits.json"
SIX_DECIMALS = 5.1e-7
Entry: TypeAlias = dict[str, Any]
Key: TypeAlias = tuple[str, str]  # kind and name


def expected() -> list[tuple[str, str, bool]]:
    """What the table has to have: kind, name, and whether it comes with Acuity."""
    files = model_files()
    return [
        *(("extractor", name, True) for name, kind in EXTRACTORS.items() if kind.features),
        *(("model", name, files[name][1] == PACKAGE_SOURCE) for name in sorted(files)),
        *(("tiny model", file.name, True) for file in shipped_models()),
    ]


def entry(kind: str, name: str, required: bool, clips: Sequence[Any], libvmaf: Libvmaf | None) -> Entry:
    """The entry of one extractor or model, computed alone by the plain kernels."""
    devices = open_backend("cpu", instruction_set="plain").devices
    models = [] if kind == "extractor" else [load(kind, name)]
    features = [name] if kind == "extractor" else []
    found = [measure(pairs, features, models, devices) for pairs in clips]
    names = [output for model in models for output in model.output_names()]
    # The first one is shown, so a short one.
    names = names or sorted(found[0], key=lambda key: key.startswith("VMAF_"))
    about = {"kind": kind, "name": name, "libvmaf": None, "required": required}
    if kind != "tiny model" and libvmaf is not None:
        theirs = [
            libvmaf.figures(pairs, {one: all_features(one) for one in features}, [name] if models else [])
            for pairs in clips
        ]
        check(name, names if models else [], found, theirs)
        about["libvmaf"] = libvmaf.version if set(names) <= set(theirs[0]) else None
        missing = set(names) - set(theirs[0])
        print(f"{name}: {len(names)} figures, {len(missing)} not in libvmaf {sorted(missing)[:4]}")
    elif kind == "extractor":
        print(f"{name}: {len(names)} figures, libvmaf wasn't asked")
    return {**about, "figures": {name: [figures[name] for figures in found] for name in names}}


def check(name: str, scores: list[str], ours: list[dict[str, float]], theirs: list[dict[str, float]]) -> None:
    for clip, found, reference in zip(CLIPS, ours, theirs, strict=True):
        for key in found.keys() & reference.keys():
            off = abs(found[key] - reference[key])
            if off > 0:
                print(f"  {clip.name}: {key} {found[key]!r}, libvmaf {reference[key]!r}, off {off:.1e}")
            if off > max(tolerance(key, set(scores)), SIX_DECIMALS):
                raise SystemExit(f"{name}: {key} isn't libvmaf's, so the table is not written")


def made(names: Set[str], stored: Mapping[Key, Entry], libvmaf: Libvmaf | None) -> list[Entry]:
    """All entries: those of these names, or of everything without any, made anew."""
    wanted = [one for one in expected() if not names or one[1] in names]
    if unknown := names - {name for _, name, _ in wanted}:
        raise SystemExit(f"no extractor or model has the name {sorted(unknown)[0]}")
    theirs = [name for kind, name, _ in wanted if _is_libvmafs(stored.get((kind, name)), kind)]
    if libvmaf is None and (theirs or not names):
        raise SystemExit("name libvmaf's vmaf in VMAF_REFERENCE_BIN: golden digits are libvmaf's too")
    clips = [clip.pairs() for clip in CLIPS]
    kept = {key: one for key, one in stored.items() if names or not one["required"]}
    anew = {one[:2]: entry(*one, clips, libvmaf) for one in wanted}
    return [one for _, one in sorted((kept | anew).items())]


def _is_libvmafs(stored: Entry | None, kind: str) -> bool:
    return kind == "model" if stored is None else stored["libvmaf"] is not None


def main() -> None:
    document = json.loads(GOLDEN.read_text())
    stored = {(one["kind"], one["name"]): one for one in document["entries"]}
    entries = made(set(sys.argv[1:]) - {"--write"}, stored, find_libvmaf())
    lines = []
    for one in entries:
        figures = ",\n".join(f"   {json.dumps(k)}: {json.dumps(v)}" for k, v in one.pop("figures").items())
        lines.append(f'  {json.dumps(one)[:-1]}, "figures": {{\n{figures}}}}}')
    text = '{"entries": [\n' + ",\n".join(lines) + "]}\n"
    print("the same" if GOLDEN.read_text() == text else "changed")
    if "--write" in sys.argv:
        GOLDEN.write_text(text)


if __name__ == "__main__":
    main()
