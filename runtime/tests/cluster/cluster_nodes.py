"""Two nodes, Redis and nginx as processes: nodes can be killed, stopped and started again."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from prepared_programs import Program
from raw_http import RawSession
from redis_server import RedisServer, redis_server

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
needs_nginx = pytest.mark.skipif(NGINX is None, reason="nginx is not installed here")
EXAMPLES = Path(__file__).parents[2] / "examples" / "cluster"
SECRET = "secret-of-the-tests-0123456789abcdef"

_PROGRAM = [sys.executable, str(Path(__file__).with_name("cluster_program.py"))]
_ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
_SOON = 30.0  # seconds


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


class Node:
    """A node while it runs."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.port, self.peers = free_port(), free_port()
        self.pid = 0
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        self.peers_url = f"http://127.0.0.1:{self.peers}/mcp"


class ClusterNodes:
    """The nodes of one cluster, and what is in front of them."""

    def __init__(self, folder: Path, redis: RedisServer) -> None:
        self.folder = folder
        self.redis = redis
        self.nodes = {label: Node(label) for label in ("n1", "n2")}
        self.secret = folder / "cluster.secret"
        self.secret.write_text(SECRET)
        self.secret.chmod(0o600)
        self.front = ""  # nginx's URL
        self._program = Program(
            _PROGRAM, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=_ENVIRONMENT
        )
        self._nginx: subprocess.Popen[bytes] | None = None

    def __getitem__(self, label: str) -> Node:
        return self.nodes[label]

    def begin(self, node: Node) -> dict[str, Any]:
        """Have a process start as this node; what it says."""
        asked = {
            "node": node.label,
            "port": node.port,
            "peers": node.peers,
            "redis": self.redis.url,
            "secret": str(self.secret),
        }
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        self._program.stdin.write(json.dumps(asked) + "\n")
        self._program.stdin.flush()
        said: dict[str, Any] = json.loads(self._program.stdout.readline())
        return said

    def start(self, label: str) -> Node:
        """Start a node, unless it runs."""
        node = self.nodes[label]
        if not node.pid:
            said = self.begin(node)
            assert "pid" in said, said
            node.pid = said["pid"]
        return node

    def start_all(self) -> tuple[Node, Node]:
        return self.start("n1"), self.start("n2")

    def kill(self, label: str) -> None:
        """SIGKILL, and wait until the process has gone."""
        self._end(label, signal.SIGKILL)

    def stop(self, label: str) -> None:
        """SIGTERM, and wait until the process has gone."""
        self._end(label, signal.SIGTERM)

    def _end(self, label: str, number: signal.Signals) -> None:
        node = self.nodes[label]
        pid, node.pid = node.pid, 0
        os.kill(pid, number)
        end = time.monotonic() + _SOON
        while _is_there(pid):
            assert time.monotonic() < end, f"{label} goes on"
            time.sleep(0.005)

    def start_nginx(self) -> str:
        """nginx with the example's file, but for the ports; returns its URL."""
        self._nginx, self.front = start_nginx(self.folder, self["n1"].port, self["n2"].port)
        return self.front

    def close(self) -> None:
        if self._nginx is not None:
            self._nginx.terminate()
            self._nginx.wait(_SOON)
        for label, node in self.nodes.items():
            if node.pid:
                self.kill(label)
        with self._program as program:
            program.kill()


def start_nginx(folder: Path, *nodes: int, front: int = 0) -> tuple[subprocess.Popen[bytes], str]:
    """nginx with the example's file in front of nodes at these ports, and its URL; 0 is any free port."""
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
    end = time.monotonic() + _SOON
    while not _listens(front):
        assert process.poll() is None, (folder / "nginx.log").read_text()
        assert time.monotonic() < end
        time.sleep(0.01)
    return process, f"http://127.0.0.1:{front}/mcp"


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def cluster_nodes(*, append_only: bool = False) -> Iterator[ClusterNodes]:
    """A cluster whose nodes are not started yet."""
    with redis_server(append_only=append_only) as redis, tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)  # nginx's workers may be another user
        nodes = ClusterNodes(Path(folder), redis)
        try:
            yield nodes
        finally:
            nodes.close()


async def at(session: RawSession, node: Node | str) -> RawSession:
    """The same session, used at another place."""
    found = RawSession(node if isinstance(node, str) else node.url, session.http, "", "2025-11-25")
    found.headers = session.headers
    return found
