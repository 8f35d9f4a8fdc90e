"""Model files: an ONNX file, its sidecar and its entry in the registry, and how the shipped ones are run."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx

import picture_model
from contents import ROOT
from graph import OPSET
from measured import FEATURES, Clip
from network import Floats

FOLDER: Final = ROOT / "src" / "acuity" / "tiny" / "models"
LICENCE: Final = "BSD-2-Clause-Patent"


def write_model(model: onnx.ModelProto, sidecar: dict[str, Any]) -> None:
    """Write the ONNX file and its sidecar."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    name = sidecar["id"]
    data = model.SerializeToString()
    (FOLDER / f"{name}.onnx").write_bytes(data)
    about = {
        "id": name,
        "name": name,
        "kind": sidecar["kind"],
        "onnx": f"{name}.onnx",
        "opset": OPSET,
        "sha256": hashlib.sha256(data).hexdigest(),
        "license": LICENCE,
        **{key: value for key, value in sidecar.items() if key not in ("id", "kind")},
    }
    _write(FOLDER / f"{name}.json", about)


def write_registry(notes: dict[str, str]) -> None:
    """List the models of the folder."""
    entries = []
    for name, note in notes.items():
        about = read_sidecar(name)
        kept = {key: about[key] for key in ("id", "kind", "onnx", "opset", "sha256", "license")}
        entries.append({**kept, "notes": note})
    _write(FOLDER / "registry.json", {"schema_version": 1, "models": entries})


def read_sidecar(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return document


def write_sidecar(name: str, about: dict[str, Any]) -> None:
    _write(FOLDER / f"{name}.json", about)


def predict(name: str, clips: list[Clip]) -> list[Floats]:
    """The scores that a shipped model gives to the frames of each clip."""
    about = read_sidecar(name)
    data = (FOLDER / about["onnx"]).read_bytes()
    if hashlib.sha256(data).hexdigest() != about["sha256"]:
        raise SystemExit(f"{about['onnx']} is not the file that its sidecar describes: run 'make train-tiny'")
    session = picture_model.open_session(onnx.load_from_string(data))
    if about["kind"] == "nr":
        return [
            np.array(
                [session.run(None, {"luma": picture_model.as_input(p)})[0][0, 0] for p in clip.seen], float
            )
            for clip in clips
        ]
    assert about["feature_order"] == list(FEATURES)
    mean, std = np.array(about["feature_mean"]), np.array(about["feature_std"])
    return [
        session.run(None, {"features": ((clip.features - mean) / std).astype(np.float32)})[0][:, 0].astype(
            float
        )
        for clip in clips
    ]


def truth(name: str, clip: Clip) -> Floats:
    """The VMAF of the frames that predict() scores."""
    return clip.seen_vmaf if name == picture_model.NAME else clip.vmaf


def _write(path: Path, document: dict[str, Any]) -> None:
    path.write_text(json.dumps(document, indent=2) + "\n")
