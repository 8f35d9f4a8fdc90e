"""Processes with a server inside: forks, exits and interrupts."""

from __future__ import annotations

import os
import signal
import stat
from pathlib import Path

import pytest

from embedded_client import PATIENCE, connected, host_at, hosted


def test_a_dead_processs_file_is_replaced(tmp_path: Path) -> None:
    with host_at(tmp_path / "s", "sys.stdin.read()") as host:
        host.kill()
        host.communicate(timeout=PATIENCE)
    assert stat.S_ISSOCK(os.lstat(tmp_path / "s").st_mode)
    with hosted(tmp_path), connected(tmp_path / "s") as client:
        assert client.call("vmaf.status")["state"] == "waiting"


FORKING = """
import os
measurement.add(*pair(0))
child = os.fork()
if not child:
    import gc
    server.stop()
    try:
        server.start_sse()
    except Exception as error:
        print(error, flush=True)
    measurement.boundary.on_frame.tell(measurement.snapshot())
    print("heard by", bool(measurement.boundary.on_frame.all), flush=True)
    del server
    gc.collect()
    sys.exit(0)
_, status = os.waitpid(child, 0)
print("child", status, flush=True)
sys.stdin.read()
server.stop()
print("stopped", flush=True)
"""


def test_a_forked_child_forgets_it(tmp_path: Path) -> None:
    """What a child does with its copy, to the end of its interpreter, is no concern of the parent's."""
    path = tmp_path / "s"
    with host_at(path, FORKING) as host:
        said = [host.stdout.readline().strip() for _ in range(3)]
        assert said == ["the server was stopped already: make another one", "heard by False", "child 0"]
        with connected(path) as client:
            assert client.call("vmaf.status")["frames_read"] == 1
        out, err = host.communicate("", timeout=PATIENCE)
    assert (out, host.returncode) == ("stopped\n", 0)
    assert "Traceback" not in err
    assert "Error" not in err
    assert not path.exists()


LINGERING = """
import os
input()
child = os.fork()
if not child:
    sys.stdin.read()
    os._exit(0)
server.stop()
print("stopped", flush=True)
os.waitpid(child, 0)
"""


def test_a_child_does_not_keep_clients_waiting(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with host_at(path, LINGERING) as host, connected(path) as client:
        client.call("vmaf.status")
        host.stdin.write("\n")
        host.stdin.flush()
        assert client.receive() is None  # though the child lives
        assert host.communicate("", timeout=PATIENCE)[0] == "stopped\n"
        assert host.returncode == 0


ENDS = {"sys.exit(3)": 3, "raise RuntimeError('host failed')": 1, "feed(measurement, map(pair, range(3)))": 0}


@pytest.mark.parametrize(("end", "code"), ENDS.items())
def test_a_host_that_never_stops_it_leaves_nothing_behind(end: str, code: int, tmp_path: Path) -> None:
    path = tmp_path / "s"
    with host_at(path, f"input()\n{end}\n") as host, connected(path) as client:
        client.call("vmaf.status")
        host.communicate("\n", timeout=PATIENCE)
        assert host.returncode == code
        assert client.receive() is None
    assert not path.exists()


@pytest.mark.parametrize("paused", [False, True])
def test_an_interrupt_leaves_no_file(paused: bool, tmp_path: Path) -> None:
    path = tmp_path / "s"
    script = "feed(measurement, (pair(n % 9) for n in count()))"
    with host_at(path, script) as host, connected(path) as client:
        if paused:
            assert client.call("vmaf.pause")["paused"]
        else:
            while not client.call("vmaf.status")["frames_read"]:
                pass
        host.send_signal(signal.SIGINT)
        _, err = host.communicate(timeout=PATIENCE)
    assert host.returncode == -signal.SIGINT
    assert err.rstrip().endswith("KeyboardInterrupt")
    assert not path.exists()
