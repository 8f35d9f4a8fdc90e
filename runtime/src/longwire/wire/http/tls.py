"""TLS from the files of a certificate and its key."""

from __future__ import annotations

import os
import ssl
from typing import Final

from longwire.errors import SettingsError

_CERTIFICATE: Final = b"CERTIFICATE-----"  # in the lines before parts of PEM files
_KEY: Final = b"PRIVATE KEY-----"
_MOST: Final = 1 << 20  # bytes that are looked at
_FOREIGN: Final = "KEY_VALUES_MISMATCH"  # as OpenSSL calls it


def tls_context(certificate: str, key: str | None = None) -> ssl.SSLContext:
    """The context of a server with that certificate chain and key; raises SettingsError.

    Both are PEM files. Without `key`, the certificate's file has the key too.
    """
    alone, key = key is None, key or certificate
    for what, path in (("certificate", certificate), ("key", key)):
        try:
            open(path, "rb").close()
        except OSError as error:
            raise SettingsError(
                f"can't read the TLS {what} '{path}': {os.strerror(error.errno or 0)}; name a PEM file"
            ) from None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    try:
        # The function is asked for the password of an encrypted key; else OpenSSL asks at the terminal.
        context.load_cert_chain(certificate, key, password=lambda: _no_password(key))
    except ssl.SSLError as error:
        holds = _has(certificate, _CERTIFICATE), _has(certificate, _KEY)
        if error.reason == _FOREIGN:
            sentence = f"the TLS key '{key}' isn't that of the certificate '{certificate}': name its own"
        elif alone and holds == (True, False):
            sentence = f"the TLS certificate '{certificate}' has no key in its file: set tls_key too"
        elif holds == (False, True) and _has(key, _CERTIFICATE):
            sentence = f"'{certificate}' is the key and '{key}' the certificate: swap the two"
        else:
            reason = str(error).partition(" (_ssl")[0]
            sentence = f"'{certificate}' and '{key}' are no PEM files of a certificate and its key: {reason}"
        raise SettingsError(sentence) from None
    return context


class Certificate:
    """The files of a certificate and its key, and the context that is made of them."""

    def __init__(self, certificate: str, key: str | None = None) -> None:
        """Read the files; raises SettingsError."""
        self._certificate = certificate
        self._key = key
        self.context = tls_context(certificate, key)

    def reload(self) -> None:
        """Read the files again, for connections from now on; raises SettingsError, and keeps the old pair."""
        tls_context(self._certificate, self._key)  # loading a bad pair would leave half of it in the context
        try:
            self.context.load_cert_chain(self._certificate, self._key)
        except (OSError, ssl.SSLError) as error:
            raise SettingsError(f"can't read the TLS certificate '{self._certificate}': {error}") from None


def _has(path: str, label: bytes) -> bool:
    with open(path, "rb") as file:
        return label in file.read(_MOST)


def _no_password(key: str) -> str:
    raise SettingsError(f"the TLS key '{key}' is encrypted: decrypt it with 'openssl pkey', or name another")
