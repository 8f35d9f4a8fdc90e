"""The public names of acuity.worker, and the members of App."""

from __future__ import annotations

import acuity.worker
from acuity.worker import App


def test_every_public_name_can_be_used() -> None:
    assert acuity.worker.__all__ == ["App", "MCPError", "ToolError"]
    for name in acuity.worker.__all__:
        assert getattr(acuity.worker, name) is not None


def test_the_members_of_an_app() -> None:
    members = {name for name in vars(App) if not name.startswith("_")}
    declares = {"tool", "resource", "prompt", "register", "capability"}
    handlers = {"notify", "progress", "log", "sample", "elicit", "from_thread", "session_id", "state"}
    assert members == declares | handlers | {"set_state", "introduction", "catalog", "server", "ready", "run"}
