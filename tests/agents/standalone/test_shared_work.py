"""What one client's long work leaves for others: short work ends beside it, in real worker processes."""

from __future__ import annotations

from pathlib import Path

import anyio

from product_server import LONG, product_on_http, raw_pair
from test_ownership import ALICE, BOB, TOKENS, client, document, finished


async def test_a_short_score_ends_while_another_clients_long_jobs_run(tmp_path: Path) -> None:
    short, long = raw_pair(tmp_path, 2), raw_pair(tmp_path, LONG)
    async with (
        product_on_http(tmp_path, TOKENS) as url,
        client(url, "legacy", ALICE) as alice,
        client(url, "legacy", BOB) as bob,
    ):
        for _ in range(3):
            await document(bob, "submit_job", tool="vmaf_score", arguments=long)
        with anyio.fail_after(60):
            await finished(alice, short)
            assert "score" in await document(alice, "vmaf_score", **short)
        jobs = (await document(bob, "list_jobs"))["jobs"]
        assert sorted(job["status"] for job in jobs) == ["queued", "queued", "running"]
