"""Bearer tokens: from a file or an environment variable, never from a command line that others can read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from acuity.mcp.settings import SettingsError

TOKEN_VARIABLE: Final = "VMAF_MCP_TOKEN"  # of the standalone server
EMBEDDED_VARIABLE: Final = "ACUITY_MCP_TOKEN"  # of a server inside a measurement
_SHORTEST: Final = 16  # characters; shorter ones can be guessed


def read_token(
    path: str | None, environ: Mapping[str, str] = os.environ, variable: str = TOKEN_VARIABLE
) -> str | None:
    """The token in the file, or else in the environment; raises SettingsError."""
    if path is None:
        return check_token(environ[variable], f"in '{variable}'") if variable in environ else None
    try:
        text = Path(path).read_text(encoding="ascii")
    except UnicodeDecodeError:
        raise SettingsError(f"the token in '{path}' is not ASCII: use letters and digits") from None
    except OSError as error:
        raise SettingsError(f"can't read the token file '{path}': {error.strerror}") from None
    return check_token(text, f"in '{path}'")


def check_token(text: str, source: str) -> str:
    """A token without the blanks around it; SettingsError where it can be guessed or can't be sent."""
    token = text.strip()
    if len(token) < _SHORTEST:
        raise SettingsError(f"the token {source} is shorter than {_SHORTEST} characters: use a longer one")
    if not token.isascii() or not token.isprintable() or " " in token:
        raise SettingsError(f"the token {source} holds blanks or special characters: use letters and digits")
    return token
