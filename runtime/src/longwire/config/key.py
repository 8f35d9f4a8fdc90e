"""A key: one thing that can be set, in the file, by an option or by a variable.

A key stands in a section of the file: `[mcp] max_sessions`. Its option is its name with dashes, its variable
the product's prefix with SECTION_NAME, unless the table of keys says otherwise. A key with `setting` fills
that field of Settings, which has its default.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from longwire.config.kinds import Kind
from longwire.errors import SettingsError
from longwire.names import own_names

_DERIVED: Final = "derived from the key"


class Problems:
    """Collects what is wrong with settings, so that all of it is said at once."""

    def __init__(self) -> None:
        self._failed = False
        self._said: list[str] = []
        self.unread: set[str] = set()  # keys whose values can't be used

    @contextmanager
    def noted(self, *paths: str) -> Iterator[None]:
        """Note a SettingsError of the block and go on behind it; these keys' values can't be used then."""
        try:
            yield
        except SettingsError as error:
            self._failed = True
            self._said += error.problems
            self.unread.update(paths)

    def tell(self) -> None:
        """Raise SettingsError if there were any."""
        if self._said:
            raise SettingsError(*dict.fromkeys(self._said))
        if self._failed:
            raise unread()


def unread() -> SettingsError:
    """The error of code that needs a value which can't be used; the problem itself was told already."""
    error = SettingsError("a value that is needed can't be used")
    error.problems = ()
    return error


@dataclass(frozen=True, slots=True)
class Key:
    """One thing that can be set."""

    name: str
    kind: Kind
    help: str
    section: str
    group: str  # of options
    setting: str | None = None  # the field of Settings that it fills
    default: Any = None  # where it fills none
    default_text: str = ""  # where the default depends on the machine: what the page says
    flag: str | None = _DERIVED  # None: it has none
    variable: str = _DERIVED  # {} stands for the product's prefix
    metavar: str = ""
    aliases: tuple[str, ...] = ()  # other names in the file
    secret: bool = False  # never shown
    adds: bool = False  # the values of file, variable and options are all used

    @property
    def path(self) -> str:
        """The key with its section: mcp.max_sessions."""
        return f"{self.section}.{self.name}"

    @property
    def option(self) -> str | None:
        return f"--{self.name.replace('_', '-')}" if self.flag == _DERIVED else self.flag

    @property
    def environment(self) -> str:
        prefix = own_names().prefix
        if self.variable == _DERIVED:
            return f"{prefix}{self.section}_{self.name}".upper()
        return self.variable.format(prefix, token=own_names().token_variable)
