"""The environment of a program that isn't Acuity's: without the server's own settings and without secrets."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final

from longwire.config.effective import CONFIG_VARIABLE
from longwire.config.keys import KEYS

_OWN: Final = frozenset({CONFIG_VARIABLE, *(key.environment for key in KEYS)})
_SECRET: Final = re.compile(
    r"(?:^|_)(?:TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY)S?(?:_|$)"
    r"|^OTEL_.*HEADERS$",
    re.IGNORECASE,
)


def foreign_environment(environ: Mapping[str, str], passed: Collection[str] = ()) -> dict[str, str]:
    """What another program may see of these variables; those in `passed` it sees whatever they are."""
    return {name: value for name, value in environ.items() if name in passed or not _is_kept_back(name)}


def _is_kept_back(name: str) -> bool:
    return name in _OWN or _SECRET.search(name) is not None
