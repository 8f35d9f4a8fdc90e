"""Two nodes, Redis and nginx as processes: nodes can be killed, stopped and started again."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from raw_http import RawSession
from redis_server import RedisServer, redis_server
from restarts import Restarts, free_port
from waiting import SOON, until_true

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
needs_nginx = pytest.mark.skipif(NGINX is None, reason="nginx is not installed here")
EXAMPLES = Path(__file__).parents[2] / "examples" / "cluster"
SECRET = "secret-of-the-tests-0123456789abcdef"

_SCRIPT = Path(__file__).with_name("cluster_program.py")


class Node(Restarts):
    """A node: one process after the other."""

    def __init__(self, label: str, **asked: Any) -> None:
        self.peers = free_port()
        super().__init__(_SCRIPT, node=label, peers=self.peers, **asked)


class ClusterNodes:
    """The nodes of one cluster, and what is in front of them."""

    def __init__(self, folder: Path, redis: RedisServer, grace: float) -> None:
        self.folder = folder
        self.front = ""  # nginx's URL
        secret = folder / "cluster.secret"
        secret.write_text(SECRET)
        secret.chmod(0o600)
        asked = {"redis": redis.url, "secret": str(secret), "grace": grace}
        self._nodes = {label: Node(label, **asked) for label in ("n1", "n2")}
        self._stack = ExitStack()  # of nginx

    def __getitem__(self, label: str) -> Node:
        return self._nodes[label]

    def start_all(self) -> tuple[Node, Node]:
        """Start the nodes that don't run."""
        for node in self._nodes.values():
            node.start()
        return self["n1"], self["n2"]

    def start_nginx(self) -> str:
        """nginx with the example's file, but for the ports; returns its URL."""
        self.front = self._stack.enter_context(nginx(self.folder, self["n1"].port, self["n2"].port))
        return self.front

    def close(self) -> None:
        self._stack.close()
        for node in self._nodes.values():
            node.close()


@contextmanager
def nginx(folder: Path, *nodes: int, front: int = 0) -> Iterator[str]:
    """nginx with the example's file in front of nodes at these ports, until the block ends; its URL.

    A `front` of 0 is any free port.
    """
    if NGINX is None:
        pytest.skip("nginx is not installed here")
    front = front or free_port()
    text = (EXAMPLES / "nginx.conf").read_text()
    for example, port in zip((8080, 8081, 8082), (front, *nodes), strict=True):
        assert f"127.0.0.1:{example}" in text
        text = text.replace(f"127.0.0.1:{example}", f"127.0.0.1:{port}")
    (folder / "nginx.conf").write_text(text)
    command = [NGINX, "-p", str(folder), "-c", "nginx.conf", "-e", "nginx.log"]
    if os.geteuid() == 0:  # or its processes are nobody's, and can't keep long bodies in the folder
        command += ["-g", "user root;"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)

    def listens() -> bool:
        assert process.poll() is None, (folder / "nginx.log").read_text()
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", front)) == 0

    try:
        until_true(listens)
        yield f"http://127.0.0.1:{front}/mcp"
    finally:
        process.terminate()
        process.wait(SOON)


@contextmanager
def cluster_nodes(*, append_only: bool = False, grace: float = 0.2) -> Iterator[ClusterNodes]:
    """A cluster whose nodes are not started yet."""
    with redis_server(append_only=append_only) as redis, tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # nginx's workers may be another user
        nodes = ClusterNodes(Path(folder), redis, grace)
        try:
            yield nodes
        finally:
            nodes.close()


async def at(session: RawSession, node: Node | str) -> RawSession:
    """The same session, used at another place."""
    found = RawSession(node if isinstance(node, str) else node.url, session.http, "", "2025-11-25")
    found.headers = session.headers
    return found
