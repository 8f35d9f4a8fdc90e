"""HTTPS: certificates from files, what is said about bad ones, and clients that begin no handshake."""

from __future__ import annotations

import asyncio
import datetime
import ssl
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization as pem
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from http_port import GET, ground

from longwire.errors import SettingsError
from longwire.settings import WireLimits
from longwire.wire.http.tls import Certificate, tls_context

pytestmark = pytest.mark.usefixtures("each_loop")


class Files(NamedTuple):
    """The files of a certificate for localhost."""

    certificate: str
    key: str

    def client(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.certificate)


def made(folder: Path, password: bytes | None = None) -> Files:
    folder.mkdir(exist_ok=True)
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    hidden = pem.NoEncryption() if password is None else pem.BestAvailableEncryption(password)
    files = Files(str(folder / "certificate.pem"), str(folder / "key.pem"))
    Path(files.certificate).write_bytes(certificate.public_bytes(pem.Encoding.PEM))
    Path(files.key).write_bytes(key.private_bytes(pem.Encoding.PEM, pem.PrivateFormat.PKCS8, hidden))
    return files


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return made(tmp_path_factory.mktemp("tls"))


async def test_requests_and_streams_over_tls(files: Files) -> None:
    async with ground(tls=tls_context(*files)) as at:
        wire = await at.connect(files.client())
        for path in (b"a", b"b"):
            assert (await wire.ask(path)).body == b"/" + path
        wire.send(GET % b"a" + GET % b"b")
        assert [(await wire.reply()).body, (await wire.reply()).body] == [b"/a", b"/b"]
        tls = wire.writer.get_extra_info("ssl_object")
        assert tls.version() in ("TLSv1.2", "TLSv1.3")
        wire.send(GET % b"events")
        assert (await wire.head()).status == 200
        at.pages.streams[0].send(b"data: 2\n\n")
        await at.endpoint.stop()
        assert b"data: 2" in await wire.rest()


def test_a_certificate_and_its_key_may_be_in_one_file(files: Files, tmp_path: Path) -> None:
    both = tmp_path / "both.pem"
    both.write_bytes(Path(files.key).read_bytes() + Path(files.certificate).read_bytes())
    assert tls_context(str(both)).minimum_version == ssl.TLSVersion.TLSv1_2


async def test_old_versions_and_plain_http_are_refused(files: Files) -> None:
    async with ground(tls=tls_context(*files)) as at:
        old = files.client()
        old.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
        with pytest.warns(DeprecationWarning, match="TLSv1_1"):
            old.maximum_version = ssl.TLSVersion.TLSv1_1
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await at.connect(old)
        plain = await at.connect()
        plain.send(GET % b"a")
        assert not (await plain.rest()).startswith(b"HTTP/")
        assert at.pages.paths == []
        assert (await (await at.connect(files.client())).ask()).status == 200


async def test_clients_that_begin_no_handshake_take_no_place(files: Files) -> None:
    limits = WireLimits(max_connections=4, head_timeout=0.5)
    async with ground(limits, tls=tls_context(*files)) as at:
        known = await at.connect(files.client())
        assert (await known.ask()).status == 200
        silent = [await at.connect() for _ in range(50)]
        assert (await known.ask()).status == 200
        assert (await (await at.connect(files.client())).ask()).status == 200
        assert await asyncio.gather(*(wire.rest() for wire in silent)) == [b""] * 50


async def test_handshakes_that_take_too_long_are_counted(files: Files) -> None:
    refused: Counter[str] = Counter()
    async with ground(WireLimits(head_timeout=0.1), tls=tls_context(*files), refused=refused) as at:
        silent, begun, plain = [await at.connect() for _ in range(3)]
        begun.send(b"\x16\x03\x01\x02\x00")  # of a handshake that goes no further
        plain.send(b"GET / HTTP/1.1\r\n\r\n")
        for wire in (silent, begun, plain):
            await wire.rest()
        await at.endpoint.stop()
        assert refused == {"slow": 2}


async def test_a_port_with_handshakes_under_way_ends(files: Files) -> None:
    async with ground(tls=tls_context(*files)) as at:
        silent = await at.connect()
        known = await at.connect(files.client())
        assert (await known.ask()).status == 200
        await at.endpoint.stop()
        assert [await silent.rest(), await known.rest()] == [b"", b""]


def test_bad_files_are_named(files: Files, tmp_path: Path) -> None:
    other, locked = made(tmp_path / "other"), made(tmp_path / "locked", b"secret")
    nonsense = tmp_path / "nonsense.pem"
    nonsense.write_text("nothing\n")
    for certificate, key, sentence in (
        (files.certificate, str(tmp_path / "no"), r"can't read the TLS key '.*no': No such file"),
        (str(tmp_path), None, r"can't read the TLS certificate '.*': Is a directory"),
        (files.certificate, other.key, r"the TLS key '.*' isn't that of the certificate '.*': name its own"),
        (locked.certificate, locked.key, r"the TLS key '.*' is encrypted: decrypt it with 'openssl pkey'"),
        (str(nonsense), None, r"'.*nonsense.pem' are no PEM files of a certificate and its key"),
        (files.certificate, None, r"'.*certificate.pem' has no key in its file: set tls_key too"),
        (
            files.key,
            files.certificate,
            r"'.*' is the key and '.*certificate.pem' the certificate: swap the two",
        ),
    ):
        with pytest.raises(SettingsError, match=sentence):
            tls_context(certificate, key)


async def test_a_certificate_is_read_again_and_a_bad_one_is_not_taken(tmp_path: Path) -> None:
    old = made(tmp_path)
    trusts_old, certificate = old.client(), Certificate(*old)
    async with ground(tls=certificate.context) as at:
        stays = await at.connect(trusts_old)
        new = made(tmp_path)  # in the same files
        certificate.reload()
        assert (await (await at.connect(new.client())).ask()).status == 200
        with pytest.raises(ssl.SSLError):
            await at.connect(trusts_old)
        trusts_new = new.client()
        other = made(tmp_path / "other")
        Path(new.key).write_bytes(Path(other.key).read_bytes())
        with pytest.raises(SettingsError, match="isn't that of the certificate"):
            certificate.reload()
        assert (await (await at.connect(trusts_new)).ask()).status == 200
        assert (await stays.ask()).status == 200
