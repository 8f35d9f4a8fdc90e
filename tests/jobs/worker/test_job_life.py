"""Workers: what surrounds them, and that none of them is left when the server is gone, however it went."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acuity.errors import JobFailed
from acuity.jobs.service import JobOutcome, Jobs
from acuity.jobs.worker.wire import LIMITS, Kind, Message, MessageDecoder, WireError, encode, wrap
from job_helpers import PATIENCE, TASKS, Running, Watched, config, spec, with_jobs
from prepared_programs import Program

_PARENT = Path(__file__).with_name("job_parent.py")
ENDED = "the server ended while this job was waiting or running: submit it again"


@contextmanager
def _server(data: Path, *options: str) -> Iterator[tuple[Program, dict[str, Any]]]:
    """The small server, once its jobs run, and what it said."""
    command = [sys.executable, str(_PARENT), str(data), *options]
    with Program(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        try:
            yield server, json.loads(server.stdout.readline())
        finally:
            server.kill()


@pytest.mark.parametrize("options", [(), ("fork",)])
async def test_a_killed_server_leaves_no_process(tmp_path: Path, options: tuple[str, ...]) -> None:
    """With `fork`, the channels stay open: what tells the workers is that their parent is dead."""
    with _server(tmp_path, *options) as (server, said):
        processes = [Watched(pid) for pid in said["processes"]]
        assert len(processes) == 3
        assert all(process.alive for process in processes)
        server.kill()
        for process in processes:
            await process.gone()


async def test_a_worker_whose_channel_ends_is_gone_though_its_parent_lives() -> None:
    ours, theirs = socket.socketpair()
    command = [sys.executable, "-m", "acuity.jobs.worker.main", str(theirs.fileno())]
    started = subprocess.Popen(command, pass_fds=[theirs.fileno()], start_new_session=True)
    with ours, theirs, started as worker:
        theirs.close()
        ours.sendall(encode(Kind.SETUP, {"nice": 0, "memory": None, "roots": [], "warm": [], "tasks": TASKS}))
        ours.sendall(encode(Kind.JOB, {"task": "with_child", "payload": {}}))
        decoder, frames = MessageDecoder(), list[Message]()
        while not frames or frames[-1].kind is not Kind.PROGRESS:
            frames += decoder.feed(await asyncio.to_thread(ours.recv, 1000))
        child = Watched(frames[-1].value()["details"]["child"])
        ours.close()
        assert await asyncio.to_thread(worker.wait, PATIENCE) == -signal.SIGKILL
        await child.gone()


async def test_the_next_server_knows_what_the_killed_one_did(tmp_path: Path) -> None:
    with _server(tmp_path) as (server, said):
        async with Jobs(config(data=tmp_path)) as other:  # alive beside it: nothing of it is touched
            listed = [job.status for job in (await other.list())[0]]
            assert listed == ["queued", "running", "running", "completed"]
        server.kill()
        server.wait(PATIENCE)
    async with Jobs(config(data=tmp_path)) as jobs:
        found = (await jobs.list())[0]
        assert [job.status for job in found] == ["interrupted", "interrupted", "interrupted", "completed"]
        assert found[0].error == ENDED
        assert found[0].finished is not None
        assert (await jobs.result(said["done"]))["echo"] == {"word": "kept"}
        assert [path.name for path in (tmp_path / "servers").iterdir()] != []
    assert list((tmp_path / "servers").iterdir()) == []


async def test_a_server_beside_a_killed_one_says_what_became_of_its_jobs(tmp_path: Path) -> None:
    with _server(tmp_path) as (server, _):
        async with Jobs(config(data=tmp_path)) as jobs:
            queued, running, other, done = (await jobs.list())[0]
            server.kill()
            server.wait(PATIENCE)
            seen = await jobs.get(running.id)
            assert (seen.status, seen.error) == ("interrupted", ENDED)
            interrupted = [job.id for job in (await jobs.list(["interrupted"]))[0]]
            assert interrupted == [queued.id, running.id, other.id]
            assert (await jobs.list(["running", "queued"]))[0] == []
            assert (await jobs.cancel(queued.id)).status == "interrupted"  # nothing is left to cancel
            assert (await jobs.get(done.id)) == done


async def test_a_server_told_to_end_leaves_no_process(tmp_path: Path) -> None:
    with _server(tmp_path) as (server, said):
        processes = [Watched(pid) for pid in said["processes"]]
        server.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(server.wait, PATIENCE) == 0
        for process in processes:
            await process.gone()
    async with Jobs(config(data=tmp_path)) as jobs:
        found = (await jobs.list())[0]
        assert [job.status for job in found] == ["interrupted", "interrupted", "interrupted", "completed"]
        assert found[0].error == "the server stopped while 'echo it' waited: submit it again"
        assert found[1].error == "the server stopped while 'with_child it' ran: submit it again"


async def test_workers_have_less_priority_than_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENBLAS_NUM_THREADS")
    async with Jobs(config(nice=7)) as jobs:
        found = (await jobs.run(spec("surroundings"), client="a")).document
    assert found["blas"] == "1"
    assert found["nice"] == os.nice(0) + 7
    assert found["oom"] > int(Path("/proc/self/oom_score_adj").read_text())
    assert found["leader"]


async def test_workers_have_nothing_of_the_servers_input_and_output(jobs: Jobs) -> None:
    found = (await jobs.run(spec("surroundings"), client="a")).document
    assert found["stdin"] == "/dev/null"
    assert found["stdout"] == found["stderr"]
    assert found["stdout"] not in {os.readlink(f"/proc/self/fd/{fd}") for fd in (0, 1, 2)}


async def test_workers_import_nothing_from_where_the_server_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "acuity").mkdir()
    (tmp_path / "acuity" / "__init__.py").write_text("raise SystemExit('not ours')")
    monkeypatch.chdir(tmp_path)
    async with Jobs(config()) as jobs:
        assert (await jobs.run(spec("echo"), client="a")).document


async def test_workers_open_files_below_the_roots_only(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "clip.yuv").write_bytes(b"x")
    (inside / "link.yuv").symlink_to(outside / "clip.yuv")
    async with Jobs(config(roots=(str(inside),))) as jobs:
        allowed = await jobs.run(spec("read", path=str(inside / "clip.yuv")), client="a")
        assert allowed.document == {"opened": True}
        for path in (outside / "clip.yuv", inside / "link.yuv"):
            with pytest.raises(JobFailed, match="not under an allowlisted root"):
                await jobs.run(spec("read", path=str(path)), client="a")


@with_jobs(warm=("colorsys", "no_such_module"))
async def test_the_first_worker_is_warm_before_anybody_asks(jobs: Jobs) -> None:
    assert jobs.stats().workers_started == 1
    found = await jobs.run(spec("imported", modules=["colorsys", "chunk"]), client="a")
    assert found.document == {"colorsys": True, "chunk": False}
    assert jobs.stats().workers_started == 1


async def test_nothing_is_left_open_after_many_jobs() -> None:
    before = _open_files()
    async with Jobs(config(workers=2, queue=100)) as jobs:
        calls = [Running(jobs, spec("echo", n=n), client=f"c{n % 5}") for n in range(44)]
        calls += [Running(jobs, spec("end", signal="SIGKILL")) for _ in range(3)]
        holding = [Running(jobs, spec("hold")) for _ in range(3)]
        for call in holding:
            await call.holding()
            call.call.cancel()
        outcomes = [await call.outcome() for call in calls]
        assert sum(isinstance(outcome, JobOutcome) for outcome in outcomes) == 44
        worker = Watched((await jobs.run(spec("echo"), client="a")).document["pid"])
        await jobs.stop(0.0)
        assert not worker.alive
        assert jobs.stats().workers == 0
    assert _open_files() - 1 <= before  # the one that watches


def _open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


_VALUES = st.dictionaries(
    st.text(), st.none() | st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False)
)


@given(st.lists(st.tuples(st.sampled_from([Kind.JOB, Kind.RESULT]), _VALUES)), st.data())
def test_messages_come_back_whatever_the_pieces(
    values: list[tuple[Kind, dict[str, object]]], data: st.DataObject
) -> None:
    stream = b"".join(encode(kind, value) for kind, value in values)
    decoder, found = MessageDecoder(), []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        found += decoder.feed(stream[:size])
        stream = stream[size:]
    assert [(message.kind, message.value()) for message in found] == values


@given(st.binary(max_size=200))
def test_garbage_is_refused_or_is_messages(data: bytes) -> None:
    decoder = MessageDecoder()
    try:
        for message in decoder.feed(data):
            message.value()
    except WireError:
        return  # and nothing else is ever raised
    assert len(data) < 5 or data[0] in set(Kind)


@pytest.mark.parametrize("kind", Kind)
def test_a_message_beyond_its_limit_is_refused_by_its_header_alone(kind: Kind) -> None:
    header = bytes([kind]) + (LIMITS[kind] + 1).to_bytes(4, "big")
    with pytest.raises(WireError, match=f"{kind.name} message of {LIMITS[kind] + 1} bytes, more than"):
        MessageDecoder().feed(header)


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff", b"[" * 60_000])
def test_a_body_that_is_no_object_is_refused(body: bytes) -> None:
    (message,) = MessageDecoder().feed(wrap(Kind.PROGRESS, body))
    with pytest.raises(WireError, match="a PROGRESS message that"):
        message.value()
