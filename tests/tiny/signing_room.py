"""A Sigstore of our own: authority, logs and root of trust, made in the test, and bundles they vouch for."""

from __future__ import annotations

import base64
import datetime
import hashlib
import json
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

GITHUB = "https://token.actions.githubusercontent.com"
SIGNER = "https://github.com/acuity/models/.github/workflows/release.yml@refs/heads/main"
SIGNED = datetime.datetime(2025, 6, 1, 12, tzinfo=datetime.UTC)
MINUTE = datetime.timedelta(minutes=1)
YEARS = datetime.timedelta(days=3650)
_ISSUER = x509.ObjectIdentifier("1.3.6.1.4.1.57264.1.1")
_TIMESTAMPS = x509.ObjectIdentifier("1.3.6.1.4.1.11129.2.4.2")
_ECDSA = ec.ECDSA(hashes.SHA256())

Key = ec.EllipticCurvePrivateKey


def new_key() -> Key:
    return ec.generate_private_key(ec.SECP256R1())


def der(key: Key) -> bytes:
    public = key.public_key()
    return public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)


def base64_of(data: bytes) -> str:
    return base64.b64encode(data).decode()


def log_id(key: Key) -> bytes:
    return hashlib.sha256(der(key)).digest()


@dataclass
class Sigstore:
    """Keys of the authority and of both logs."""

    authority: Key = field(default_factory=new_key)
    certificates: Key = field(default_factory=new_key)  # of the log of certificates
    entries: Key = field(default_factory=new_key)  # of the log of signatures

    def __post_init__(self) -> None:
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test authority")])
        public = self.authority.public_key()
        self.root = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(public)
            .serial_number(1)
            .not_valid_before(SIGNED - YEARS)
            .not_valid_after(SIGNED + YEARS)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(signs_certificates=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            .sign(self.authority, hashes.SHA256())
        )

    def trusted_root(self) -> dict[str, Any]:
        """trusted_root.json."""
        period = {"start": "2015-01-01T00:00:00Z"}

        def log(key: Key) -> dict[str, Any]:
            return {
                "baseUrl": "https://log.invalid",
                "hashAlgorithm": "SHA2_256",
                "publicKey": {
                    "rawBytes": base64_of(der(key)),
                    "keyDetails": "PKIX_ECDSA_P256_SHA_256",
                    "validFor": period,
                },
                "logId": {"keyId": base64_of(log_id(key))},
            }

        raw = self.root.public_bytes(serialization.Encoding.DER)
        return {
            "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
            "tlogs": [log(self.entries)],
            "certificateAuthorities": [
                {
                    "subject": {"organization": "test", "commonName": "test authority"},
                    "uri": "https://authority.invalid",
                    "certChain": {"certificates": [{"rawBytes": base64_of(raw)}]},
                    "validFor": period,
                }
            ],
            "ctlogs": [log(self.certificates)],
            "timestampAuthorities": [],
        }

    def certificate(self, key: Key, identity: str, issuer: str) -> x509.Certificate:
        """A signer's certificate for ten minutes, with the log's timestamp in it."""
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.authority.public_key())
        signer = x509.SubjectAlternativeName([x509.UniformResourceIdentifier(identity)])
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([]))
            .issuer_name(self.root.subject)
            .public_key(key.public_key())
            .serial_number(2)
            .not_valid_before(SIGNED - MINUTE)
            .not_valid_after(SIGNED + 9 * MINUTE)
            .add_extension(_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CODE_SIGNING]), critical=False)
            .add_extension(authority, critical=False)
            .add_extension(signer, critical=True)
            .add_extension(x509.UnrecognizedExtension(_ISSUER, issuer.encode()), critical=False)
        )
        before = builder.sign(self.authority, hashes.SHA256()).tbs_certificate_bytes
        timestamp = int(SIGNED.timestamp() * 1000)
        signed = struct.pack("!BBQH", 0, 0, timestamp, 1) + hashlib.sha256(der(self.authority)).digest()
        signed += len(before).to_bytes(3, "big") + before + b"\0\0"
        signature = self.certificates.sign(signed, _ECDSA)
        entry = b"\0" + log_id(self.certificates) + struct.pack("!QH", timestamp, 0)
        entry += b"\x04\x03" + struct.pack("!H", len(signature)) + signature
        listed = struct.pack("!HH", len(entry) + 2, len(entry)) + entry
        length = bytes([len(listed)]) if len(listed) < 128 else bytes([0x81, len(listed)])
        octets = b"\x04" + length + listed  # the list as an OCTET STRING
        builder = builder.add_extension(x509.UnrecognizedExtension(_TIMESTAMPS, octets), critical=False)
        return builder.sign(self.authority, hashes.SHA256())

    def sign(self, content: bytes, identity: str = SIGNER, issuer: str = GITHUB) -> dict[str, Any]:
        """The bundle of a signature, entered in the log as the second of three entries."""
        key = new_key()
        certificate = self.certificate(key, identity, issuer)
        digest = hashlib.sha256(content)
        signature = key.sign(content, _ECDSA)
        pem = certificate.public_bytes(serialization.Encoding.PEM)
        body = _canonical(
            {
                "apiVersion": "0.0.1",
                "kind": "hashedrekord",
                "spec": {
                    "data": {"hash": {"algorithm": "sha256", "value": digest.hexdigest()}},
                    "signature": {"content": base64_of(signature), "publicKey": {"content": base64_of(pem)}},
                },
            }
        )
        return {
            "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
            "verificationMaterial": {
                "certificate": {"rawBytes": base64_of(certificate.public_bytes(serialization.Encoding.DER))},
                "tlogEntries": [self._entry(body)],
            },
            "messageSignature": {
                "messageDigest": {"algorithm": "SHA2_256", "digest": base64_of(digest.digest())},
                "signature": base64_of(signature),
            },
        }

    def _entry(self, body: bytes) -> dict[str, Any]:
        first, third = hashlib.sha256(b"\0first").digest(), hashlib.sha256(b"\0third").digest()
        pair = hashlib.sha256(b"\1" + first + hashlib.sha256(b"\0" + body).digest()).digest()
        top = hashlib.sha256(b"\1" + pair + third).digest()
        note = f"log.invalid\n3\n{base64_of(top)}\n"
        signed = log_id(self.entries)[:4] + self.entries.sign(note.encode(), _ECDSA)
        time = int(SIGNED.timestamp())
        log = log_id(self.entries)
        promised = {"body": base64_of(body), "integratedTime": time, "logID": log.hex(), "logIndex": 1}
        return {
            "logIndex": "1",
            "logId": {"keyId": base64_of(log)},
            "kindVersion": {"kind": "hashedrekord", "version": "0.0.1"},
            "integratedTime": str(time),
            "inclusionPromise": {
                "signedEntryTimestamp": base64_of(self.entries.sign(_canonical(promised), _ECDSA))
            },
            "inclusionProof": {
                "logIndex": "1",
                "rootHash": base64_of(top),
                "treeSize": "3",
                "hashes": [base64_of(first), base64_of(third)],
                "checkpoint": {"envelope": f"{note}\n\N{EM DASH} log.invalid {base64_of(signed)}\n"},
            },
            "canonicalizedBody": base64_of(body),
        }


def write_json(path: Path, document: object) -> Path:
    path.write_text(json.dumps(document))
    return path


def _canonical(document: dict[str, Any]) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    unused = ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement")
    others = dict.fromkeys((*unused, "encipher_only", "decipher_only"), False)
    certifies = dict.fromkeys(("key_cert_sign", "crl_sign"), signs_certificates)
    return x509.KeyUsage(digital_signature=not signs_certificates, **certifies, **others)
