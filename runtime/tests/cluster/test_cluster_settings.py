"""The settings of a cluster: what is refused before a start, and what `--check` shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("redis", reason="the extra 'cluster' is not installed")

from longwire.config.effective import Effective
from longwire.config.finding import as_json, as_toml, effective
from longwire.errors import SettingsError
from longwire.server.start_checks import check_start, start_warnings
from longwire.wire.listeners import Address


def found(folder: Path, **changed: Any) -> Effective:
    """The values of a node that is as it should be, but for what a test changes."""
    secret = folder / "secret"
    secret.write_text("s" * 40)
    secret.chmod(0o600)
    values: dict[str, Any] = {
        "cluster.redis": "redis://:hush@127.0.0.1:6379/1",
        "cluster.node": "n1",
        "cluster.peers": Address("127.0.0.1", 7001),
        "cluster.address": "http://127.0.0.1:7001",
        "cluster.secret_file": secret,
        "server.http": Address("127.0.0.1", 8001),
        "server.data": folder / "data",
    }
    values |= {name.replace("__", "."): value for name, value in changed.items()}
    return effective({name: value for name, value in values.items() if value is not None}, {})


def test_a_proxy_that_nobody_named_is_a_warning(tmp_path: Path) -> None:
    (said,) = start_warnings(found(tmp_path))
    assert said == (
        "--cluster-redis: clients behind a proxy count as one: name it in [auth] trusted_proxies, "
        "or set that to [] if there is none"
    )
    here = {"server.http": Address("127.0.0.1", 8001), "auth.allow_host": ("mcp.example",)}
    (said,) = start_warnings(effective(here, {}))
    assert said.startswith("--allow-host: clients behind a proxy count as one")
    everywhere = {**here, "server.http": Address("0.0.0.0", 8001)}
    for values in (everywhere, {**here, "auth.trusted_proxies": ("127.0.0.1",)}):
        assert start_warnings(effective(values, {})) == []


def test_a_node_as_it_should_be(tmp_path: Path) -> None:
    values = found(tmp_path, auth__trusted_proxies=())
    check_start(values)
    assert start_warnings(values) == []
    for shown in (as_toml(values), as_json(values), repr(values.settings())):
        assert "hush" not in shown
        assert "sssss" not in shown
    rows = {row["key"]: row["value"] for row in json.loads(as_json(values))["keys"]}
    assert rows["cluster.redis"] == "redis://***@127.0.0.1:6379/1"


def test_a_server_without_redis_is_alone(tmp_path: Path) -> None:
    values = found(tmp_path, cluster__redis=None)
    check_start(values)
    assert "--cluster-node: this server is in no cluster: set [cluster] redis too" in start_warnings(values)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"cluster__node": None}, "--cluster-redis: a node of a cluster has a label of its own, such as n1"),
        ({"cluster__node": "N_1"}, "--cluster-node: the node's label 'N_1' can't begin ids: write 1 to 16"),
        ({"cluster__address": None}, "the other nodes have to know where this one is: set [cluster] address"),
        ({"cluster__address": "10.0.0.1:7"}, "'10.0.0.1:7' is no address of a node: write http://HOST:PORT"),
        ({"cluster__address": "https://a:7"}, "'https://a:7' is no address of a node"),
        ({"cluster__address": "http://a"}, "is no address of a node"),
        ({"cluster__address": "http://a:7/x"}, "is no address of a node"),
        ({"cluster__address": "http://a:7/"}, "ends with a slash: leave it out"),
        ({"cluster__address": "http://0.0.0.0:7"}, "is where a port listens, not where it is"),
        ({"cluster__address": "http://10.0.0.1:7"}, "can be reached from this machine only"),
        ({"cluster__secret_file": None}, "the nodes of a cluster share a secret: write one with 'open"),
        ({"cluster__secret_file": Path("/none")}, "--cluster-secret-file: can't read the cluster's secret"),
        ({"cluster__peers": None}, "the other nodes need a port of this one: set [cluster] peers"),
        ({"cluster__peers": Address("127.0.0.1", 8001)}, "127.0.0.1:8001 is the port of server.http already"),
        ({"cluster__prefix": "a b"}, "--cluster-prefix: the cluster's prefix 'a b' can't begin keys"),
        ({"server__http": None}, "the nodes of a cluster share sessions of Streamable HTTP: set http too"),
        (
            {"store__sessions": "sqlite:/tmp/no-test.db"},
            "of a cluster keeps its sessions in Redis: leave",
        ),
    ],
)
def test_refusals(tmp_path: Path, changed: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SettingsError) as caught:
        check_start(found(tmp_path, **changed))
    assert sentence in str(caught.value)


def test_a_short_secret_is_refused_and_an_open_one_is_warned_of(tmp_path: Path) -> None:
    values = found(tmp_path)
    (tmp_path / "secret").chmod(0o644)
    assert any("everybody on this machine can use" in sentence for sentence in start_warnings(values))
    (tmp_path / "secret").write_text("short")
    with pytest.raises(SettingsError, match="has 5 characters, and 32 are the least"):
        check_start(values)


def test_an_address_that_is_not_of_redis_is_refused_without_its_password() -> None:
    with pytest.raises(SettingsError, match="is no address of Redis") as caught:
        effective({}, {"LONGWIRE_CLUSTER_REDIS": "http://u:hush@h"})
    assert "hush" not in str(caught.value)
