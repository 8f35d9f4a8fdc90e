"""Signatures of models, by a Sigstore of the test's own: what is accepted, each part that may be wrong."""

from __future__ import annotations

import base64
import builtins
import functools
import json
import operator
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest

from acuity.errors import MissingExtra, ModelError
from acuity.tiny.load import load_tiny_model
from acuity.tiny.options import TinyOptions
from acuity.tiny.signature import verify_signature
from rated_tables import linear
from signing_room import SIGNER, Sigstore, base64_of, write_json

ELSE = "https://github.com/somebody/else/.github/workflows/release.yml@refs/heads/main"


@pytest.fixture(scope="module")
def sigstore() -> Sigstore:
    return Sigstore()


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """No name is looked up and nothing connected to, whatever happens."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture
def model(tmp_path: Path, sigstore: Sigstore, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A signed model, and the settings that accept it."""
    root = write_json(tmp_path / "root.json", sigstore.trusted_root())
    monkeypatch.setenv("ACUITY_SIGSTORE_TRUST_ROOT", str(root))
    monkeypatch.setenv("ACUITY_SIGSTORE_IDENTITY", SIGNER)
    monkeypatch.delenv("ACUITY_SIGSTORE_ISSUER", raising=False)
    path = linear(tmp_path / "model.onnx", (1.0,) * 6)
    write_json(bundle_of(path), sigstore.sign(path.read_bytes()))
    return path


def test_acuitys_own_models_are_not_signed() -> None:
    """And no setting changes that, so none is asked for."""
    with pytest.raises(ModelError) as caught:
        load_tiny_model("acuity_fr_v1", TinyOptions(verify=True))
    assert str(caught.value) == (
        "'acuity_fr_v1' comes with Acuity and is not signed, so its signature can't be checked: leave out "
        "tiny_model_verify; its SHA-256 is checked in every run"
    )


def bundle_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.sigstore.json")


def signer_of(path: Path) -> str:
    return verify_signature(path, path.read_bytes())


def refused(path: Path, data: bytes | None = None) -> str:
    with pytest.raises(ModelError) as caught:
        verify_signature(path, data or path.read_bytes())
    sentence = str(caught.value)
    assert "\n" not in sentence
    return sentence


def test_a_model_is_loaded_only_with_its_signature(model: Path) -> None:
    loaded = load_tiny_model(model, TinyOptions(verify=True))
    assert loaded.signer == SIGNER
    bundle_of(model).unlink()
    assert load_tiny_model(model).signer is None
    with pytest.raises(ModelError, match="is not signed"):
        load_tiny_model(model, TinyOptions(verify=True))


def test_bundles_by_other_names(model: Path, tmp_path: Path) -> None:
    elsewhere = bundle_of(model).rename(tmp_path / "other.json")
    assert "is not signed: there is no 'model.onnx.sigstore.json' beside it" in refused(model)
    entry = {"id": "model", "kind": "fr", "onnx": model.name, "sha256": "0" * 64}
    registry = {"schema_version": 1, "models": [entry]}
    entry["sigstore_bundle"] = "other.json"
    write_json(tmp_path / "registry.json", registry)
    assert signer_of(model) == SIGNER
    entry["sigstore_bundle"] = "../x"
    write_json(tmp_path / "registry.json", registry)
    assert "is no name of a file beside the registry" in refused(model)
    (tmp_path / "registry.json").unlink()
    elsewhere.rename(tmp_path / "model.onnx.sigstore")
    assert signer_of(model) == SIGNER


def test_a_sidecar_must_be_signed_too(model: Path, sigstore: Sigstore) -> None:
    sidecar = write_json(model.with_suffix(".json"), {"feature_mean": [0] * 6, "feature_std": [1] * 6})
    assert "model.json' is not signed" in refused(model)
    write_json(bundle_of(sidecar), sigstore.sign(sidecar.read_bytes()))
    assert signer_of(model) == SIGNER
    sidecar.write_text(json.dumps({"feature_mean": [5] * 6, "feature_std": [1] * 6}))
    assert "the signature of" in refused(model)
    write_json(bundle_of(sidecar), sigstore.sign(sidecar.read_bytes(), ELSE))
    assert "SANs do not match" in refused(model)


def test_a_changed_model(model: Path) -> None:
    changed = model.read_bytes() + b"\0"
    assert "Bundle message digest mismatch" in refused(model, data=changed)
    model.write_bytes(changed)
    assert "is not valid" in refused(model)


@pytest.mark.parametrize("identity", ["", "   "])
def test_nobody_to_expect(model: Path, monkeypatch: pytest.MonkeyPatch, identity: str) -> None:
    monkeypatch.setenv("ACUITY_SIGSTORE_IDENTITY", identity)
    assert "set ACUITY_SIGSTORE_IDENTITY to the signer" in refused(model)
    monkeypatch.delenv("ACUITY_SIGSTORE_IDENTITY")
    assert "set ACUITY_SIGSTORE_IDENTITY to the signer" in refused(model)


def test_another_signer_or_issuer(model: Path, sigstore: Sigstore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACUITY_SIGSTORE_IDENTITY", ELSE)
    sentence = refused(model)
    assert SIGNER in sentence
    assert ELSE in sentence
    monkeypatch.setenv("ACUITY_SIGSTORE_IDENTITY", f"{ELSE} {SIGNER}")
    assert signer_of(model) == SIGNER
    monkeypatch.setenv("ACUITY_SIGSTORE_ISSUER", "https://accounts.example.com")
    assert "OIDCIssuer does not match" in refused(model)
    write_json(bundle_of(model), sigstore.sign(model.read_bytes(), issuer="https://accounts.example.com"))
    assert signer_of(model) == SIGNER


def flipped(text: str) -> str:
    """Other bytes of the same length, in base64."""
    raw = bytearray(base64.b64decode(text))
    raw[-1] ^= 1
    return base64_of(bytes(raw))


SEVERED = "is no Sigstore bundle that can be used: "
ALTERED: dict[str, tuple[tuple[Any, ...], Callable[[Any], Any], str]] = {
    "the signature": (
        ("messageSignature", "signature"),
        flipped,
        "Signature is invalid for input",
    ),
    "the certificate": (("verificationMaterial", "certificate", "rawBytes"), flipped, "is not valid: "),
    "the log": (("verificationMaterial", "tlogEntries", 0, "canonicalizedBody"), flipped, "is not valid: "),
    "no entry": (("verificationMaterial", "tlogEntries"), lambda _: [], SEVERED),
    "no signature": (("messageSignature",), lambda _: None, SEVERED),
}


@pytest.mark.parametrize("what", ALTERED)
def test_every_part_counts(model: Path, what: str) -> None:
    bundle: Any = json.loads(bundle_of(model).read_text())
    (*path, last), change, reason = ALTERED[what]
    holder = functools.reduce(operator.getitem, path, bundle)
    holder[last] = change(holder[last])
    write_json(bundle_of(model), bundle)
    assert reason in refused(model)


def test_other_roots_of_trust(
    model: Path, tmp_path: Path, sigstore: Sigstore, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "root.json"
    write_json(root, Sigstore().trusted_root())
    assert "is not valid" in refused(model)
    for content in ("", "{}", "no JSON"):
        root.write_text(content)
        assert "can't be used" in refused(model)
        assert "give another trusted_root.json" in refused(model)
    root.unlink()
    assert "can't be read: No such file or directory" in refused(model)
    monkeypatch.delenv("ACUITY_SIGSTORE_TRUST_ROOT")  # sigstore.dev's own: it knows nothing of ours
    assert "is not valid" in refused(model)


def test_without_the_package(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = builtins.__import__

    def without(name: str, *more: Any) -> Any:
        if name.startswith("sigstore"):
            raise ImportError(name)
        return known(name, *more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match=r"needs the extra 'verify': pip install 'acuity-vmaf\[verify\]'"):
        signer_of(model)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "Invalid JSON"),
        ("garbage", "Invalid JSON"),
        ("[1]", "Input should be an object"),
        ("{}", "mediaType: Field required"),
        ("{" * 5000, "Invalid JSON"),
    ],
)
def test_files_that_are_no_bundles(model: Path, content: str, words: str) -> None:
    bundle_of(model).write_text(content)
    assert "is no Sigstore bundle that can be used: " in refused(model)
    assert words in refused(model)
    assert "; fetch the bundle again, or sign 'model.onnx' again" in refused(model)


def test_weights_elsewhere_are_refused_before_signing(model: Path) -> None:
    network = onnx.load(model)
    onnx.save(network, model, save_as_external_data=True, location="w.bin", size_threshold=0)
    bundle_of(model).unlink()
    with pytest.raises(ModelError, match="covers that file alone, and its weights are in w"):
        load_tiny_model(model, TinyOptions(verify=True))
