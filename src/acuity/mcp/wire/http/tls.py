"""TLS from the files of a certificate and its key."""

from __future__ import annotations

import os
import ssl
from typing import Final

from acuity.errors import SettingsError

# What OpenSSL calls the mistakes that people make, and what to do about each.
_REASONS: Final = {
    "KEY_VALUES_MISMATCH": "the TLS key '{key}' isn't that of the certificate '{certificate}': name its own",
    "NO_START_LINE": "the TLS certificate '{certificate}' or key '{key}' is no PEM file: convert it to PEM",
}
_UNKNOWN: Final = "the TLS certificate '{certificate}' or key '{key}' can't be used ({reason}): make new ones"


def tls_context(certificate: str, key: str | None = None) -> ssl.SSLContext:
    """The context of a server with that certificate chain and key; raises SettingsError.

    Both are PEM files. Without `key`, the certificate's file has the key too.
    """
    key = key or certificate
    for what, path in (("certificate", certificate), ("key", key)):
        _check_readable(what, path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    try:
        # The function is asked for the password of an encrypted key; else OpenSSL asks at the terminal.
        context.load_cert_chain(certificate, key, password=lambda: _no_password(key))
    except ssl.SSLError as error:
        reason = error.reason or str(error)
        text = _REASONS.get(reason, _UNKNOWN)
        raise SettingsError(text.format(certificate=certificate, key=key, reason=reason)) from None
    return context


def _check_readable(what: str, path: str) -> None:
    try:
        with open(path, "rb"):
            pass
    except OSError as error:
        raise SettingsError(
            f"can't read the TLS {what} '{path}': {os.strerror(error.errno or 0)}; name a PEM file"
        ) from None


def _no_password(key: str) -> str:
    raise SettingsError(f"the TLS key '{key}' is encrypted: decrypt it with 'openssl pkey', or name another")
