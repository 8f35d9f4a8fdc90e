"""What a host may set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from acuity.agents.embedded import EmbeddedConfig
from acuity.agents.embedded.config import READING_TOOLS, STEERING_TOOLS
from acuity.errors import EmbeddedError
from embedded_client import connected, hosted
from endpoint_bench import META


def test_defaults() -> None:
    for config in (EmbeddedConfig(), EmbeddedConfig(queue_depth=0, max_drain_per_frame=0)):
        assert (config.queue_depth, config.max_drain_per_frame, config.line_limit) == (64, 4, 65536)
    assert config.user_agent is None
    assert config.name == "acuity-embedded"
    assert EmbeddedConfig(user_agent="grader/2").name == "grader/2"


@pytest.mark.parametrize(
    ("setting", "value", "reason"),
    [
        *(("queue_depth", n, "must be 2 to 65536") for n in (-64, 1, 131072)),
        *(("queue_depth", n, "power of two") for n in (3, 65)),
        *(("max_drain_per_frame", n, "must be 1 to 64") for n in (-1, 65)),
        *(("line_limit", n, "must be 256 to") for n in (0, 255, 1 << 30)),
        ("queue_depth", 64.0, "no whole number"),
        ("queue_depth", True, "no whole number"),
        ("max_drain_per_frame", "4", "no whole number"),
        ("connections", 0, "must be 1 to"),
        ("calls", 0, "must be 1 to"),
        ("calls_each", -1, "must be 1 to"),
        ("write_timeout", 0.0, "seconds above 0"),
        ("write_timeout", float("nan"), "seconds above 0"),
        ("linger", -1.0, "0 or more"),
        ("linger", float("inf"), "0 or more"),
        ("command_timeout", "5", "seconds above 0"),
        ("linger", None, "0 or more"),
        ("max_lease", 0.5, "must be 1 to 86400"),
        ("max_lease", "300", "0 or more"),
        ("read_only", "yes", "must be True or False"),
        ("tools", "vmaf.status", "must be a list"),
        ("tools", ["vmaf.fly"], "is no tool: there are vmaf.status"),
        ("tools", [7], "is no tool"),
        ("user_agent", 7, "can be printed"),
        ("user_agent", " ", "can be printed"),
        ("user_agent", "two\nlines", "can be printed"),
    ],
)
def test_values_that_do_not(setting: str, value: Any, reason: str) -> None:
    with pytest.raises(EmbeddedError, match=reason) as caught:
        EmbeddedConfig(**{setting: value})
    assert setting in str(caught.value)
    assert repr(value[0] if isinstance(value, list) else value) in str(caught.value)


def test_a_token_that_is_no_text_is_not_shown() -> None:
    with pytest.raises(EmbeddedError, match="must be text") as caught:
        EmbeddedConfig(token=1234567890123456)  # type: ignore[arg-type]
    assert "1234" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "offered"),
    [
        ({}, {*READING_TOOLS, *STEERING_TOOLS}),
        ({"read_only": True}, set(READING_TOOLS)),
        (
            {"tools": ["vmaf.s*", "list_models"], "read_only": True},
            {"vmaf.status", "vmaf.score", "list_models"},
        ),
        ({"tools": ["vmaf.score", "vmaf.pause"]}, {"vmaf.score", "vmaf.pause"}),
    ],
)
def test_the_tools_that_clients_have(given: dict[str, Any], offered: set[str], tmp_path: Path) -> None:
    with hosted(tmp_path, config=EmbeddedConfig(**given)) as (_, _), connected(tmp_path / "s") as client:
        assert {tool["name"] for tool in client.ask("tools/list")["result"]["tools"]} == offered
        status = client.ask("tools/call", name="vmaf.status", arguments={})
        assert status["result"]["isError"] == ("vmaf.status" not in offered)
        begun = client.ask("server/discover", _meta=META)["result"]
        assert ("vmaf.pause" in begun["instructions"]) == ("vmaf.pause" in offered)


def test_limits_are_handed_on() -> None:
    config = EmbeddedConfig(line_limit=1024, connections=3, calls=5, calls_each=2, write_timeout=7.0)
    settings, limits = config.settings(), config.wire_limits()
    assert (settings.calls, settings.calls_each) == (5, 2)
    assert (limits.max_message, limits.max_connections) == (1024, 3)
    assert (limits.max_in_flight, limits.write_timeout) == (2, 7.0)
