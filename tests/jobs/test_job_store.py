"""The memory of jobs: bounded, shared between servers, and one clear sentence where it can't be used.

Large results are read beside the event loop, which goes on meanwhile.
"""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from acuity.errors import JobCancelled, JobError, StoreError
from acuity.jobs import store as documents
from acuity.jobs.service import Jobs
from acuity.jobs.shared_turns import Instance
from acuity.jobs.store import Database, Store
from job_helpers import PATIENCE, Running, config, spec
from longwire.work import Job, Progress


def _job(number: int, **changes: Any) -> Job:
    return replace(
        Job(f"id{number}", "tool", f"title {number}", "client", "queued", float(number)), **changes
    )


def _finished(number: int, **changes: Any) -> Job:
    return _job(number, status="completed", started=number + 0.1, finished=number + 0.5, **changes)


def _database(path: Path | None, kept: int = 1000, kept_bytes: int = 1 << 30) -> Database:
    return Database(path, "me", kept, kept_bytes)


def _fill(database: Database, numbers: Iterable[int], document: str = "{}") -> None:
    for number in numbers:
        database.insert(_job(number))
        database.finish(_finished(number), document)


@pytest.mark.parametrize("name", ["jobs.sqlite", None])
def test_what_is_written_is_read(tmp_path: Path, name: str | None) -> None:
    database = _database(None if name is None else tmp_path / name)
    database.insert(_job(1))
    assert database.get("id1") == _job(1)
    database.start("id1", 1.1)
    assert database.get("id1") == _job(1, status="running", started=1.1)
    done = _finished(1, progress=Progress(3.0, None, "m", {"fps": 2.5}))
    database.finish(done, '{"a": "é"}')
    assert database.get("id1") == done
    assert database.document("id1") == '{"a": "é"}'
    assert database.get("id2") is database.document("id2") is None
    database.close()


def test_the_newest_are_kept(tmp_path: Path) -> None:
    database = _database(tmp_path / "jobs.sqlite", kept=3)
    database.insert(_job(500))  # not finished: never forgotten
    _fill(database, range(10))
    assert [job.id for job in database.list((), 100)] == ["id9", "id8", "id7", "id500"]
    assert database.document("id6") is None
    assert database.document("id7") == "{}"


def test_large_results_push_old_ones_out_sooner(tmp_path: Path) -> None:
    database = _database(tmp_path / "jobs.sqlite", kept_bytes=2500)
    _fill(database, range(5), '"' + "x" * 1000 + '"')
    assert [job.id for job in database.list((), 100)] == ["id4", "id3"]
    _fill(database, [9], '"' + "x" * 9000 + '"')
    assert [job.id for job in database.list((), 100)] == ["id9"]  # never the newest itself


def test_the_file_shrinks_again(tmp_path: Path) -> None:
    path = tmp_path / "jobs.sqlite"
    database = _database(path, kept=3)
    _fill(database, range(3), '"' + "x" * (2 << 20) + '"')
    _fill(database, range(3, 6))
    database.close()
    assert path.stat().st_size < 1 << 20


async def test_nobody_else_may_read_it(tmp_path: Path) -> None:
    async with Jobs(config(data=tmp_path / "new" / "data")) as jobs:
        await jobs.run(spec("echo"), client="a")
        data = tmp_path / "new" / "data"
        assert _mode(data) == _mode(data / "servers") == 0o700
        assert {_mode(file) for file in data.glob("jobs.sqlite*")} == {0o600}


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_results_outlive_the_service(tmp_path: Path) -> None:
    async with Jobs(config(data=tmp_path)) as jobs:
        outcome = await jobs.run(spec("echo", word="kept"), client="a")
    async with Jobs(config(data=tmp_path)) as jobs:
        assert await jobs.result(outcome.id) == outcome.document
        assert (await jobs.cancel(outcome.id)).status == "completed"


async def test_two_servers_share_a_folder(tmp_path: Path) -> None:
    async with Jobs(config(data=tmp_path)) as one:
        running = Running(one, spec("hold"))
        await running.holding()
        async with Jobs(config(data=tmp_path)) as two:
            (job,) = (await two.list())[0]
            assert job.status == "running"  # its server is alive
            outcome = await two.run(spec("echo", word="hi"), client="b")
            await two.list()  # by then it is written
            assert await one.result(outcome.id) == outcome.document
            waiting = asyncio.ensure_future(two.wait(job.id))
            cancelled = await two.cancel(job.id)
            assert (cancelled.status, cancelled.error) == ("cancelled", "'hold it' was cancelled")
            assert await waiting == cancelled
            assert isinstance(await running.outcome(), JobCancelled)
        assert len((await one.list())[0]) == 2


def test_many_servers_may_start_at_once(tmp_path: Path) -> None:
    program = (
        "import sys, pathlib\n"
        "from acuity.jobs.store import Database\n"
        "from longwire.work import Job\n"
        "sys.stdin.read()\n"
        "me = sys.argv[2]\n"
        "database = Database(pathlib.Path(sys.argv[1]), me, 100, 100)\n"
        "for n in range(20): database.insert(Job(f'{me}.{n}', 't', 't', 'c', 'queued', 0.0))\n"
    )
    path = tmp_path / "jobs.sqlite"
    command = [sys.executable, "-c", program, str(path)]
    servers = [subprocess.Popen([*command, str(n)], stdin=subprocess.PIPE) for n in range(6)]
    for server in servers:
        server.stdin.close()
    assert [server.wait(60) for server in servers] == [0] * 6
    assert len(_database(path).list((), 1000)) == 120


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda path: path.write_bytes(b"not a database " * 1000), "file is not a database"),
        (lambda path: path.mkdir(), "Is a directory"),
        (lambda path: _with_version(path, 99), "was written by a newer Acuity (tables of version 99)"),
    ],
)
async def test_a_file_that_is_no_use_is_told_in_one_sentence(tmp_path: Path, spoil: Any, words: str) -> None:
    spoil(tmp_path / "jobs.sqlite")
    with pytest.raises(JobError) as caught:
        await Jobs(config(data=tmp_path)).start()
    assert words in str(caught.value)
    assert str(tmp_path) in str(caught.value)
    assert "name another folder with ACUITY_DATA" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert list((tmp_path / "servers").iterdir()) == []


def _with_version(path: Path, version: int) -> None:
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()


async def test_a_folder_that_is_no_use_is_told_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    for name, words in (("file", "File exists"), ("file/data", "Not a directory")):
        with pytest.raises(JobError, match=f"can't hold the memory of jobs .{words}.: name another folder"):
            await Jobs(config(data=tmp_path / name)).start()


async def test_a_database_damaged_later_is_told_too(tmp_path: Path) -> None:
    async with Jobs(config(data=tmp_path)) as jobs:
        outcome = await jobs.run(spec("large", frames=10_000), client="a")
    path = tmp_path / "jobs.sqlite"
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (path.stat().st_size - 4096))
    with pytest.raises(JobError, match="can't be used as the memory of jobs"):
        async with Jobs(config(data=tmp_path)) as jobs:
            await jobs.result(outcome.id)


def _full(*_: object) -> None:
    raise sqlite3.OperationalError("database or disk is full")


async def test_a_job_that_the_store_refuses_is_answered_and_remembered_for_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Jobs(config(data=tmp_path)) as jobs:
        monkeypatch.setattr(Database, "finish", _full)
        outcome = await jobs.run(spec("echo", word="hi"), client="a")
        assert outcome.document["echo"] == {"word": "hi"}
        assert await jobs.result(outcome.id) == outcome.document
        assert (await jobs.get(outcome.id)).status == "completed"
        for _ in range(25):
            await jobs.run(spec("echo"), client="a")
        await jobs.list()  # after all writes
        assert len(jobs._entries) <= 21


async def test_a_job_that_cannot_be_written_down_is_not_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Jobs(config(data=tmp_path)) as jobs:
        monkeypatch.setattr(Database, "insert", _full)
        with pytest.raises(StoreError, match="database or disk is full"):
            await jobs.submit(spec("hold"), client="a")
        assert (await jobs.run(spec("echo", word="hi"), client="a")).document  # whoever waits gets an answer


def _fill_disk(jobs: Jobs) -> None:
    """Let the file have no page more than it has."""
    database = jobs._store._database
    (pages,) = database._connection.execute("PRAGMA page_count").fetchone()
    database._connection.execute(f"PRAGMA max_page_count = {pages}")


async def test_a_full_disk_is_called_a_full_disk(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with Jobs(config(data=tmp_path)) as jobs:
        first = await jobs.run(spec("echo"), client="a")
        await jobs.list()
        _fill_disk(jobs)
        large = replace(spec("echo"), title="x" * 20_000)  # more than the last page has room for
        done = [await jobs.run(large, client="a") for _ in range(3)]
        with pytest.raises(StoreError, match="the disk is full: make room, or name another folder"):
            await jobs.submit(large, client="a")
        listed, more = await jobs.list(["completed"])
        assert not more
        assert {first.id, *(outcome.id for outcome in done)} <= {job.id for job in listed}
        assert [job.created for job in listed] == sorted((job.created for job in listed), reverse=True)
        for outcome in done:  # what is in the list can be had, and the other way round
            assert await jobs.get(outcome.id) in listed
        assert [job.id for job in (await jobs.list(limit=1))[0]] == [(await jobs.list())[0][0].id]
        assert (await jobs.list(limit=1))[1]
    assert "the disk is full: make room" in caplog.text
    assert "FOREIGN KEY" not in caplog.text


async def test_a_job_that_began_without_room_is_kept_if_there_is_some_at_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    insert = Database.insert

    def full(*_: object) -> None:
        monkeypatch.setattr(Database, "insert", insert)
        _full()

    async with Jobs(config(data=tmp_path)) as jobs:
        monkeypatch.setattr(Database, "insert", full)
        outcome = await jobs.run(spec("echo", word="kept"), client="a")
    async with Jobs(config(data=tmp_path)) as jobs:
        (job,) = (await jobs.list())[0]
        assert (job.id, job.status, job.client) == (outcome.id, "completed", "a")
        assert job.started
        assert await jobs.result(outcome.id) == outcome.document


async def test_calls_take_effect_in_the_order_they_were_made(tmp_path: Path) -> None:
    store = Store(config(data=tmp_path))
    await store.open()
    inserted, found = store.do(Database.insert, _job(1)), store.do(Database.get, "id1")
    assert await found == _job(1)
    await inserted
    await store.close()
    await store.close()
    with pytest.raises(StoreError, match="stopping"):
        await store.do(Database.get, "id1")


def test_a_server_is_alive_while_it_holds_its_lock(tmp_path: Path) -> None:
    one, two = Instance(tmp_path), Instance(tmp_path)
    assert one.alive(two.id)
    assert one.alive(one.id)
    assert not one.alive("nobody")
    left = tmp_path / "dead.lock"
    left.touch()
    assert not one.alive("dead")
    one.tidy()
    assert not left.exists()
    assert one.alive(two.id)
    two.close()
    two.close()
    assert not one.alive(two.id)
    one.close()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("frames", [0, 1, 10_000])
async def test_documents_are_read_whole(frames: int) -> None:
    document = {"frames": [{"frame": n, "vmaf": n / 3} for n in range(frames)], "name": "é"}
    assert await documents.parse(json.dumps(document)) == document


async def test_the_loop_gets_its_turn_in_the_middle_of_a_large_one(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.get_running_loop()
    turns: list[bool] = []

    def hook(value: dict[str, Any]) -> dict[str, Any]:
        if len(turns) < 3:
            turn = threading.Event()
            loop.call_soon_threadsafe(turn.set)
            turns.append(turn.wait(PATIENCE))
        return value

    monkeypatch.setattr(documents, "_unchanged", hook)
    await documents.parse(json.dumps([{"frame": n} for n in range(10_000)]))
    assert turns == [True, True, True]
