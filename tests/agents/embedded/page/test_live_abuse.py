"""Those who mean no good to a live page: the measurement takes every frame, and the page's owner gets in."""

from __future__ import annotations

import asyncio
import socket

import httpx2
from live_page_ground import TOKEN, live_ground

FRAMES, SILENT = 20, 30
HTML = {"Accept": "text/html"}


async def test_every_frame_passes_its_boundary_while_others_reload_and_guess() -> None:
    boundaries: list[int] = []
    answers = {"reload": 0, "guess": 0}

    async with live_ground() as ground, httpx2.AsyncClient(base_url=ground.base, timeout=30) as http:
        right = {"Authorization": f"Bearer {TOKEN}"}
        assert (await http.get("/", headers=right)).status_code == 200
        ground.measurement.boundary.on_frame(lambda at: boundaries.append(at.frames_fed))
        place = (http.base_url.host, http.base_url.port or 0)
        silent = [socket.create_connection(place) for _ in range(SILENT)]
        for connection in silent:  # and never reads
            connection.sendall(b"GET /live/chart.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 20)

        async def reload() -> None:
            while True:
                assert (await http.get("/", headers=HTML)).status_code == 200
                assert (await http.get("/live/live.js")).status_code == 200
                answers["reload"] += 1

        async def guess() -> None:
            while True:
                wrong = {"Authorization": f"Bearer wrong-wrong-wrong-{answers['guess']}"}
                assert (await http.get("/", headers=wrong)).status_code in (401, 429)
                answers["guess"] += 1

        tasks = [asyncio.ensure_future(work()) for work in (reload, guess)]
        await ground.feed(FRAMES)
        assert not any(task.done() for task in tasks)  # all were answered, or wait
        for task in tasks:
            task.cancel()
        for connection in silent:
            connection.close()
        assert (await http.get("/", headers=right)).status_code == 200
    assert boundaries == list(range(1, FRAMES + 1))
    assert answers["guess"] > 0
