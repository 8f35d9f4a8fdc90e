"""The files of examples/cluster: they can be used, and say the same about nodes, labels and ports."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

pytest.importorskip("redis", reason="the extra 'cluster' is not installed")

from longwire.cluster.cluster_settings import check_address
from longwire.cluster.redis_link import LABEL
from longwire.config.effective import Effective
from longwire.config.finding import effective
from longwire.config.toml_file import parse_config
from longwire.guard.oauth.resource_server import METADATA
from longwire.server.start_checks import check_start

FOLDER = Path(__file__).parents[2] / "examples" / "cluster"
LABELS = ("n1", "n2")


@pytest.fixture
def nodes(tmp_path: Path) -> dict[str, Effective]:
    """The two nodes, by their labels; with the secret that the README has made."""
    (tmp_path / "cluster.secret").write_text("0" * 64)
    found = {}
    for label in LABELS:
        path = tmp_path / f"node-{label}.toml"
        path.write_text((FOLDER / path.name).read_text())
        values = effective({}, {}, path)
        found[values["cluster.node"]] = values
    return found


def ports(nodes: dict[str, Effective]) -> dict[str, int]:
    return {label: values["server.http"].port for label, values in nodes.items()}


def test_the_nodes_can_start_and_differ(nodes: dict[str, Effective]) -> None:
    assert tuple(nodes) == LABELS
    for values in nodes.values():
        check_start(values)
        assert values["cluster.address"] == f"http://{values['cluster.peers']}"
    for key in ("server.http", "server.data", "cluster.peers", "cluster.address"):
        assert len({str(values[key]) for values in nodes.values()}) == 2, key
    for key in ("cluster.redis", "cluster.secret_file"):
        assert len({str(values[key]) for values in nodes.values()}) == 1, key


def test_nginx_routes_labels_to_their_nodes(nodes: dict[str, Effective]) -> None:
    text = (FOLDER / "nginx.conf").read_text()
    routes = dict(re.findall(r"~\^(\w+)-\s+(\w+);", text))
    assert routes == {label: label for label in LABELS}
    for label, port in ports(nodes).items():
        upstream = text.split(f"upstream {label} {{", 1)[1].split("}", 1)[0]
        servers = re.findall(r"server 127\.0\.0\.1:(\d+)(.*);", upstream)
        assert [int(found) for found, _ in servers if int(found) == port] == [port]
        assert ["backup" in options for _, options in servers] == [False, True]
        assert int(servers[0][0]) == port
    assert "proxy_buffering off;" in text
    assert "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;" in text
    assert "proxy_connect_timeout 5s;" in text  # the system tries again after 1 s and after 3 s
    assert "non_idempotent" not in text  # a POST would be carried out twice


def _yaml(name: str) -> list[Any]:
    return list(yaml.safe_load_all((FOLDER / name).read_text()))


def test_envoy_routes_labels_to_their_nodes(nodes: dict[str, Effective]) -> None:
    text = (FOLDER / "envoy.yaml").read_text()
    assert "<<" not in text  # which Envoy's reader doesn't know
    (document,) = _yaml("envoy.yaml")
    resources = document["static_resources"]
    manager = resources["listeners"][0]["filter_chains"][0]["filters"][0]["typed_config"]
    routes = manager["route_config"]["virtual_hosts"][0]["routes"]
    prefixes = [route["match"]["headers"][0]["string_match"]["prefix"] for route in routes[:2]]
    assert prefixes == ["n1-", "n2-"]
    assert [route["route"]["cluster"] for route in routes] == ["n1", "n2", "any", "any"]
    assert [route["match"].get("path") for route in routes] == ["/mcp"] * 3 + [None]
    assert routes[-1]["match"] == {"path_separated_prefix": METADATA}
    for route in routes:
        assert route["route"]["timeout"] == "0s"
        retries = route["route"]["retry_policy"]
        assert retries["retry_on"] == "connect-failure,retriable-status-codes"
        assert retries["retriable_status_codes"] == [421]  # of a node that stops
    clusters = {cluster["name"]: cluster for cluster in resources["clusters"]}
    assert set(clusters) == {"any", *LABELS}
    for cluster in clusters.values():
        assert cluster["load_assignment"]["cluster_name"] == cluster["name"]
    for label, port in ports(nodes).items():
        first = clusters[label]["load_assignment"]["endpoints"][0]
        assert first["priority"] == 0
        address = first["lb_endpoints"][0]["endpoint"]["address"]["socket_address"]
        assert address == {"address": "127.0.0.1", "port_value": port}
    listens = resources["listeners"][0]["address"]["socket_address"]["port_value"]
    assert f"listen 127.0.0.1:{listens} " in (FOLDER / "nginx.conf").read_text()


def test_kubernetes_files_agree_with_each_other(tmp_path: Path) -> None:
    documents = _yaml("kubernetes.yaml")
    for document in documents:
        assert {"apiVersion", "kind", "metadata"} <= set(document)
    by_name = {(document["kind"], document["metadata"]["name"]): document for document in documents}
    assert len(by_name) == len(documents)
    nodes = by_name["StatefulSet", "longwire"]["spec"]
    pod = nodes["template"]["spec"]["containers"][0]
    services = {name: found["spec"] for (kind, name), found in by_name.items() if kind == "Service"}
    peers = services[nodes["serviceName"]]
    assert peers["clusterIP"] == "None"  # YAML's text, which makes the service headless
    assert peers["publishNotReadyAddresses"] is True
    for name, service in services.items():
        owner = by_name["StatefulSet", service["selector"]["app"]]["spec"]
        labels = owner["template"]["metadata"]["labels"]
        assert service["selector"] == owner["selector"]["matchLabels"] == labels
        container = owner["template"]["spec"]["containers"][0]
        named = {port["name"]: port["containerPort"] for port in container["ports"]}
        for port in service["ports"]:
            assert named[port["targetPort"]] == port["port"], name
    # The settings are those of a node, together with the variables that the container sets.
    text = by_name["ConfigMap", "longwire"]["data"]["longwire.toml"]
    values = parse_config(text, tmp_path).values
    containers = {port["name"]: port["containerPort"] for port in pod["ports"]}
    assert values["server.http"].port == containers["http"]
    assert values["cluster.peers"].port == containers["peers"]
    assert tomllib.loads(text)["cluster"]["redis"] == "redis://longwire-redis:6379/0"
    assert services["longwire-redis"]["ports"][0]["port"] == 6379
    exported = dict(re.findall(r'export (\w+)="(.*)"', pod["args"][0]))
    node = exported["LONGWIRE_CLUSTER_NODE"].replace("${POD_NAME##*-}", "0")
    assert LABEL.fullmatch(node)
    address = exported["LONGWIRE_CLUSTER_ADDRESS"].replace("${POD_NAME}", "longwire-0")
    check_address(address)
    assert address == f"http://longwire-0.{nodes['serviceName']}:{containers['peers']}"
    mounts = {mount["name"]: mount["mountPath"] for mount in pod["volumeMounts"]}
    assert values["cluster.secret_file"] == Path(mounts["secret"]) / "cluster.secret"
    assert nodes["template"]["spec"]["terminationGracePeriodSeconds"] > values["server.grace"]
    # A node that starts or stops gets nothing, one that hangs is ended: as the page for operators says it.
    assert values["server.metrics"].port == containers["metrics"]
    for probe, page in (("readinessProbe", "/readyz"), ("livenessProbe", "/healthz")):
        asked = pod[probe]["httpGet"]
        assert (asked["path"], asked["port"]) == (page, "metrics")
    open_to = by_name["NetworkPolicy", "longwire"]["spec"]["ingress"]
    assert {port["port"] for rule in open_to for port in rule["ports"]} == set(containers.values())
    to_some = [port["port"] for rule in open_to if "from" in rule for port in rule["ports"]]
    assert to_some == [containers["peers"]]
    assert "memory" in pod["resources"]["limits"]


def test_alerts_are_about_counters_that_there_are() -> None:
    docs = FOLDER.parents[1] / "docs"
    (block,) = re.findall(r"```yaml\n(groups:.*?)```", (docs / "cluster.md").read_text(), re.DOTALL)
    rules = yaml.safe_load(block)["groups"][0]["rules"]
    known = (docs / "runtime.md").read_text()
    for rule in rules:
        assert {"alert", "expr"} <= set(rule)
        for name in re.findall(r"\blongwire_\w+", rule["expr"]):
            assert f"| `{name}` |" in known, name


def test_kubernetes_settings_can_start(tmp_path: Path) -> None:
    documents = _yaml("kubernetes.yaml")
    text = next(found for found in documents if found["kind"] == "ConfigMap")["data"]["longwire.toml"]
    made = re.findall(r"--from-literal=([\w.-]+)=", (FOLDER / "kubernetes.yaml").read_text())
    named = re.findall(r'"/etc/longwire/secret/([\w.-]+)"', text)
    assert set(made) == set(named)
    for name in named:
        (tmp_path / name).write_text(f"{name}-".ljust(64, "0"))
        (tmp_path / name).chmod(0o440)
    path = tmp_path / "longwire.toml"
    text = text.replace("/etc/longwire/secret", str(tmp_path))
    path.write_text(text.replace("/var/lib/longwire", str(tmp_path / "data")))
    node = {"NODE": "n0", "ADDRESS": "http://longwire-0.longwire-peers:7080"}
    check_start(effective({}, {f"LONGWIRE_CLUSTER_{name}": value for name, value in node.items()}, path))
