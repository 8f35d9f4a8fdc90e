"""The names of the product that a process serves, and how its errors are told: what every room may ask for.

Without a declaration these are the names of `longwire` itself. `declare()` in declared.py gives others.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from longwire import __version__
from longwire.errors import LongwireError


@dataclass(frozen=True, slots=True)
class Names:
    """What a product is called, and what else is called after it."""

    name: str  # of the server; its metrics begin with it
    title: str  # as sentences name it
    version: str
    package: str  # what `pip install` calls it
    prefix: str  # what the environment variables of keys begin with
    other_prefixes: tuple[str, ...] = ()  # of further variables that it reads
    token: str | None = None  # the variable with the clients' token
    errors: tuple[type[Exception], ...] = ()  # whose text is a sentence for clients
    sentence: Callable[[Exception, str], str] = lambda error, tool: str(error)  # for a client of that tool

    @property
    def token_variable(self) -> str:
        return self.token or f"{self.prefix}TOKEN"

    @property
    def config_variable(self) -> str:
        return f"{self.prefix}CONFIG"

    @property
    def data_variable(self) -> str:
        return f"{self.prefix}DATA"

    def data_folder(self, environ: Mapping[str, str] = os.environ) -> Path:
        """The folder for what outlives a process: the variable's, or one in the user's home."""
        if named := environ.get(self.data_variable):
            return Path(named).absolute()
        home = environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
        return Path(home) / self.name


RUNTIME: Final = Names("longwire", "Longwire", __version__, package="longwire", prefix="LONGWIRE_")

_own: Names = RUNTIME


def own_names() -> Names:
    """The names of the product that this process serves."""
    return _own


def use_names(names: Names) -> None:
    """Go by these names from now on."""
    global _own
    _own = names


def named(name: str) -> str:
    """A metric's name with the product's before it."""
    return f"{_own.name}_{name}"


def attribute(name: str) -> str:
    """The name of a span's attribute."""
    return f"{_own.name}.{name}"


def expected_errors() -> tuple[type[Exception], ...]:
    """The errors whose text is a sentence for people: the runtime's and the product's."""
    return (LongwireError, *_own.errors)
