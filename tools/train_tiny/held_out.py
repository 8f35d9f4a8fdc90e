"""Held-out figures: how shipped models agree with VMAF on contents that they never saw, by content."""

from __future__ import annotations

from typing import Any

import numpy as np

from agreement import Agreement
from baselines import say
from contents import HELD_OUT
from measured import Clip
from model_files import predict, truth
from network import Floats


def judge(name: str, clips: dict[str, list[Clip]], fitted: dict[str, Any]) -> dict[str, Any]:
    """The figures of a shipped model for each held-out split that there are clips of."""
    return {split: _figures(name, clips[split], fitted) for split in HELD_OUT if split in clips}


def _figures(name: str, clips: list[Clip], fitted: dict[str, Any]) -> dict[str, Any]:
    """The agreement over frames and over clips, that of the baselines, and that of each content."""
    true = [truth(name, clip) for clip in clips]
    found = predict(name, clips)
    contents = list(dict.fromkeys(clip.content.name for clip in clips))
    baselines = say(name, fitted, clips)
    return {
        "contents": len(contents),
        **_agreements(found, true),
        "baselines": {label: _agreements(said, true) for label, said in baselines.items()},
        "by_content": {content: _agreements(*_of(content, clips, found, true)) for content in contents},
    }


def _agreements(found: list[Floats], true: list[Floats]) -> dict[str, Any]:
    means = [np.array([scores.mean() for scores in part]) for part in (found, true)]
    return {
        "frames": Agreement.of(np.concatenate(found), np.concatenate(true)).document(),
        "clips": Agreement.of(*means).document(),
    }


def _of(
    content: str, clips: list[Clip], found: list[Floats], true: list[Floats]
) -> tuple[list[Floats], list[Floats]]:
    rows = [n for n, clip in enumerate(clips) if clip.content.name == content]
    return [found[n] for n in rows], [true[n] for n in rows]


def differences(said: Any, now: Any, tolerance: dict[str, float], where: str = "") -> list[str]:
    """Where two documents of figures differ by more than the tolerance of a figure's name."""
    if isinstance(said, dict) and isinstance(now, dict):
        keys = [*said, *(key for key in now if key not in said)]
        return [
            line
            for key in keys
            for line in differences(said.get(key), now.get(key), tolerance, f"{where} {key}".strip())
        ]
    if isinstance(said, int | float) and isinstance(now, int | float):
        allowed = tolerance.get(where.split()[-1], 0.0)
        return [] if abs(said - now) <= allowed else [f"{where}: {said} in the sidecar, {now} now"]
    return [] if said == now else [f"{where}: {said} in the sidecar, {now} now"]
