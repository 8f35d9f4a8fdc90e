"""The environment of a foreign program: without the server's own settings and without secrets."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final

from longwire.config.keys import keys
from longwire.declared import declared

_SECRET: Final = re.compile(
    r"(?:^|_)(?:TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY)S?(?:_|$)"
    r"|^OTEL_.*HEADERS$",
    re.IGNORECASE,
)


def foreign_environment(environ: Mapping[str, str], passed: Collection[str] = ()) -> dict[str, str]:
    """What another program may see of these variables; those in `passed` it sees whatever they are."""
    own = {declared().config_variable, *(key.environment for key in keys())}
    return {
        name: value
        for name, value in environ.items()
        if name in passed or not (name in own or _SECRET.search(name))
    }
