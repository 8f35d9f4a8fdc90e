"""An auth hook: a function of the operator's own that says who sends a request.

It is called with the bearer token or None, the request's headers (names in lower case) and the client's
address. It returns the principal's name, or a dict with `name` and, if wanted, `scopes`, `tools` and `rate`,
or None for somebody unknown. It may be a coroutine function; a plain function runs in a thread of its own, so
that one that waits for another server delays nobody.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import logging
import threading
import time
import traceback
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from longwire.errors import SettingsError
from longwire.guard.grants import GRANTS, NO_SCOPES, Scopes, Undecided, Verdict, granted
from longwire.guard.tokens import digest
from longwire.principals.principal import Principal
from longwire.text import quoted
from longwire.wire.tasks import RunningTasks, is_coroutine_function

logger: Final = logging.getLogger(__name__)

HookFunction: TypeAlias = Callable[[str | None, Mapping[str, str], str], Any]

_MOST_ASKED: Final = 64  # calls of the hook at once
_MOST_REMEMBERED: Final = 4096  # answers
_ANSWER_KEYS: Final = ("name", *GRANTS)
_Key: TypeAlias = tuple[bytes, str]


class AuthHook:
    """Asks the hook, and remembers its answer to a token from one address for some seconds.

    With `remembered=0` it is asked for each request; a hook that reads other headers too needs that.
    """

    def __init__(
        self,
        function: HookFunction,
        *,
        scopes: Scopes = NO_SCOPES,
        remembered: float = 5.0,
        timeout: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._function = function
        self._scopes = scopes
        self._remembered = remembered
        self._timeout = timeout
        self._clock = clock
        self._answers: OrderedDict[_Key, tuple[float, Principal | None]] = OrderedDict()
        self._waiting: dict[_Key, list[Callable[[Verdict], None]]] = {}
        self._places = threading.Semaphore(_MOST_ASKED)  # those of threads that hang stay taken
        self._tasks = RunningTasks()

    def ask(
        self, token: str | None, headers: Mapping[str, str], address: str, done: Callable[[Verdict], None]
    ) -> None:
        """Have `done` called with the verdict: at once if it is known, else from a task."""
        key = (digest(token), address) if token is not None and self._remembered > 0 else None
        if key is not None:
            known = self._answers.get(key)
            if known is not None and self._clock() < known[0]:
                done(known[1])
                return
            if key in self._waiting:  # one call answers all that ask the same at once
                self._waiting[key].append(done)
                return
        if not self._places.acquire(blocking=False):
            done(Undecided("the auth hook is busy: try again later"))
            return
        waiting = [done]
        if key is not None:
            self._waiting[key] = waiting
        self._tasks.spawn(self._decide(key, waiting, (token, MappingProxyType(dict(headers)), address)))

    async def _decide(
        self, key: _Key | None, waiting: list[Callable[[Verdict], None]], question: tuple[Any, ...]
    ) -> None:
        verdict = await self._verdict(question)
        if key is not None:
            self._waiting.pop(key, None)
            if verdict is None or isinstance(verdict, Principal):
                self._answers[key] = (self._clock() + self._remembered, verdict)
                self._answers.move_to_end(key)
                if len(self._answers) > _MOST_REMEMBERED:
                    self._answers.popitem(last=False)
        for done in waiting:
            done(verdict)

    async def _verdict(self, question: tuple[Any, ...]) -> Verdict:
        try:
            async with asyncio.timeout(self._timeout):
                return self._principal(await self._call(question))
        except TimeoutError:
            logger.error("the auth hook took longer than %g s", self._timeout, extra={"event": "auth_hook"})
            return Undecided("the auth hook gave no answer in time: try again later")
        except SettingsError as error:
            logger.error("%s", error, extra={"event": "auth_hook"})
        except (Exception, SystemExit) as error:
            logger.error("the auth hook failed: %s", _said(error, question[0]), extra={"event": "auth_hook"})
        return Undecided("the auth hook failed: try again later, or ask the operator of this server")

    async def _call(self, question: tuple[Any, ...]) -> Any:
        if is_coroutine_function(self._function):
            try:
                return await self._function(*question)
            finally:
                self._places.release()
        found = await self._in_thread(question)
        return await found if inspect.isawaitable(found) else found

    def _in_thread(self, question: tuple[Any, ...]) -> asyncio.Future[Any]:
        """The function's answer from a thread that doesn't keep the process from ending."""
        found: Future[Any] = Future()
        found.set_running_or_notify_cancel()  # who gives it up doesn't end the thread

        def work() -> None:
            try:
                found.set_result(self._function(*question))
            except BaseException as error:
                told = RuntimeError("StopIteration") if isinstance(error, StopIteration) else error
                found.set_exception(told)
            finally:
                self._places.release()

        try:
            threading.Thread(target=work, name="auth-hook", daemon=True).start()
        except RuntimeError:  # the machine has no more threads
            self._places.release()
            raise
        return asyncio.wrap_future(found)

    def _principal(self, found: Any) -> Principal | None:
        if found is None:
            return None
        if isinstance(found, str):
            found = {"name": found}
        if not isinstance(found, Mapping):
            raise SettingsError(
                f"the auth hook returned {type(found).__name__}: return a name, a dict with a name, or None"
            )
        for key in found:
            if key not in _ANSWER_KEYS:
                known = ", ".join(_ANSWER_KEYS)
                raise SettingsError(f"the auth hook returned the unknown key {quoted(key)}: use {known}")
        given = {key: value for key, value in found.items() if value is not None}
        return granted(given.get("name"), given, self._scopes, "the answer of the auth hook")


def _said(error: BaseException, token: str | None) -> str:
    """The text and the place of an error, without the token."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f"{frames[-1].filename}, line {frames[-1].lineno}: " if frames else ""
    text = f"{where}{type(error).__name__}: {error}"
    return text.replace(token, "[hidden]") if token else text


def load_hook(text: str) -> HookFunction:
    """Import a hook that is written as `module:function`; raises SettingsError."""
    module_name, colon, path = text.partition(":")
    if not colon or not all(part.isidentifier() for part in f"{module_name}.{path}".split(".")):
        raise SettingsError(f"the auth hook '{text}' is no function: write module:function")
    try:
        found: Any = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:
        said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise SettingsError(
            f"can't import the auth hook '{text}' ({' '.join(said.split())[:200]}): "
            "install its module, or name its folder in PYTHONPATH"
        ) from None
    for name in path.split("."):
        if not hasattr(found, name):
            raise SettingsError(f"the module '{module_name}' has no '{path}': correct the auth hook '{text}'")
        found = getattr(found, name)
    try:
        inspect.signature(found).bind(None, {}, "127.0.0.1")
    except (TypeError, ValueError):
        raise SettingsError(
            f"the auth hook '{text}' can't be called: write a function of a token, headers and an address"
        ) from None
    function: HookFunction = found
    return function
