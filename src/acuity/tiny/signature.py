"""Checks who signed a model: a Sigstore bundle beside its file, without any network.

A bundle holds a signature, the certificate of its key, which names the signer, and the entry of both in a
public log. It is checked with the package `sigstore`:

    ACUITY_SIGSTORE_IDENTITY    the signers to accept, separated by blanks: addresses of workflows or e-mail
    ACUITY_SIGSTORE_ISSUER      who vouches for them; GitHub Actions unless set
    ACUITY_SIGSTORE_TRUST_ROOT  trusted_root.json; unless set, the one inside the package, of sigstore.dev

Everything fails closed: without a signer to expect, a bundle or a valid signature, the model is refused. A
sidecar changes scores as much as the model does, so if there is one it must be signed, too.
"""

from __future__ import annotations

import os
import re
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from acuity.errors import AcuityError, MissingExtra, ModelError, to_omit
from acuity.text import one_line, shortened
from acuity.tiny.files import OWN_FOLDER, read_bounded, registered
from acuity.tiny.sidecar import read_sidecar

IDENTITY: Final = "ACUITY_SIGSTORE_IDENTITY"
ISSUER: Final = "ACUITY_SIGSTORE_ISSUER"
TRUST_ROOT: Final = "ACUITY_SIGSTORE_TRUST_ROOT"
GITHUB: Final = "https://token.actions.githubusercontent.com"
ENDINGS: Final = (".sigstore.json", ".sigstore")  # of bundles, after the whole name of the signed file
_LARGEST: Final = 1 << 20  # bytes of a bundle or sidecar; usual bundles have 10 KB
# After these words sigstore's errors print whole structures.
_DETAILS: Final = re.compile(r": expected log_index=| \(encountered ")
# Where the package keeps the root of sigstore.dev.
_EMBEDDED: Final = ("_store", "https%3A%2F%2Ftuf-repo-cdn.sigstore.dev", "trusted_root.json")


def verify_signature(path: Path, data: bytes) -> str:
    """Who signed the model and its sidecar; raises ModelError or MissingExtra.

    `data` is the content of the model file that is used.
    """
    _check_own(path)
    try:
        import sigstore.verify  # noqa: F401
    except ImportError:
        raise MissingExtra(
            "checking the signature of a model needs the extra 'verify': pip install 'acuity-vmaf[verify]'"
        ) from None
    file = registered(path)
    # This comes first: a model that isn't signed at all needs no settings.
    bundle = path.with_name(file.bundle) if file is not None and file.bundle else _beside(path)
    identities = _expected(path)
    verifier = _verifier()
    signer = _verify(verifier, identities, path, data, bundle)
    if used := read_sidecar(path).file:
        sidecar = Path(used)
        _verify(verifier, identities, sidecar, _read(sidecar), _beside(sidecar))
    return signer


def _check_own(path: Path) -> None:
    """Refuse Acuity's own models in words of their own: nobody has signed them, so no setting helps."""
    try:
        own = path.parent.samefile(OWN_FOLDER)
    except OSError:
        return
    if own and not any(path.with_name(path.name + ending).exists() for ending in ENDINGS):
        raise ModelError(
            f"'{path.stem}' comes with Acuity and is not signed, so its signature can't be checked: ",
            to_omit("tiny_model_verify"),
            "; its SHA-256 is checked in every run",
        )


def _expected(path: Path) -> tuple[str, ...]:
    """The signers that are accepted."""
    identities = tuple(os.environ.get(IDENTITY, "").split())
    if not identities:
        raise ModelError(
            f"the signature of '{path}' can't be checked, because nothing says who should have signed it: set"
            f" {IDENTITY} to the signer, such as https://github.com/OWNER/REPOSITORY/.github/workflows/"
            "release.yml@refs/heads/main"
        )
    return identities


def _beside(path: Path) -> Path:
    found = [bundle for ending in ENDINGS if (bundle := path.with_name(path.name + ending)).exists()]
    if not found:
        raise ModelError(
            f"'{path}' is not signed: there is no '{path.name}{ENDINGS[0]}' beside it; fetch that, or score"
            " without the check"
        )
    return found[0]


def _verify(verifier: Any, identities: tuple[str, ...], path: Path, content: bytes, bundle: Path) -> str:
    """Who signed one file; raises ModelError."""
    from sigstore.models import Bundle
    from sigstore.verify.policy import Identity

    try:
        parsed = Bundle.from_json(_read(bundle))
    except AcuityError:
        raise
    except Exception as error:  # those of JSON, pydantic, certificates and sigstore itself
        raise ModelError(
            f"'{bundle}' is no Sigstore bundle that can be used: {_reason(error)}; fetch the bundle again, "
            f"or sign '{path.name}' again"
        ) from None
    issuer = os.environ.get(ISSUER, "").strip() or GITHUB
    for identity in identities:
        try:
            verifier.verify_artifact(content, parsed, Identity(identity=identity, issuer=issuer))
        except Exception as error:  # whatever goes wrong, the model is refused
            reason = _reason(error)
        else:
            return identity
    raise ModelError(f"the signature of '{path}' in '{bundle}' is not valid: {reason}")


def _verifier() -> Any:
    """The verifier with the operator's root of trust, or with that of sigstore.dev; raises ModelError."""
    from sigstore.models import TrustedRoot
    from sigstore.verify import Verifier

    named = os.environ.get(TRUST_ROOT, "").strip()
    source = Path(named) if named else Path(str(files("sigstore").joinpath(*_EMBEDDED)))
    where = f"the root of trust '{source}' ({TRUST_ROOT})" if named else "the root of trust of sigstore.dev"
    remedy = "give another trusted_root.json" if named else f"set {TRUST_ROOT} to a trusted_root.json"
    try:
        return Verifier(trusted_root=TrustedRoot.from_file(str(source)))
    except OSError as error:
        raise ModelError(f"{where} can't be read: {error.strerror or error}; {remedy}") from None
    except Exception as error:
        raise ModelError(f"{where} can't be used: {_reason(error)}; {remedy}") from None


def _read(path: Path) -> bytes:
    """The content of a small file; raises ModelError or PathError."""
    large = ModelError(f"'{path}' is larger than {_LARGEST >> 20} MiB, so it is none of a signature's files")
    return read_bounded(path, _LARGEST, f"'{path}', which a signature needs, can't be read", large)


def _reason(error: Exception) -> str:
    """An error's first line, short."""
    if isinstance(error, AcuityError):
        return str(error)
    lines = str(error).strip().splitlines() or [type(error).__name__]
    if "validation error" in lines[0] and len(lines) > 2:  # pydantic's: then a place, and what is wrong there
        lines = [f"{lines[1].strip()}: {lines[2].split(' [type=')[0].strip()}"]
    return one_line(shortened(_DETAILS.split(lines[0])[0], 300))
