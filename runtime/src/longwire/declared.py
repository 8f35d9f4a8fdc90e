"""The product that a process serves: its names, its settings, and the parts that it adds to the runtime.

A product calls `declare()` once, before it uses the runtime. Without that the process is `longwire` itself,
which has no tools of its own and serves those of workers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from longwire import __version__
from longwire.errors import LongwireError

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

    from longwire.cluster.cluster_node import ClusterNode
    from longwire.config.effective import Effective
    from longwire.config.key import Key, Problems
    from longwire.counters import RuntimeCounters
    from longwire.endpoints import Endpoint
    from longwire.operations.metrics import Metrics
    from longwire.principals.limits import CallLimits
    from longwire.server.serve import ServeOptions
    from longwire.settings import Settings
    from longwire.work import Jobs


@dataclass(frozen=True, slots=True)
class Served:
    """A server object and what belongs to it."""

    server: Server[Any]
    jobs: Jobs
    limits: CallLimits
    metrics: Metrics
    counters: RuntimeCounters
    tools: Sequence[str] = ()  # their names; none where they are not known


class Serving(Protocol):
    """Makes the server object of a product, whose services end with the block."""

    def __call__(
        self, settings: Any, cluster: ClusterNode | None = None
    ) -> AbstractAsyncContextManager[Served]: ...


@dataclass(frozen=True, slots=True)
class OwnWorkers:
    """A product's own catalog as workers of the runtime."""

    command: tuple[str, ...]  # starts one; the runtime adds its socket
    # The variables of a worker, from the options and a folder by which the workers take turns.
    environment: Callable[[ServeOptions, Path], Mapping[str, str]]
    jobs: Callable[[Any], AbstractAsyncContextManager[Jobs]]  # a view of their jobs, from the settings
    carriers: Mapping[str, str] = field(default_factory=dict)  # tools that start another's work, by argument


Check: TypeAlias = "Callable[[Effective, Problems], None]"


@dataclass(frozen=True, slots=True)
class Product:
    """A product: its names, and the parts that it adds. All but the names may be left out."""

    name: str  # of the server; its metrics begin with it
    title: str  # as sentences name it
    version: str
    package: str  # what `pip install` calls it
    prefix: str  # what the environment variables of keys begin with
    other_prefixes: tuple[str, ...] = ()  # of further variables that it reads
    token: str | None = None  # the variable with the clients' token
    settings: Callable[[], type[Settings]] | None = None  # with its own fields
    keys: Callable[[], tuple[Key, ...]] = tuple  # keys that fill the fields of `settings`
    errors: tuple[type[Exception], ...] = ()  # whose text is a sentence for clients
    sentence: Callable[[Exception, str], str] = lambda error, tool: str(error)  # for a client of that tool
    serving: Serving | None = None  # None: there are workers only
    own_workers: OwnWorkers | None = None
    tool_names: Callable[[Any], list[str]] = lambda settings: []
    checks: tuple[Check, ...] = ()  # before a start
    warnings: Callable[[Effective], Iterable[str]] = lambda found: ()  # of settings without effect
    adjusted: Callable[[Any, Sequence[Endpoint]], Any] = lambda settings, endpoints: (
        settings
    )  # settings, for these endpoints
    limits: Callable[[Any], Mapping[str, Any]] = lambda settings: {}  # that operators see, from the settings

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


LONGWIRE: Final = Product("longwire", "Longwire", __version__, package="longwire", prefix="LONGWIRE_")

_declared = LONGWIRE


def declare(product: Product) -> None:
    """Let this process serve that product, from now on."""
    global _declared
    _declared = product


def declared() -> Product:
    """The product that this process serves."""
    return _declared


def named(name: str) -> str:
    """A metric's name with the product's before it."""
    return f"{_declared.name}_{name}"


def attribute(name: str) -> str:
    """The name of a span's attribute."""
    return f"{_declared.name}.{name}"


def expected_errors() -> tuple[type[Exception], ...]:
    """The errors whose text is a sentence for people: the runtime's and the product's."""
    return (LongwireError, *_declared.errors)
