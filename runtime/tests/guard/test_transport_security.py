"""Who may speak HTTP to the server, where it listens, and how origins are compared."""

from __future__ import annotations

import socket
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from longwire.endpoints import Http
from longwire.errors import SettingsError
from longwire.guard.access import Access, HttpSecurity
from longwire.guard.origins import Origin, Origins
from longwire.guard.tokens import UNNAMED, Tokens, read_tokens
from longwire.wire.listeners import Address, bind, bound
from raw_http import ACCEPT, HELLO, http_client
from transport_bench import LOCAL, serving

TOKEN = "correct-horse-battery"
TOKENS = Tokens({TOKEN: UNNAMED})
ANYWHERE = Address("0.0.0.0", 0)


def test_addresses() -> None:
    assert Address.parse("8080") == Address("127.0.0.1", 8080)
    assert Address.parse("localhost:0") == Address("localhost", 0)
    assert Address.parse("[::1]:8080") == Address("::1", 8080)


@pytest.mark.parametrize("text", ["", "x", ":80", "::1:80", "80:", "1.2.3.4:x", "65536", "-1", "٨٠", "[]:80"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(SettingsError, match="'"):
        Address.parse(text)


def test_binding_says_which_port_and_that_one_is_taken() -> None:
    with bind(LOCAL) as listener:
        found = bound(listener)
        assert found.port > 0
        # Otherwise asyncio leaves a delay of 40 ms on.
        assert listener.proto == socket.IPPROTO_TCP
        with pytest.raises(SettingsError, match=rf"{found} is in use already: choose another port"):
            bind(found)


@pytest.mark.parametrize(
    ("host", "reason"),
    [("no-such-host.invalid", "is unknown"), ("192.0.2.1", "is no address of this machine")],
)
def test_hosts_that_cannot_be_bound(host: str, reason: str) -> None:
    with pytest.raises(SettingsError, match=reason):
        bind(Address(host, 0))


async def test_ipv6() -> None:
    try:
        bind(Address("::1", 0)).close()
    except SettingsError:
        pytest.skip("no IPv6 here")
    async with serving(Http(Address("::1", 0))) as server, server.client("legacy") as client:
        assert server.where.startswith("http://[::1]:")
        assert (await client.call_tool("echo")).is_error is False


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_addresses_of_this_machine_take_no_token(host: str) -> None:
    assert not Access().at(Address(host, 80)).reachable


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.com"])
def test_other_addresses_take_a_token(host: str) -> None:
    with pytest.raises(SettingsError, match=rf"'{host}' can be reached from other machines, .*--token-file"):
        Access().at(Address(host, 80))
    assert Access(TOKENS).at(Address(host, 80)).reachable


HERE = ("127.0.0.1:80", "127.0.0.1", "localhost:1", "LOCALHOST", "[::1]:80", "[::1]")
FOREIGN = (
    *("evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example", "", "a b"),
    *("localhost/evil", "localhost#evil", "localhost?evil", "localhost\\evil", "localhost:80@evil.example"),
    *("evil@localhost", "localhost:x", "10.0.0.1%.evil.example", "[::1", None),
)


@pytest.mark.parametrize("host", [*HERE, *FOREIGN])
def test_hosts_of_this_machine_and_of_others(host: str | None) -> None:
    assert HttpSecurity().knows_host(host) is (host in HERE)
    assert Access(TOKENS).at(ANYWHERE).knows_host(host) is (host in HERE)


def test_other_names_of_this_machine() -> None:
    everywhere = Access(TOKENS, frozenset({"Videos.example"})).at(ANYWHERE)
    assert everywhere.knows_host("videos.example:8080")
    assert everywhere.knows_host(socket.gethostname())
    assert everywhere.knows_host("192.0.2.7:80")  # by number no name was rebound
    assert not HttpSecurity().knows_host("192.0.2.7:80")


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        (None, True),
        ("http://localhost:6274", True),
        ("https://127.0.0.1", True),
        ("http://[::1]:5173", True),
        ("null", False),
        ("", False),
        ("http://evil.example", False),
        ("http://192.0.2.1", False),
        ("file://localhost", False),
        ("http://localhost.evil.example", False),
        ("http://localhost:x", False),
        ("http://localhost/evil", False),
        ("http://localhost#evil", False),
    ],
)
def test_origins(origin: str | None, allowed: bool) -> None:
    assert HttpSecurity().knows_origin(origin, "127.0.0.1:80") is allowed


@pytest.mark.parametrize("offer", ["http", "sse"])
async def test_checks_are_always_on(offer: str) -> None:
    at = Http(LOCAL, frozenset({offer}))  # type: ignore[arg-type]
    async with serving(at) as server, http_client() as http:
        for headers, status in (({"Host": "evil.example"}, 421), ({"Origin": "http://evil.example"}, 403)):
            for method in ("GET", "POST"):
                answer = await http.request(method, server.where, headers={**ACCEPT, **headers})
                assert answer.status_code == status
                assert "error" in answer.json()


@pytest.mark.parametrize("name", ["Origin", "Authorization"])
@pytest.mark.parametrize("values", [("http://evil.example", "http://localhost"), ("http://localhost",) * 2])
async def test_a_header_that_decides_is_sent_once(name: str, values: tuple[str, str]) -> None:
    async with serving(Http(LOCAL)) as server, http_client() as http:
        for order in (values, values[::-1]):
            headers = [*ACCEPT.items(), *((name, value) for value in order)]
            answer = await http.post(server.where, json=HELLO, headers=headers)
            assert answer.status_code == 400
            assert answer.json()["error"]["message"] == f"the request has two {name} headers: send one"


@pytest.mark.parametrize(
    "refused", ["Host: evil.example", "Host: 127.0.0.1", "Host: a\r\nOrigin: http://evil.example"]
)
async def test_a_long_body_is_refused_before_it_is_sent(refused: str) -> None:
    async with serving(Http(ANYWHERE), access=Access(TOKENS)) as server:
        port = int(server.where.rpartition(":")[2].partition("/")[0])
        async with await anyio.connect_tcp("127.0.0.1", port) as client:
            long = "Content-Length: 4000000\r\nExpect: 100-continue"
            await client.send(f"POST /mcp HTTP/1.1\r\n{refused}\r\n{long}\r\n\r\n".encode())
            answer = await client.receive()
            assert answer.split()[1] in (b"401", b"403", b"421")
            assert b"100 Continue" not in answer


def test_tokens_from_a_file_and_from_the_environment(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(f"{TOKEN}\n")
    assert read_tokens(str(path), {"LONGWIRE_TOKEN": "another-one-entirely"}) == TOKENS
    assert read_tokens(None, {"LONGWIRE_TOKEN": TOKEN}) == TOKENS
    assert not read_tokens(None, {})
    assert TOKEN not in repr(Access(TOKENS))


STUDIO = "https://studio.example"
ALLOWED = Origins.parse(
    [STUDIO, "http://localhost:6274", "http://[::1]:80", "https://bücher.example", "app://main"]
)
SAME = (
    *(STUDIO, f"{STUDIO}:443", "HTTPS://Studio.Example", "http://localhost:6274", "http://[::1]"),
    *("http://[0:0:0:0:0:0:0:1]", "https://xn--bcher-kva.example", "app://main"),
)
OTHERS = (
    *("", "null", "*", "https://", "studio.example", "http://studio.example", f"{STUDIO}:8443", f"{STUDIO}/"),
    *(f"{STUDIO}#x", f"{STUDIO}\\@evil.example", f"{STUDIO}@evil.example", "https://a.studio.example"),
    *(f"{STUDIO}.evil.example", f"{STUDIO}:", f"{STUDIO}:99999", f"{STUDIO} https://evil.example"),
    *("https://studio%2eexample", "http://localhost:6275", "http://[::1", "http://[::2]"),
    "http://" + "a" * 300,
)


@pytest.mark.parametrize("origin", [*SAME, *OTHERS])
def test_an_origin_is_known_in_other_spellings_and_all_others_are_foreign(origin: str) -> None:
    assert (origin in ALLOWED) is (origin in SAME)


@pytest.mark.parametrize(
    "text", ["*", "https://*", "https://*.studio.example", "null", "", "localhost", "http://a/b", 7]
)
def test_what_cannot_be_allowed(text: str) -> None:
    with pytest.raises(SettingsError, match=r"is no origin: write scheme, host and port of each"):
        Origins.parse([STUDIO, text])
    assert ALLOWED
    assert not Origins.parse([])


@given(st.text() | st.from_regex(r"https?://[a-z0-9.:\[\]@/-]{0,30}", fullmatch=True))
def test_any_text_is_an_origin_or_none(text: str) -> None:
    found = Origin.parse(text)
    if found is not None:
        spelled = f"{found.scheme}://{found.host}" + (f":{found.port}" if found.port is not None else "")
        assert Origin.parse(spelled) == found
        assert spelled in Origins(frozenset({found}))
    assert text not in Origins()
