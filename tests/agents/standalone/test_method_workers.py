"""Methods in workers: the settings, and the product's own tools in worker processes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from acuity.agents.settings import SETTINGS_VARIABLE, settings_from, worker_environment
from longwire.config.effective import Effective
from longwire.config.finding import effective
from longwire.errors import SettingsError
from longwire.server.serve import ServeOptions
from longwire.server.start_checks import check_start
from longwire.wire.listeners import Address

PATIENCE = 60.0


def found(folder: Path, **changed: Any) -> Effective:
    values: dict[str, Any] = {"server.data": folder, "server.http": Address("127.0.0.1", 0)}
    values |= {name.replace("__", "."): value for name, value in changed.items()}
    return effective({name: value for name, value in values.items() if value is not None}, {})


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"server__http": None}, "set http too"),
        ({"server__stdio": True}, "leave stdio out"),
        ({"server__uds": Path("/tmp/a.sock")}, "leave uds out"),
        ({"server__sse": Address("127.0.0.1", 0)}, "leave sse out"),
        ({"workers__command": "/no/such/program"}, "there is no program '/no/such/program'"),
        ({"workers__sockets": ("relative.sock",)}, "write the whole path"),
    ],
)
def test_what_workers_can_not_do_is_refused(tmp_path: Path, changed: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(sentence)):
        check_start(found(tmp_path, workers__method_workers=2, **changed))


def test_workers_get_the_settings_that_matter_to_them(tmp_path: Path) -> None:
    settings = found(tmp_path, workers__method_workers=2, server__allow=("/videos",)).settings()
    sent = worker_environment(ServeOptions(settings, []), tmp_path / "turns")
    document = json.loads(sent[SETTINGS_VARIABLE])
    again = settings_from(document["settings"])
    assert (again.data, again.allow, again.time_limit) == (tmp_path, ("/videos",), settings.time_limit)
    assert not again.has_workers
