"""Two nodes with workers behind nginx and over one Redis: processes that can be ended and started again."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import time
import urllib.request
from contextlib import ExitStack, suppress
from http.client import HTTPException
from pathlib import Path
from types import TracebackType
from typing import Any

import psutil

from cluster_nodes import free_port, nginx
from prepared_programs import Program
from redis_server import RedisServer, redis_server

_HERE = Path(__file__).parent
_WORKER = f"{sys.executable} {_HERE / 'soak_worker.py'}"
_ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
_SOON = 60.0  # seconds
_WORKERS = 2  # of each node
_PROCESSES = 2 * _WORKERS  # each worker has a process that ends it with the server
_KEPT = 64  # idle connections that nginx may keep to a node


class Node:
    """One server process after the other, on the same ports."""

    def __init__(self, ground: Ground, label: str) -> None:
        self.label = label
        self.port, self._peers, self._admin = free_port(), free_port(), free_port()
        self._ground = ground
        self._token = secrets.token_hex(16)
        self._process: Program | None = None
        self.descriptors = 0  # when it began

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start a process, and wait until it answers."""
        folder = self._ground.folder
        token_file = folder / f"admin-{self.label}"
        token_file.write_text(self._token)
        token_file.chmod(0o600)
        options = {
            "http": f"127.0.0.1:{self.port}",
            "allow-host": f"127.0.0.1:{self._ground.port}",
            "method-workers": f"{_WORKERS}",
            "worker-command": _WORKER,
            "cluster-redis": self._ground.redis.url,
            "cluster-node": self.label,
            "cluster-peers": f"127.0.0.1:{self._peers}",
            "cluster-address": f"http://127.0.0.1:{self._peers}",
            "cluster-secret-file": str(folder / "secret"),
            "token-file": str(folder / "tokens.toml"),
            "admin": f"127.0.0.1:{self._admin}",
            "admin-token-file": str(token_file),
            "session-ttl-seconds": f"{self._ground.ttl}",
            "max-sessions": "3000",
            "max-sessions-per-principal": "3000",
            "max-connections": "3000",
            "max-connections-per-principal": "3000",
            "data": str(folder / f"data-{self.label}"),
            "grace": "5",
            "log-level": "warning",
        }
        arguments = [text for name, value in options.items() for text in (f"--{name}", value)]
        with (folder / f"{self.label}.log").open("ab") as log:
            self._process = Program(
                [sys.executable, "-m", "acuity.cli.main", "serve", *arguments],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env=_ENVIRONMENT,
            )
        end = time.monotonic() + _SOON
        while self.runtime() is None:
            assert self._process.poll() is None, (folder / f"{self.label}.log").read_text()[-2000:]
            assert time.monotonic() < end, f"node {self.label} doesn't answer"
            time.sleep(0.05)

        self.descriptors = psutil.Process(self.pid).num_fds()

    def stop(self) -> None:
        """SIGTERM: the node drains and ends."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(_SOON)

    def roll(self) -> None:
        """Stop the node and start it again."""
        self.stop()
        self.start()

    def worker_pids(self) -> list[int]:
        """Of those that take calls: on a slow machine none would ever get to it if they were ended before."""
        found = self.view("workers") or {}
        return [worker["pid"] for worker in found.get("workers", ()) if worker["state"] == "ready"]

    def runtime(self) -> dict[str, Any] | None:
        return self.view("runtime")

    def view(self, name: str) -> dict[str, Any] | None:
        """What the node says to operators; None: it doesn't answer."""
        url = f"http://127.0.0.1:{self._admin}/admin/{name}"
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {self._token}"})
        # It may be ended in the middle of its answer.
        with (
            suppress(OSError, HTTPException, ValueError),
            urllib.request.urlopen(request, timeout=5) as answer,
        ):
            found: dict[str, Any] = json.load(answer)
            return found
        return None

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


class Ground:
    """Redis, nginx and the nodes while the block lasts."""

    def __init__(self, folder: Path, ttl: float, labels: tuple[str, ...] = ("n1", "n2")) -> None:
        self.folder = folder
        self.ttl = ttl
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        self.tokens = {name: secrets.token_hex(16) for name in ("soak", "measured", "hostile")}
        self.nodes = [Node(self, label) for label in labels]
        self._stack = ExitStack()

    def __enter__(self) -> Ground:
        with self._stack:
            (self.folder / "secret").write_text(secrets.token_hex(32))
            lines = [f'[tokens.{name}]\ntoken = "{token}"\n' for name, token in self.tokens.items()]
            (self.folder / "tokens.toml").write_text("".join(lines))
            for name in ("secret", "tokens.toml"):
                (self.folder / name).chmod(0o600)
            self.redis: RedisServer = self._stack.enter_context(redis_server(append_only=True))
            for node in self.nodes:
                self._stack.callback(node.kill)
                node.start()
            ports = [node.port for node in self.nodes]
            self._stack.enter_context(nginx(self.folder, *ports, front=self.port))
            self._stack = self._stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def restart_redis(self) -> None:
        """End Redis, and start it again a moment later with what it had."""
        self.redis.kill()
        time.sleep(1.0)
        self.redis.start()

    def kill(self, pid: int) -> None:
        """End a process at once."""
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def left(self) -> dict[str, int]:
        """What there should be none of when all clients have gone."""
        left: dict[str, int] = {}
        for node in self.nodes:
            found = node.runtime() or {}
            left[f"sessions of {node.label}"] = found.get("active_mcp_sessions", -1)
            left[f"calls of {node.label}"] = sum(
                worker["in_flight"] for worker in (node.view("workers") or {}).get("workers", ())
            )
            process = psutil.Process(node.pid)
            children = process.children(recursive=True)
            left[f"processes of {node.label} too many"] = max(0, len(children) - _PROCESSES)
            more = process.num_fds() - node.descriptors
            left[f"descriptors of {node.label} too many"] = max(0, more - _KEPT)
        return left
