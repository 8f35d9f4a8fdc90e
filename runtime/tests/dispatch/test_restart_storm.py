"""Many sessions at once, killed at any moment and resumed: each message comes to its client exactly once."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import anyio
import httpx2
import pytest

from raw_http import Event, RawSession, call, events, http_client, open_session
from restarts import Restarts, restarts

SOON = 60.0  # seconds, after which a test gives up
UPTO = 60  # numbers that each call says three times
END = "the end"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Restarts]:
    with restarts(tmp_path_factory.mktemp("storm")) as server:
        yield server


class Storm:
    """The clients of one server, and the moment at which it is killed."""

    def __init__(self, server: Restarts) -> None:
        self._server = server
        self._left = 0

    async def blow(self, left: int, *streams: Callable[[], Any]) -> None:
        """Read the streams until the server is killed, after so many messages."""
        self._left = left
        async with anyio.create_task_group() as tasks:
            for stream in streams:
                tasks.start_soon(stream)

    def tell(self) -> None:
        """Note a message that a client got."""
        self._left -= 1
        if self._left == 0:
            self._server.kill()


class Client:
    """A session with one call and one GET, each of which goes on where it was."""

    def __init__(self, session: RawSession, storm: Storm) -> None:
        self.called: list[dict[str, Any]] = []
        self.heard: list[dict[str, Any]] = []
        self.call_id = self._get_id = ""
        self._session = session
        self._storm = storm

    async def call(self) -> None:
        request = call(1, "count", upto=UPTO, stay=True)
        request["params"]["_meta"] = {"progressToken": "t"}
        await self._read_call("POST", request, {})

    async def resume(self) -> None:
        """Go on with the call, if the client knows an event of it and not yet its end."""
        if self.call_id and not (self.called and "error" in self.called[-1]):
            await self._read_call("GET", None, {"Last-Event-ID": self.call_id})

    async def listen(self) -> None:
        """Take what is sent outside of the call, up to the word for the end."""
        headers = {"Last-Event-ID": self._get_id} if self._get_id else {}
        async for event in self._stream("GET", None, headers):
            self._get_id = event.id or self._get_id
            if event.message:
                self.heard.append(event.message)
                self._storm.tell()
                if event.message["params"]["data"] == END:
                    return

    async def finish(self) -> None:
        """Have one more message sent, to know that all others have come."""
        answer = await self._session.post(call(2, "say", text=END))
        assert answer.status_code == 200

    def said(self) -> list[int | str]:
        return [message["params"]["data"] for message in self.heard]

    def counted(self, key: str) -> list[int]:
        params = [message["params"] for message in self.called if "params" in message]
        return [int(said[key]) for said in params if key in said]

    async def _read_call(self, method: str, request: Any, headers: dict[str, str]) -> None:
        async for event in self._stream(method, request, headers):
            self.call_id = event.id or self.call_id
            if event.message:
                self.called.append(event.message)
                self._storm.tell()

    async def _stream(self, method: str, body: Any, headers: dict[str, str]) -> AsyncIterator[Event]:
        session = self._session
        given = {**session.headers, **headers}
        try:
            async with session.http.stream(method, session.url, json=body, headers=given) as response:
                assert response.status_code == 200
                async for event in events(response):
                    yield event
        except httpx2.TransportError:  # the server was killed
            pass


@pytest.mark.parametrize("seed", range(4))
async def test_each_message_comes_once(server: Restarts, seed: int) -> None:
    chance = random.Random(seed)
    storm = Storm(server)
    with anyio.fail_after(SOON):
        async with http_client() as http:
            url = server.url or server.start()
            clients = [Client(await open_session(url, http), storm) for _ in range(6)]
            listeners = [client.listen for client in clients if chance.random() < 0.7]
            calls = [client.call for client in clients]
            await storm.blow(chance.randint(1, 3 * UPTO), *calls, *listeners)
            server.start()
            # Each call that somebody resumes has an answer, so at least as many messages come.
            known = sum(client.call_id != "" for client in clients)
            again = [stream for client in clients for stream in (client.resume, client.listen)]
            if known:
                await storm.blow(chance.randint(1, known), *again)
                server.start()
            ends = [stream for client in clients for stream in (client.resume, client.listen, client.finish)]
            await storm.blow(-1, *ends)
    for client in clients:
        check(client)


def check(client: Client) -> None:
    said = client.said()
    assert said == [*range(1, len(said)), END]
    if client.call_id:
        progress, logged = client.counted("progress"), client.counted("data")
        assert progress == list(range(1, len(progress) + 1))
        assert logged == list(range(1, len(logged) + 1))
        assert len(progress) >= len(logged) >= len(said) - 1 >= len(progress) - 1
        assert "restarted before this call ended" in client.called[-1]["error"]["message"]
        assert sum("error" in message for message in client.called) == 1
