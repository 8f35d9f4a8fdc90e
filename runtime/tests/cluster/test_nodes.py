"""Leases of nodes: one process for each label, lost while it is away, and the list for operators."""

from __future__ import annotations

import pytest

from cluster_ground import LEASE, Ground, lease_ended, lease_forgotten
from cluster_nodes import free_port
from longwire.cluster.nodes import Nodes
from longwire.cluster.redis_link import RedisLink, open_redis
from longwire.errors import ClusterUnavailable, SettingsError
from redis_server import COMMAND_WAIT, needs_redis, redis_server
from waiting import until

pytestmark = needs_redis


async def test_a_second_node_with_the_same_label_is_refused(nodes: Ground) -> None:
    await nodes.node("a")
    with pytest.raises(SettingsError, match="label 'a' is running already, at http://127"):
        await nodes.node("a")


async def test_a_node_with_another_secret_is_refused_while_others_live(nodes: Ground) -> None:
    a = await nodes.node("a", secret="11")
    same = await nodes.node("b", secret="11")
    assert (same.nodes.living, same.nodes.problem) == (2, None)
    with pytest.raises(SettingsError, match=r"secret is another than that of the node '[ab]'.* http"):
        await nodes.node("c", secret="22")
    await a.ownership.release_all()
    await same.kill()
    new = await nodes.node("c", secret="22")  # waits for the lease of the dead one
    assert new.nodes.living == 1


async def test_operators_are_told_why_leases_are_not_known(nodes: Ground, link: RedisLink) -> None:
    a = await nodes.node("a")
    assert a.nodes.problem is None
    await link.call("CONFIG", "SET", "maxmemory", "1")
    try:
        await until(lambda: a.nodes.problem)
        assert "refuses to renew the lease of this node" in str(a.nodes.problem)
        assert "try again" not in str(a.nodes.problem)
    finally:
        await link.call("CONFIG", "SET", "maxmemory", "0")
    await until(lambda: a.nodes.problem is None)
    a.gate.shut()
    await until(lambda: not a.link.healthy)
    assert "doesn't answer" in str(a.nodes.problem)


async def test_a_node_that_was_killed_can_start_again_at_once(nodes: Ground) -> None:
    first = await nodes.node("a")
    await first.kill()
    again = await nodes.node("a")  # waits for the lease of the dead one
    assert again.nodes.incarnation != first.nodes.incarnation
    assert again.nodes.holds_lease


async def test_operators_see_all_nodes(nodes: Ground) -> None:
    a, b, c = [await nodes.node(label) for label in "abc"]
    await b.kill()
    await lease_ended(a, "b")
    await c.ownership.release_all()
    found = await a.nodes.statuses()
    assert [(status.label, status.alive) for status in found] == [("a", True), ("b", False)]
    assert found[0].address == a.nodes.address
    assert found[0].incarnation == a.nodes.incarnation
    assert abs(found[0].since - a.link.now()) < 60


async def test_a_node_knows_that_it_lost_its_lease(nodes: Ground, link: RedisLink) -> None:
    a = await nodes.node("a")
    returns: list[bool] = []
    a.nodes.on_return(lambda forgot, _: returns.append(forgot))
    assert a.nodes.holds_lease
    a.gate.shut()
    await until(lambda: not a.nodes.holds_lease)
    await lease_forgotten(link, "a")
    await a.gate.open()
    await until(lambda: a.nodes.holds_lease)
    await until(lambda: returns == [False])


async def test_a_node_whose_place_was_taken_does_not_fight_for_it(
    nodes: Ground, caplog: pytest.LogCaptureFixture
) -> None:
    first = await nodes.node("a")
    session = await first.begin()
    first.gate.shut()
    second = await nodes.node("a")
    await first.gate.open()
    await until(lambda: "took this one's place" in caplog.text)
    assert not first.nodes.holds_lease
    assert second.nodes.holds_lease
    assert await second.reach(session.id) is not None
    session.log.notify(b"{}")
    await until(lambda: session.ended == "moved")


async def test_without_redis_a_node_does_not_start(caplog: pytest.LogCaptureFixture) -> None:
    async with open_redis("unix:///nowhere/redis.sock", "a") as link:
        nodes = Nodes(link, "http://127.0.0.1:1", lease=LEASE)
        with pytest.raises(SettingsError, match="start it, or correct its address"):
            await nodes.join()
    assert "go on from memory" not in caplog.text  # it has none


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"requirepass": "secret"}, r"\(Authentication required.*correct the user or the password"),
        ({"cluster_enabled": "yes", "port": str(free_port())}, "use a single server"),
    ],
)
async def test_a_redis_that_can_t_serve_nodes_is_named(options: dict[str, str], sentence: str) -> None:
    with redis_server(**options) as server:
        async with open_redis(server.url, "a", wait=COMMAND_WAIT) as link:
            nodes = Nodes(link, "http://127.0.0.1:1", lease=LEASE)
            with pytest.raises(SettingsError, match=sentence):
                await nodes.join()


async def test_a_server_that_became_a_replica_is_left(link: RedisLink) -> None:
    await link.call("SET", "x", "1")
    await link.call("REPLICAOF", "127.0.0.1", "1")
    try:
        with pytest.raises(ClusterUnavailable):
            await link.call("SET", "x", "2")
    finally:
        await link.call("REPLICAOF", "NO", "ONE")
    await link.call("SET", "x", "3")
