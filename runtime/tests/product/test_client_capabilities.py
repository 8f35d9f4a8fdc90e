"""Which capability a request to a client needs, and which declarations have it."""

from __future__ import annotations

from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from longwire.counters import RuntimeCounters
from longwire.product.client_capabilities import RequestDropped, admit, admitted, need_of

SAMPLE, FORM = "sampling/createMessage", "elicitation/create"
TOOLS = {"tools": [{"name": "t", "inputSchema": {}}]}


@pytest.mark.parametrize(
    ("method", "params", "declared", "fits"),
    [
        (SAMPLE, {}, {"sampling": {}}, True),
        (SAMPLE, {}, {}, False),
        (SAMPLE, {}, {"sampling": None}, False),
        (SAMPLE, {}, {"sampling": True}, False),
        (SAMPLE, TOOLS, {"sampling": {}}, False),
        (SAMPLE, TOOLS, {"sampling": {"tools": {}}}, True),
        (SAMPLE, {"toolChoice": {"mode": "auto"}}, {"sampling": {}}, False),
        (FORM, {}, {"elicitation": {}}, True),  # older versions know no modes
        (FORM, {"mode": "form"}, {"elicitation": {"form": {}}}, True),
        (FORM, {"mode": "form"}, {"elicitation": {"url": {}}}, False),
        (FORM, {"mode": "url"}, {"elicitation": {"url": {}}}, True),
        (FORM, {"mode": "url"}, {"elicitation": {}}, False),
        (FORM, {"mode": "url"}, {"elicitation": {"form": {}}}, False),
        (FORM, None, {"sampling": {}}, False),
        ("roots/list", None, {"roots": {}}, True),
        ("roots/list", None, {"roots": {"listChanged": True}}, True),
        ("roots/list", None, {"elicitation": {}}, False),
    ],
)
def test_a_request_needs_a_declared_capability(
    method: str, params: dict[str, Any] | None, declared: dict[str, Any], fits: bool
) -> None:
    need = need_of(method, params)
    assert need is not None
    assert need.declared_in(declared) is fits
    assert need.declared_in(need.document())


def test_a_request_is_judged_once(caplog: pytest.LogCaptureFixture) -> None:
    counters = RuntimeCounters()
    count = counters.count_request
    admit("roots/list", None, {}, "warn", count)
    with admitted():
        admit("roots/list", None, {}, "warn", count)
        admit("roots/list", None, {}, "error", count)
    assert len(caplog.records) == 1
    assert "'roots'" in caplog.text
    with pytest.raises(MCPError, match=r"'elicitation\.url', which 'elicitation/create' needs"):
        admit(FORM, {"mode": "url"}, {"elicitation": {}}, "error", count)
    with pytest.raises(RequestDropped):
        admit(FORM, {"mode": "url"}, {"elicitation": {}}, "drop", count)
    told = ("roots", "warned"), ("elicitation", "refused"), ("elicitation", "dropped")
    assert counters.client_requests == dict.fromkeys(told, 1)
