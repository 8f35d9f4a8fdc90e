"""KernelBuilder: compiled kernels for one architecture, from the cache or compiled side by side."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from acuity.devices.cpu import available_threads
from acuity.devices.cuda.compiler.compile import OPTIONS, Compiler
from acuity.devices.cuda.compiler.kernel_cache import KernelCache, kernel_key
from acuity.devices.cuda.compiler.sources import single_kernel


class KernelBuilder:
    """Compiles each kernel once, in a thread of its own; any thread may use it."""

    def __init__(
        self,
        architecture: str,
        compiler: Compiler,
        cache: KernelCache,
        source: Callable[[str, str], str] = single_kernel,
    ) -> None:
        self._architecture = architecture
        self._compiler = compiler
        self._cache = cache
        self._source = source
        self._lock = threading.Lock()
        self._built: dict[tuple[str, str], Future[bytes]] = {}
        self._turns = threading.Semaphore(available_threads())

    @property
    def notes(self) -> list[str]:
        """What is wrong with the cache."""
        return self._cache.notes

    def prefetch(self, program: str, names: Sequence[str]) -> None:
        """Begin to build kernels of a program; returns at once."""
        for name in names:
            self._begin(program, name)

    def code(self, program: str, name: str) -> bytes:
        """The code of a kernel; raises BackendError if it can't be compiled."""
        return self._begin(program, name).result()

    def rebuild(self, program: str, name: str) -> bytes:
        """The code compiled anew, for a card that doesn't load what was cached."""
        self._cache.drop(self._key(program, name))
        with self._lock:
            self._built.pop((program, name), None)
        return self.code(program, name)

    def _begin(self, program: str, name: str) -> Future[bytes]:
        with self._lock:
            if (found := self._built.get((program, name))) is None:
                found = self._built[program, name] = Future()
                # A daemon, so that a command that ends early doesn't wait for it.
                threading.Thread(
                    target=self._build, args=(program, name, found), name=f"acuity-build-{name}", daemon=True
                ).start()
            return found

    def _build(self, program: str, name: str, into: Future[bytes]) -> None:
        try:
            key = self._key(program, name)
            code = self._cache.find(key)
            if code is None:
                with self._turns:
                    source = self._source(program, name)
                    code = self._compiler.compile(f"{program}.{name}", source, self._architecture)
                self._cache.keep(key, code)
            into.set_result(code)
        except BaseException as error:  # raised again by code()
            into.set_exception(error)

    def _key(self, program: str, name: str) -> str:
        return kernel_key(self._compiler.identity, self._architecture, *OPTIONS, self._source(program, name))
