"""`longwire serve` with the files of examples/cluster: two nodes behind nginx, and the official client."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import anyio
import pytest

pytest.importorskip("redis", reason="the extra 'cluster' is not installed")

from mcp import Client

from cluster_nodes import EXAMPLES, SECRET, needs_nginx, nginx
from longwire.guard.oauth.resource_server import METADATA
from oauth_ground import ISSUER, key_set, private_key, public_jwk
from raw_http import ACCEPT, HELLO, http_client
from redis_server import needs_redis, redis_server
from restarts import free_port
from served_program import LONGWIRE, ServedProgram, environment, longwire_server

pytestmark = [needs_nginx, needs_redis]
RESOURCE = "http://127.0.0.1:8080/mcp"
SOON = 60.0  # seconds, after which the test gives up


def node(label: str, folder: Path, redis: str) -> tuple[ServedProgram, int]:
    """A server with the example's file, but for the ports and Redis; and its port."""
    http, peers = free_port(), free_port()
    text = (EXAMPLES / f"node-{label}.toml").read_text()
    number = label.removeprefix("n")
    for example, used in ((f"808{number}", http), (f"708{number}", peers)):
        assert f"127.0.0.1:{example}" in text
        text = text.replace(f"127.0.0.1:{example}", f"127.0.0.1:{used}")
    worker = EXAMPLES.parent / "workers" / "python" / "worker.py"
    assert "python3 ../workers/python/worker.py" in text
    text = text.replace("python3 ../workers/python/worker.py", f"{sys.executable} {worker}")
    path = folder / f"node-{label}.toml"
    path.write_text(text.replace("redis://127.0.0.1:6379/0", redis))
    return ServedProgram([*LONGWIRE, "--config", str(path)], environment(folder)), http


@contextmanager
def two_nodes() -> Iterator[tuple[dict[str, ServedProgram], str]]:
    """The nodes by their labels, and the URL of nginx."""
    with redis_server() as redis, tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        folder.chmod(0o755)  # nginx's workers may be another user
        (folder / "cluster.secret").write_text(SECRET)
        (folder / "cluster.secret").chmod(0o600)
        found = {label: node(label, folder, redis.url) for label in ("n1", "n2")}
        for server, _ in found.values():
            stack.callback(server.process.wait)
            stack.callback(server.process.kill)
        for server, _ in found.values():
            server.where("peers")
        url = stack.enter_context(nginx(folder, *(port for _, port in found.values())))
        yield {label: server for label, (server, _) in found.items()}, url


async def echoed(client: Client) -> str:
    (content,) = (await client.call_tool("echo", {"text": "hello"})).content
    return str(content.text)


async def test_clients_of_both_eras_outlive_a_node() -> None:
    with two_nodes() as (nodes, url):
        with anyio.fail_after(SOON):
            async with Client(url, mode="legacy") as older, Client(url, mode="2026-07-28") as newer:
                assert [await echoed(older), await echoed(newer)] == ["hello"] * 2
                nodes["n1"].process.kill()
                nodes["n1"].process.wait()
                for client in (older, newer, older, newer):
                    assert await echoed(client) == "hello"
        assert nodes["n2"].terminate() == 0


async def test_clients_find_the_authorization_server_behind_nginx() -> None:
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        folder.chmod(0o755)
        keys = folder / "keys.json"
        keys.write_bytes(key_set(public_jwk(private_key("ES256"), "ES256", "one")))
        oauth = ("--oauth-issuer", ISSUER, "--oauth-jwks", str(keys), "--oauth-resource", RESOURCE)
        worker = ("--worker-command", f"{sys.executable} {EXAMPLES.parent}/workers/python/worker.py")
        server = stack.enter_context(longwire_server(folder, "--http", "0", *oauth, *worker))
        port = int(server.where("http").where.rsplit(":", 1)[1].split("/")[0])
        url = stack.enter_context(nginx(folder, port, port))
        with anyio.fail_after(SOON):
            async with http_client() as http:
                refused = await http.post(url, json=HELLO, headers=ACCEPT)
                assert refused.status_code == 401
                for path in (METADATA, f"{METADATA}/mcp"):
                    found = await http.get(url.replace("/mcp", path))
                    assert found.status_code == 200, path
                    assert found.json()["authorization_servers"] == [ISSUER]
                for path in ("/", "/metrics", "/mcpx", "/.well-known/other", f"{METADATA}x"):
                    assert (await http.get(url.replace("/mcp", path))).status_code == 404, path
