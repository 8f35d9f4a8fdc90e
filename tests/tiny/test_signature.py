"""Signatures of models, by a Sigstore of the test's own: what is accepted, each part that may be wrong."""

from __future__ import annotations

import base64
import builtins
import datetime
import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest

from acuity.errors import MissingExtra, ModelError, PathError
from acuity.tiny.load import load_tiny_model
from acuity.tiny.options import TinyOptions
from acuity.tiny.signature import verify_signature
from rated_tables import linear
from signing_room import GITHUB, MINUTE, SIGNED, SIGNER, Sigstore, base64_of, write_json

ELSE = "https://github.com/somebody/else/.github/workflows/release.yml@refs/heads/main"
Bundle = dict[str, Any]


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
    monkeypatch.setenv(
        "ACUITY_SIGSTORE_TRUST_ROOT", str(write_json(tmp_path / "root.json", sigstore.trusted_root()))
    )
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


def refused(path: Path, **options: Any) -> str:
    with pytest.raises(ModelError) as caught:
        verify_signature(path, **options)
    sentence = str(caught.value)
    assert "\n" not in sentence
    return sentence


def test_a_valid_signature(model: Path) -> None:
    assert verify_signature(model) == SIGNER
    assert verify_signature(model, model.read_bytes()) == SIGNER


def test_a_model_is_loaded_only_with_its_signature(model: Path) -> None:
    loaded = load_tiny_model(model, TinyOptions(verify=True))
    assert loaded.signer == SIGNER
    bundle_of(model).unlink()
    assert load_tiny_model(model).signer is None
    with pytest.raises(ModelError, match="is not signed"):
        load_tiny_model(model, TinyOptions(verify=True))


def test_a_bundle_that_is_a_pipe(model: Path) -> None:
    bundle_of(model).unlink()
    os.mkfifo(bundle_of(model))
    with pytest.raises(PathError, match="is not a regular file: it is a pipe"):
        verify_signature(model)


def test_bundles_by_other_names(model: Path, tmp_path: Path) -> None:
    elsewhere = bundle_of(model).rename(tmp_path / "other.json")
    assert "is not signed: there is no 'model.onnx.sigstore.json' beside it" in refused(model)
    assert verify_signature(model, bundle=elsewhere) == SIGNER
    entry = {"id": "model", "kind": "fr", "onnx": model.name, "sha256": "0" * 64}
    registry = {"schema_version": 1, "models": [{**entry, "sigstore_bundle": "other.json"}]}
    write_json(tmp_path / "registry.json", registry)
    assert verify_signature(model) == SIGNER
    write_json(
        tmp_path / "registry.json", {"schema_version": 1, "models": [{**entry, "sigstore_bundle": "../x"}]}
    )
    assert "is no name of a file beside the registry" in refused(model)
    (tmp_path / "registry.json").unlink()
    elsewhere.rename(tmp_path / "model.onnx.sigstore")
    assert verify_signature(model) == SIGNER


def test_a_sidecar_must_be_signed_too(model: Path, sigstore: Sigstore) -> None:
    sidecar = write_json(model.with_suffix(".json"), {"feature_mean": [0] * 6, "feature_std": [1] * 6})
    assert "model.json' is not signed" in refused(model)
    write_json(bundle_of(sidecar), sigstore.sign(sidecar.read_bytes()))
    assert verify_signature(model) == SIGNER
    sidecar.write_text(json.dumps({"feature_mean": [5] * 6, "feature_std": [1] * 6}))
    assert "the signature of" in refused(model)
    write_json(bundle_of(sidecar), sigstore.sign(sidecar.read_bytes(), ELSE))
    assert "model.json' is not signed by whom it should be" in refused(model)


def test_the_sidecar_that_a_quantised_model_shares_must_be_signed_too(
    model: Path, sigstore: Sigstore
) -> None:
    quantised = model.rename(model.with_name("model.int8.onnx"))
    write_json(bundle_of(quantised), sigstore.sign(quantised.read_bytes()))
    assert verify_signature(quantised) == SIGNER
    shared = write_json(model.with_suffix(".json"), {"feature_mean": [0] * 6, "feature_std": [1] * 6})
    assert "model.json' is not signed" in refused(quantised)
    write_json(bundle_of(shared), sigstore.sign(shared.read_bytes()))
    assert verify_signature(quantised) == SIGNER


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
    assert f"the certificate is that of {SIGNER} with the issuer {GITHUB}" in sentence
    assert ELSE in sentence
    monkeypatch.setenv("ACUITY_SIGSTORE_IDENTITY", f"{ELSE} {SIGNER}")
    assert verify_signature(model) == SIGNER
    monkeypatch.setenv("ACUITY_SIGSTORE_ISSUER", "https://accounts.example.com")
    assert "is not signed by whom it should be" in refused(model)
    other = sigstore.sign(model.read_bytes(), issuer="https://accounts.example.com")
    write_json(bundle_of(model), other)
    assert verify_signature(model) == SIGNER


def swap(bundle: Bundle, *path: Any, value: Any = None, change: Callable[[Any], Any] | None = None) -> None:
    """Replace an entry of the bundle."""
    holder: Any = bundle
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = change(holder[path[-1]]) if change is not None else value


def flipped(text: str) -> str:
    """Other bytes of the same length, in base64."""
    raw = bytearray(base64.b64decode(text))
    raw[-1] ^= 1
    return base64_of(bytes(raw))


ENTRY = ("verificationMaterial", "tlogEntries", 0)
PROOF = (*ENTRY, "inclusionProof")
SEVERED = "is no Sigstore bundle that can be used: "
ALTERED: dict[str, tuple[tuple[Any, ...], Callable[[Any], Any], str]] = {
    "the signature": (("messageSignature", "signature"), flipped, "Signature is invalid for input"),
    "the digest": (("messageSignature", "messageDigest", "digest"), flipped, "message digest mismatch"),
    "the certificate": (("verificationMaterial", "certificate", "rawBytes"), flipped, "certificate chain"),
    "the entry": ((*ENTRY, "canonicalizedBody"), flipped, "invalid root hash"),
    "the time": ((*ENTRY, "integratedTime"), lambda time: str(int(time) + 60), "invalid inclusion promise"),
    "the day": ((*ENTRY, "integratedTime"), lambda time: str(int(time) + 86_400), "cert is not valid at"),
    "the log": ((*ENTRY, "logId", "keyId"), flipped, "invalid inclusion promise"),
    "the promise": ((*ENTRY, "inclusionPromise", "signedEntryTimestamp"), flipped, "inclusion promise"),
    "the place": ((*PROOF, "logIndex"), lambda _: "0", "invalid root hash"),
    "the proof": ((*PROOF, "hashes", 0), flipped, "invalid root hash"),
    "its length": ((*PROOF, "hashes"), lambda hashes: hashes[:1], "inclusion proof has wrong size"),
    "its top": ((*PROOF, "rootHash"), flipped, "invalid root hash"),
    "the checkpoint": (
        (*PROOF, "checkpoint", "envelope"),
        lambda text: text.replace("\n3\n", "\n4\n"),
        "checkpoint: invalid signature",
    ),
    "the kind of entry": ((*ENTRY, "kindVersion", "version"), lambda _: "0.0.9", SEVERED),
    "no promise": ((*ENTRY, "inclusionPromise"), lambda _: None, SEVERED),
    "no proof": (PROOF, lambda _: None, SEVERED),
    "no certificate": (("verificationMaterial", "certificate"), lambda _: None, SEVERED),
    "no entry": (("verificationMaterial", "tlogEntries"), lambda _: [], SEVERED),
    "no signature": (("messageSignature",), lambda _: None, SEVERED),
    "another type": (("mediaType",), lambda _: "text/plain", SEVERED),
}


@pytest.mark.parametrize("what", ALTERED)
def test_every_part_counts(model: Path, what: str) -> None:
    bundle = json.loads(bundle_of(model).read_text())
    path, change, reason = ALTERED[what]
    swap(bundle, *path, change=change)
    write_json(bundle_of(model), bundle)
    sentence = refused(model)
    assert reason in sentence
    assert "is not valid: " in sentence or SEVERED in sentence


@pytest.mark.parametrize(
    ("own", "reason"),
    [
        ({"authority"}, "certificate chain"),
        ({"certificates"}, "failed to verify SCT on signing certificate"),
        ({"entries"}, "checkpoint: invalid signature"),
    ],
)
def test_an_authority_or_log_that_nobody_trusts(
    model: Path, sigstore: Sigstore, own: set[str], reason: str
) -> None:
    """One of the three is a stranger's, the other two are trusted."""
    keys = {name: getattr(sigstore, name) for name in ("authority", "certificates", "entries")}
    stranger = Sigstore(**{name: key for name, key in keys.items() if name not in own})
    write_json(bundle_of(model), stranger.sign(model.read_bytes()))
    assert reason in refused(model)


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"\xff\xfe", b'{"mediaType": 5}', b"{" * 5000])
def test_no_bundle_at_all(model: Path, content: bytes) -> None:
    bundle_of(model).write_bytes(content)
    assert "fetch the bundle again, or sign 'model.onnx' again" in refused(model)


def test_a_bundle_that_is_too_large(model: Path) -> None:
    bundle_of(model).write_bytes(b" " * ((1 << 20) + 1))
    assert "is larger than 1 MiB" in refused(model)


def test_signed_with_another_key(model: Path, sigstore: Sigstore) -> None:
    """A signature and certificate that fit the file, in an entry about others."""
    bundle, other = (sigstore.sign(model.read_bytes()) for _ in range(2))
    bundle["verificationMaterial"]["tlogEntries"] = other["verificationMaterial"]["tlogEntries"]
    write_json(bundle_of(model), bundle)
    assert "inconsistent with other materials" in refused(model)
    bundle = {**sigstore.sign(model.read_bytes()), "messageSignature": other["messageSignature"]}
    write_json(bundle_of(model), bundle)
    assert "is not valid" in refused(model)


def test_a_certificate_that_had_expired(model: Path, sigstore: Sigstore) -> None:
    for begins in (SIGNED - 60 * MINUTE, SIGNED + 60 * MINUTE):
        write_json(bundle_of(model), sigstore.sign(model.read_bytes(), begins=begins))
        assert "cert is not valid at validation time" in refused(model)


def test_other_roots_of_trust(
    model: Path, tmp_path: Path, sigstore: Sigstore, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "root.json"
    write_json(root, Sigstore().trusted_root())
    assert "is not valid" in refused(model)
    future = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=3650)
    write_json(root, sigstore.trusted_root(starts=future))
    assert "is not valid" in refused(model)
    for key in ("tlogs", "ctlogs", "certificateAuthorities"):
        write_json(root, {**sigstore.trusted_root(), key: []})
        assert "can't be used" in refused(model) or "is not valid" in refused(model)
    for content in ("", "{}", "no JSON"):
        root.write_text(content)
        assert "can't be used" in refused(model)
        assert "give another trusted_root.json" in refused(model)
    root.unlink()
    assert "can't be read: No such file or directory" in refused(model)
    monkeypatch.delenv("ACUITY_SIGSTORE_TRUST_ROOT")  # sigstore.dev's own: it knows nothing of ours
    assert "is not valid" in refused(model)


def test_an_authority_that_had_ended(tmp_path: Path, model: Path) -> None:
    ended = Sigstore(authority_ends=SIGNED - 60 * MINUTE)
    write_json(tmp_path / "root.json", ended.trusted_root())
    write_json(bundle_of(model), ended.sign(model.read_bytes()))
    assert "is not valid" in refused(model)


def test_without_the_package(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = builtins.__import__

    def without(name: str, *more: Any) -> Any:
        if name.startswith("sigstore"):
            raise ImportError(name)
        return known(name, *more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match=r"needs the extra 'verify': pip install 'acuity-vmaf\[verify\]'"):
        verify_signature(model)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is empty"),
        ("garbage", "is not JSON, so it is no Sigstore bundle"),
        ("[1]", "is no Sigstore bundle: it must hold a JSON object"),
        ("{}", "is no Sigstore bundle: it has no 'mediaType'"),
    ],
)
def test_files_that_are_no_bundles(model: Path, content: str, words: str) -> None:
    bundle_of(model).write_text(content)
    assert f"{words}: fetch the bundle again" in refused(model)


def test_a_missing_bundle_is_said_before_missing_settings(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ACUITY_SIGSTORE_IDENTITY")
    assert "nothing says who should have signed it" in refused(model)
    bundle_of(model).unlink()
    assert "is not signed: there is no" in refused(model)


def test_weights_elsewhere_are_refused_before_signing(model: Path) -> None:
    network = onnx.load(model)
    onnx.save(network, model, save_as_external_data=True, location="w.bin", size_threshold=0)
    bundle_of(model).unlink()
    with pytest.raises(ModelError, match="covers that file alone, and its weights are in w"):
        load_tiny_model(model, TinyOptions(verify=True))
