"""Following a measurement: subscriptions in both eras, at the client's rate, never more than it can take."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

import anyio
import httpx2
import mcp_types as types
import pytest
from mcp import Client, MCPError
from mcp.server.connection import Connection
from mcp.server.subscriptions import InMemorySubscriptionBus, ResourceUpdated, ServerEvent

from acuity.agents.embedded.resources import REPORT, SCORES, STATUS, TABLE
from acuity.agents.embedded.subscriptions import NotificationMeta, Subscriber, UpdatePublisher
from embedded_client import hosted
from live_ground import ERAS, MODEL, SECONDS, Ground, playing

pytestmark = pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")

FAST = "?rate=100"


class Heard:
    """Notifications that a client of the handshake era gets."""

    def __init__(self) -> None:
        self.updates: list[types.ResourceUpdatedNotificationParams] = []
        self._more = asyncio.Event()

    async def __call__(self, message: Any) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            self.updates.append(message.params)
            self._more.set()

    async def until(self, count: int) -> None:
        with anyio.fail_after(SECONDS):
            while len(self.updates) < count:
                self._more.clear()
                await self._more.wait()


async def follow(client: Client, era: str, *uris: str) -> None:
    if era == "legacy":
        for uri in uris:
            await client.subscribe_resource(uri)
    else:
        async with client.listen(resource_subscriptions=[*uris]):
            pass


async def read(client: Client, uri: str) -> Any:
    (content,) = (await client.read_resource(uri)).contents
    return json.loads(content.text) if content.mime_type == "application/json" else content.text


async def test_a_client_that_shook_hands_is_told_of_frames(ground: Ground) -> None:
    heard = Heard()
    async with ground.connected("legacy", message_handler=heard) as client:
        assert client.server_capabilities.resources.subscribe is True
        await client.subscribe_resource(SCORES + FAST)
        await client.subscribe_resource(SCORES + FAST)  # the same again is nothing new
        await ground.feed(3)
        await heard.until(1)
        assert str(heard.updates[0].uri) == SCORES + FAST
        await ground.flush()
        while not (told := heard.updates[-1].meta["acuity/measurement"])["over"]:
            await heard.until(len(heard.updates) + 1)
        scored = {"frames_read": 3, "frames_scored": 3, "frame": 2, "score": ground.measurement.score_at(2)}
        ended = {"paused": False, "paused_by": [], "over": True, "state": "over", "reason": None}
        assert told == scored | ended | {"scores": told["scores"]}
        await client.unsubscribe_resource(SCORES + FAST)
        await client.unsubscribe_resource(SCORES)  # was never there


async def test_a_client_without_a_handshake_listens(tmp_path: Path) -> None:
    async with (
        playing(tmp_path, MODEL) as ground,
        ground.connected("2026-07-28") as client,
        client.listen(resource_subscriptions=[STATUS + FAST, SCORES]) as events,
    ):
        assert events.honored.resource_subscriptions == [STATUS + FAST, SCORES]
        await ground.feed()
        with anyio.fail_after(SECONDS):
            first = await anext(events)
            assert first == ResourceUpdated(uri=STATUS + FAST)
            await ground.measuring(ground.measurement.pause)
            seen = {await anext(events), await anext(events)}
        assert ResourceUpdated(uri=SCORES) in seen
        assert (await read(client, STATUS + FAST))["paused"] is True


async def test_nobody_is_told_when_nothing_changes() -> None:
    """Of two addresses that are watched as often, one changes all the time and the other never."""
    changes = itertools.count()
    versions: dict[str, Callable[[], int]] = {STATUS: lambda: next(changes), SCORES: lambda: 0}
    told: list[ServerEvent] = []
    enough = asyncio.Event()

    def hear(event: ServerEvent) -> None:
        told.append(event)
        if len(told) == 3:
            enough.set()

    bus = InMemorySubscriptionBus()
    bus.subscribe(hear)
    publisher = UpdatePublisher(bus, lambda address: versions[address.resource]())
    with publisher.watching([STATUS + FAST, SCORES + FAST]), anyio.fail_after(SECONDS):
        await enough.wait()
    assert set(told) == {ResourceUpdated(uri=STATUS + FAST)}
    assert not publisher.watched


async def test_the_publisher_is_shared_and_bounded() -> None:
    publisher = UpdatePublisher(InMemorySubscriptionBus(), lambda _: 0, max_uris=2)
    with ExitStack() as stack:
        for _ in range(5):
            stack.enter_context(publisher.watching([SCORES, STATUS, "other://address"]))
        assert publisher.watched == [SCORES, STATUS]
        with pytest.raises(MCPError, match="too many addresses are watched, 2 are the most"):
            stack.enter_context(publisher.watching([f"{SCORES}?rate=7"]))
    assert publisher.watched == []


async def test_what_waits_is_one_word_for_each_address() -> None:
    """A client that doesn't read is told once of what changed a hundred times."""

    class Stuck:
        """A connection whose other end reads when it may."""

        def __init__(self) -> None:
            self.told: list[tuple[str, Any]] = []
            self.began = asyncio.Event()
            self.may = asyncio.Event()

        async def send_resource_updated(self, uri: str, *, meta: Any) -> None:
            self.began.set()
            await self.may.wait()
            self.told.append((uri, meta))

    class Numbers:
        """Counts what is told."""

        def __init__(self) -> None:
            self._changes = itertools.count()

        def begin(self, uri: str) -> None: ...

        def end(self, uri: str) -> None: ...

        async def make(self, uri: str) -> dict[str, Any]:
            return {"number": next(self._changes)}

    bus, stuck, numbers = InMemorySubscriptionBus(), Stuck(), Numbers()
    publisher = UpdatePublisher(bus, lambda _: 0)
    subscriber = Subscriber(cast(Connection, stuck), bus, publisher, cast(NotificationMeta, numbers))
    for uri in (STATUS, SCORES):
        subscriber.add(uri)
    await bus.publish(ResourceUpdated(uri=SCORES))
    await stuck.began.wait()
    for _ in range(100):
        for uri in (SCORES, STATUS, REPORT):  # the last is not subscribed to
            await bus.publish(ResourceUpdated(uri=uri))
    stuck.may.set()
    with anyio.fail_after(SECONDS):
        while len(stuck.told) < 3:
            await anyio.lowlevel.checkpoint()
    for _ in range(20):
        await anyio.lowlevel.checkpoint()
    # What it is told along with an address is of the moment when it is sent.
    assert stuck.told == [(SCORES, {"number": 0}), (SCORES, {"number": 1}), (STATUS, {"number": 2})]
    subscriber.close()
    assert not publisher.watched


@pytest.mark.parametrize("era", ERAS)
async def test_what_cannot_be_subscriber_is_refused(era: str, tmp_path: Path) -> None:
    async with playing(tmp_path, MODEL) as ground, ground.connected(era) as client:
        for rate in ("0", "1000", "often", "nan", "inf", "-1"):
            with pytest.raises(MCPError, match=rf"rate '{rate}' must be a number of times a second, 0\.1 to"):
                await follow(client, era, f"{SCORES}?rate={rate}")
        with pytest.raises(MCPError, match="'speed' is not understood"):
            await follow(client, era, f"{SCORES}?speed=1")
        if era == "legacy":
            with pytest.raises(MCPError, match="can't be subscribed to: there are acuity://measurement/sta"):
                await follow(client, era, "acuity://elsewhere")
            for number in range(16):
                await follow(client, era, f"{SCORES}?rate={number + 1}")
            with pytest.raises(MCPError, match="16 subscriptions are the most"):
                await follow(client, era, f"{SCORES}?rate=17")


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_that_leaves_is_forgotten(ground: Ground, era: str) -> None:
    left = asyncio.all_tasks()
    async with ground.connected(era) as client:
        await follow(client, era, SCORES, STATUS)
    with anyio.fail_after(SECONDS):
        while asyncio.all_tasks() - left:  # cancelled, and on their way out
            await anyio.lowlevel.checkpoint()
    assert not ground.bus._listeners


async def test_resources_can_be_read(ground: Ground) -> None:
    listed = [str(resource.uri) for resource in (await ground.client.list_resources()).resources]
    assert listed == [STATUS, SCORES, REPORT, TABLE]
    empty = await read(ground.client, SCORES)
    assert (empty["count"], empty["frames"]) == (0, [])
    with pytest.raises(MCPError, match="no frame was measured"):
        await read(ground.client, REPORT)
    await ground.finish(6)
    scores = await read(ground.client, f"{SCORES}?frames=1-3&rate=2")
    assert [row["frame"] for row in scores["frames"]] == [1, 2, 3]
    assert scores["aggregate"]["mean"] == ground.measurement.pool()
    assert len((await read(ground.client, SCORES))["frames"]) == 6
    report = await read(ground.client, f"{REPORT}?frames=4-{'9' * 30}")
    assert [row["frameNum"] for row in report["frames"]] == [4, 5]
    header, *rows = (await read(ground.client, f"{TABLE}?frames=0-1")).splitlines()
    assert header.startswith("Frame,")
    assert len(rows) == 2
    for bad in ("report?frames=3-1", "report?frames=x", "status?frames=0-1", f"report?{'x' * 300}"):
        with pytest.raises(MCPError):
            await read(ground.client, f"acuity://measurement/{bad}")


def test_a_lone_request_cannot_subscribe_over_http(tmp_path: Path) -> None:
    """Nothing could be told to one who posts a request and leaves."""
    with hosted(tmp_path) as (_, server):
        request = {"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": {"uri": SCORES}}
        answer = httpx2.post(server.start_sse().url, json=request, timeout=SECONDS).json()
        assert "nothing can be told over this connection" in answer["error"]["message"]
