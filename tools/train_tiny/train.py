"""Trains the tiny models that Acuity ships, and writes them with their sidecars and held-out figures.

    python tools/train_tiny/train.py          # or: make train-tiny

Clips are made, encoded and scored first, which takes most of the time; they are kept in build/tiny.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import onnx

import feature_model
import picture_model
from baselines import fit_baselines
from card import table, write_tables
from contents import SHEETS, SPLITS
from distortions import PRESETS, RANGES, RUNGS
from held_out import judge
from measured import FEATURES, MODEL, SEEN, Clip, measure_splits, versions
from model_files import truth, write_model, write_registry
from network import Training
from scenes import FRAMES, SHEET_SIDE

_NOTES: Final = {
    feature_model.NAME: "VMAF v0.6.1 of a frame from its six features",
    picture_model.NAME: "VMAF v0.6.1 of a frame from its luma alone, without a reference",
}

# How far the scores can be trusted, for every report: by the held-out figures.
_LIMITS: Final = {
    feature_model.NAME: "an approximation of VMAF v0.6.1, usually within half a point of it; "
    "where digits count, use VMAF",
    picture_model.NAME: "an estimate of VMAF v0.6.1 from luma alone, off by 15 to 20 points on "
    "average and by 40 on some contents: use it only to rank encodes of one source",
}
_SMALLEST: Final = 32  # side of the pictures that the statistics of acuity_nr_v1 are meant for


def main() -> None:
    clips = measure_splits(SPLITS)
    _train_feature_model(clips)
    _train_picture_model(clips)
    write_registry(_NOTES)


def _train_feature_model(clips: dict[str, list[Clip]]) -> None:
    name = feature_model.NAME
    model = feature_model.train_feature_model(clips["train"], clips["val"])
    sidecar: dict[str, Any] = {
        "id": name,
        "kind": "fr",
        "notes": _NOTES[name],
        "limits": _LIMITS[name],
        "input_name": feature_model.INPUT,
        "output_name": feature_model.OUTPUT,
        "input_shape": ["frames", len(FEATURES)],
        "feature_order": list(FEATURES),
        "feature_mean": model.mean.tolist(),
        "feature_std": model.std.tolist(),
        "training": {**_training(clips, feature_model.HOW), "seed": feature_model.SEED, "networks": 1},
    }
    _finish(model.graph(), sidecar, clips)


def _train_picture_model(clips: dict[str, list[Clip]]) -> None:
    name = picture_model.NAME
    statistics = picture_model.Statistics()
    rows = {split: statistics(clips[split]) for split in ("train", "val")}
    scores = {split: np.concatenate([clip.seen_vmaf for clip in clips[split]]) for split in rows}
    model = picture_model.train_picture_model(rows["train"], scores["train"], rows["val"], scores["val"])
    sidecar: dict[str, Any] = {
        "id": name,
        "kind": "nr",
        "notes": _NOTES[name],
        "limits": _LIMITS[name],
        "min_deviation": 0.008,
        "max_roughness": 0.9,
        "min_width": _SMALLEST,
        "min_height": _SMALLEST,
        "input_name": picture_model.INPUT,
        "output_name": picture_model.OUTPUT,
        "input_shape": [1, 1, "height", "width"],
        "norm_mean": [0.0],
        "norm_std": [1.0],
        "training": {
            **_training(clips, picture_model.HOW),
            "seed": picture_model.SEED,
            "networks": picture_model.NETWORKS,
            "frames_of_a_clip": list(SEEN),
        },
    }
    _finish(model.graph(), sidecar, clips)


def _training(clips: dict[str, list[Clip]], how: Training) -> dict[str, Any]:
    """What the training depends on."""
    return {
        "script": "tools/train_tiny/train.py",
        "target": MODEL,
        "contents": {
            split: len({clip.content.name for clip in clips[split]}) for split in ("train", "val", "test")
        },
        "clips": {split: len(clips[split]) for split in ("train", "val", "test")},
        "frames_each": FRAMES,
        "scenes_in_a_sheet": SHEET_SIDE**2,
        "sheets": SHEETS,
        "encoders": versions(),
        "crf": {encoder: list(ends) for encoder, ends in RANGES.items()},
        "presets": sorted(set(PRESETS)),
        "rungs": sorted({round(rung, 3) for rung in RUNGS}),
        "hidden": list(how.hidden),
        "rounds": how.rounds,
        "batch": how.batch,
        "learning_rate": how.rate,
        "weight_decay": how.decay,
        "input_noise": how.noise,
    }


def _finish(model: onnx.ModelProto, sidecar: dict[str, Any], clips: dict[str, list[Clip]]) -> None:
    """Write the model, judge the written file, and write the figures beside it."""
    name = sidecar["id"]
    fitted = fit_baselines(name, clips["train"], [truth(name, clip) for clip in clips["train"]])
    write_model(model, sidecar)
    judged = judge(name, clips, fitted)
    write_model(model, {**sidecar, "baselines": fitted, "held_out": judged})
    write_tables(name, judged)
    print(f"{name}\n{table(judged)}")


if __name__ == "__main__":
    main()
