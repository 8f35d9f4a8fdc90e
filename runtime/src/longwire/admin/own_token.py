"""The token of operators where no file of tokens is named: in the data folder, for its owner alone.

It stays for later starts, so that a page that is open goes on after a restart, and so that two servers on one
data folder don't take it from each other. Deleting the file makes another at the next start.
"""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from longwire.errors import SettingsError
from longwire.guard.tokens import Tokens, parse_tokens

NAME: Final = "admin-token"
_HOLDER: Final = "admin"  # who is named in the audit
_BYTES: Final = 32
_OTHERS: Final = 0o077


def own_token(folder: Path) -> tuple[Tokens, Path]:
    """The token and its file, which is made if need be; raises SettingsError."""
    path = folder / NAME
    token = _kept(path) or _made(path)
    return Tokens({token: _HOLDER}), path


def _made(path: Path) -> str:
    """A new token, or that of a server that starts at the same time; replaces a file that others can read."""
    token = secrets.token_urlsafe(_BYTES)
    new = path.with_name(f".{NAME}-{secrets.token_hex(4)}")  # it gets its name when it is whole
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(descriptor, "w", encoding="ascii") as file:
            file.write(f"{token}\n")
        try:
            os.link(new, path)
        except FileExistsError:
            if (other := _kept(path)) is not None:
                return other
            os.replace(new, path)
    except OSError as error:
        raise SettingsError(
            f"can't write the admin token to '{path}': {error.strerror}: set [admin] token_file"
        ) from None
    finally:
        with suppress(OSError):
            os.unlink(new)
    return token


def _kept(path: Path) -> str | None:
    """The token of an earlier start; None where others could have read or written it."""
    with suppress(OSError, SettingsError, UnicodeDecodeError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with open(descriptor, encoding="ascii") as file:
            found = os.fstat(descriptor)
            ours = stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid()
            if ours and not found.st_mode & _OTHERS:
                return next(iter(parse_tokens(file.read(4096), str(path))))
    return None
