"""Workers as processes: started, killed, replaced, and none left, whatever happens to the server."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from core_bench import call, reply_of
from longwire.settings import WireLimits
from longwire.workers import worker as worker_module
from longwire.workers.home import WorkerPlan
from longwire.workers.slot import Pauses
from prepared_programs import Program
from scripted_worker import WorkerCore
from waiting import until

SCRIPT = Path(__file__).with_name("small_worker.py")


def command(how: str = "plain") -> tuple[str, ...]:
    return (sys.executable, str(SCRIPT), how)


@asynccontextmanager
async def started(*words: str, **plan: Any) -> AsyncIterator[WorkerCore]:
    """The core in front of workers that it starts."""
    front = WorkerCore(WorkerPlan(words or command(), **{"count": 1, **plan}), WireLimits())
    await front.pool.start()
    async with front.core.run():
        yield front
    assert not any(is_alive(status.pid) for status in front.pool.statuses() if status.pid)


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def answering_pid(front: WorkerCore, number: int = 1) -> int:
    """The process that a call was answered by."""
    pid: int = (await front.called(number))["result"]["structuredContent"]["pid"]
    return pid


async def test_a_killed_worker_is_replaced_and_calls_go_on() -> None:
    async with started(queue_seconds=20.0) as front:
        first = (await front.called())["result"]["structuredContent"]
        assert first["label"] == "w1"
        (status,) = front.pool.statuses()
        assert (status.pid, status.state, status.name) == (first["pid"], "ready", "small")
        assert os.stat(Path(status.socket).parent).st_mode & 0o777 == 0o700
        os.kill(first["pid"], signal.SIGKILL)
        await until(lambda: front.pool.statuses()[0].state != "ready")
        second = await answering_pid(front, 2)  # waits for the next
        assert second != first["pid"]
        assert front.pool.statuses()[0].restarts == 1
        folder = Path(status.socket).parent
    assert not is_alive(second)
    assert not folder.exists()


@pytest.mark.parametrize(("sign", "words"), [(None, "it ended with status 3"), (9, "signal 9 (SIGKILL)")])
async def test_the_end_of_a_worker_is_told_with_its_status(
    caplog: pytest.LogCaptureFixture, sign: int | None, words: str
) -> None:
    async with started(*command("brief"), queue_seconds=20.0) as front:
        pid = await answering_pid(front)
        if sign is None:
            lost = (await front.called(2))["error"]["message"]
            assert lost == "the program that ran this call ended before it answered: call again"
        else:
            os.kill(pid, sign)
        await until(lambda: front.counters.worker_events["starts"] == 2)
    (said,) = [r.getMessage() for r in caplog.records if getattr(r, "event", "") == "worker_failed"]
    assert words in said
    assert ("saying 'my last words'" in said) == (sign is None)
    assert "the next start is in 0.1 s" in said


def test_workers_that_have_answered_come_back_soon_and_others_later() -> None:
    class Ended:
        def __init__(self, has_answered: bool) -> None:
            self.has_answered, self.ready_seconds = has_answered, 1.0

    def waits(pauses: Pauses, answered: str) -> list[float]:
        return [pauses.after(Ended(letter == "a")) for letter in answered]  # type: ignore[arg-type]

    assert waits(Pauses(external=False), "aaaaaaaa")[-1] == 2.0
    assert waits(Pauses(external=False), "-" * 12) == [0.1 * 2**n for n in range(9)] + [30.0] * 3
    assert waits(Pauses(external=True), "-" * 12)[-1] == 1.0
    mixed = Pauses(external=False)
    assert waits(mixed, "----a-") == [0.1, 0.2, 0.4, 0.8, 0.1, 0.1]


async def test_a_program_that_does_not_start_is_told_of(caplog: pytest.LogCaptureFixture) -> None:
    words = (sys.executable, "-c", "raise SystemExit('no luck\\ntoday')")
    async with started(*words, queue_seconds=0.2) as front:
        await until(lambda: front.pool.statuses()[0].state == "waiting")
        assert "saying 'no luck today'" in (front.pool.statuses()[0].problem or "")
        error = (await front.called())["error"]
        assert error["data"]["errorClass"] == "worker_queue_timeout"
        assert error["message"] == "no worker was free within 0.2 s: try again later"
        await until(lambda: front.counters.worker_events["restarts"] == 3)
    failed = [r for r in caplog.records if getattr(r, "event", "") == "worker_failed"]
    assert [record.levelname for record in failed[:3]] == ["WARNING", "WARNING", "ERROR"]
    assert "worker w1 can't be started: it ended with status 1" in failed[2].getMessage()


async def test_operators_start_a_waiting_worker_now() -> None:
    words = (sys.executable, "-c", "raise SystemExit('no luck')")
    async with started(*words) as front:
        events = front.counters.worker_events
        await until(lambda: events["restarts"] == 5)  # the next start is in 1.6 s
        assert front.pool.statuses()[0].state == "waiting"
        assert front.pool.restart("w1")
        assert front.pool.statuses()[0].restarts == 4
        async with asyncio.timeout(1.5):
            await until(lambda: front.pool.statuses()[0].restarts == 5)


async def test_a_stubborn_worker_is_killed_with_its_children(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_module, "END_SECONDS", 0.2)
    async with started(*command("stubborn")) as front:
        pid = await answering_pid(front)
        (child,) = psutil.Process(pid).children()
    assert not is_alive(pid)
    await until(lambda: not is_alive(child.pid))


async def test_a_replaced_worker_leaves_when_its_successor_is_there() -> None:
    async with started(max_requests=2, queue_seconds=20.0) as front:
        pids = [await answering_pid(front, number) for number in range(2)]
        assert len(set(pids)) == 1
        await until(lambda: not is_alive(pids[0]))
        assert "result" in await front.called(3)
        assert not front.counters.worker_failures


async def test_a_worker_has_only_the_variables_that_it_is_to_have(tmp_path: Path) -> None:
    seen = tmp_path / "environ"
    words = ("sh", "-c", f'env > "{seen}"; exec "$@"', "wrapper", *command())
    inherited = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    async with started(*words, inherited=inherited, environment={"A": "b"}) as front:
        assert "result" in await front.called()
    names = {line.partition("=")[0] for line in seen.read_text().splitlines()}
    own = {"LONGWIRE_WORKER_SOCKET", "LONGWIRE_WORKER_LABEL", "LONGWIRE_PARENT_PID"}
    assert names - {"PWD", "_", "SHLVL", "OLDPWD"} == {"PATH", "LANG", "A", *own}


async def test_operators_restart_a_worker_at_once() -> None:
    async with started(queue_seconds=20.0) as front:
        first = await answering_pid(front)
        assert front.pool.restart("w1")
        assert not front.pool.restart("w9")
        assert await answering_pid(front, 2) != first
        await until(lambda: not is_alive(first))
        assert not front.counters.worker_events["restarts"]


async def test_a_call_that_outlives_the_grace_is_told_that_the_server_stops() -> None:
    async with started(*command("slow"), queue_seconds=20.0) as front:
        answer = front.client.stateless(call(1, "echo"))
        await until(lambda: front.pool.statuses()[0].in_flight == 1)
        await front.pool.stop(0.05)
        await until(lambda: answer.gone)
        error = reply_of(answer)["error"]
        assert "the server is stopping" in error["message"]
        assert error["data"]["errorClass"] == "worker_lost"


WRAPPED = ("sh", "-c", '"$@"; true', "wrapper", *command())


@pytest.mark.parametrize("words", [command(), WRAPPED], ids=["direct", "wrapped"])
async def test_a_server_that_is_killed_leaves_no_worker(tmp_path: Path, words: tuple[str, ...]) -> None:
    program = textwrap.dedent(f"""
        import asyncio
        from collections import Counter
        from longwire.workers.home import WorkerPlan
        from longwire.workers.pool import WorkerPool

        async def main():
            pool = WorkerPool(WorkerPlan({words!r}, 1), Counter())
            await pool.start()
            assert await pool.ready(30)
            print(pool.statuses()[0].pid, flush=True)
            await asyncio.Event().wait()

        asyncio.run(main())
    """)
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    server = Program([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=environment)
    assert server.stdout is not None
    worker = psutil.Process(int(server.stdout.readline()))
    pids = [worker.pid, *(child.pid for child in worker.children(recursive=True))]
    assert len(pids) == (2 if words is WRAPPED else 1)
    assert all(map(is_alive, pids))
    server.kill()
    server.wait()
    server.stdout.close()
    await until(lambda: not any(map(is_alive, pids)))
