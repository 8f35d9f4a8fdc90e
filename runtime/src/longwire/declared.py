"""The product that a process serves: its names, its settings, and the parts that it adds to the runtime.

A product calls `declare()` once, before it uses the runtime. Without that the process is `longwire` itself,
which has no tools of its own and serves those of workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from longwire.names import RUNTIME, Names, own_names, use_names
from longwire.settings import Settings

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


@dataclass(frozen=True, slots=True)
class OwnWorkers:
    """A product's own catalog as workers of the runtime."""

    command: tuple[str, ...]  # starts one; the runtime adds its socket
    # The variables of a worker, from the options and a folder by which the workers take turns.
    environment: Callable[[ServeOptions, Path], Mapping[str, str]]
    jobs: Callable[[Any], AbstractAsyncContextManager[Jobs]]  # a view of their jobs, from the settings
    carriers: Mapping[str, str] = field(default_factory=dict)  # tools that start another's work, by argument


# Makes the server object of a product, whose services end with the block, from its settings.
Serving: TypeAlias = "Callable[[Any, ClusterNode | None], AbstractAsyncContextManager[Served]]"
Check: TypeAlias = "Callable[[Effective, Problems], None]"


@dataclass(frozen=True, slots=True)
class Product(Names):
    """A product: its names, and the parts that it adds to the runtime. All but the names may be left out."""

    settings: Callable[[], type[Settings]] = lambda: Settings  # a class with its own fields
    keys: Callable[[], tuple[Key, ...]] = tuple  # keys that fill the fields of `settings`
    serving: Serving | None = None  # None: there are workers only
    own_workers: OwnWorkers | None = None
    tool_names: Callable[[Any], list[str]] = lambda settings: []
    checks: tuple[Check, ...] = ()  # before a start
    warnings: Callable[[Effective], Iterable[str]] = lambda found: ()  # of settings without effect
    # Settings for these endpoints.
    adjusted: Callable[[Any, Sequence[Endpoint]], Any] = lambda settings, endpoints: settings
    limits: Callable[[Any], Mapping[str, Any]] = lambda settings: {}  # that operators see, from the settings


LONGWIRE: Final = Product(RUNTIME.name, RUNTIME.title, RUNTIME.version, RUNTIME.package, RUNTIME.prefix)


def declare(product: Product) -> None:
    """Let this process serve that product, from now on."""
    use_names(product)


def declared() -> Product:
    """The product that this process serves."""
    names = own_names()
    return names if isinstance(names, Product) else LONGWIRE
