"""The public names of longwire.worker, and the members of App."""

from __future__ import annotations

import longwire.worker
from longwire.worker import App


def test_every_public_name_can_be_used() -> None:
    assert longwire.worker.__all__ == ["App", "MCPError", "ToolError"]
    for name in longwire.worker.__all__:
        assert getattr(longwire.worker, name) is not None


def test_the_members_of_an_app() -> None:
    members = {name for name in vars(App) if not name.startswith("_")}
    declares = {"tool", "resource", "prompt", "register", "capability"}
    handlers = {"notify", "progress", "log", "sample", "elicit", "from_thread", "session_id", "state"}
    assert members == declares | handlers | {"set_state", "introduction", "catalog", "server", "ready", "run"}
