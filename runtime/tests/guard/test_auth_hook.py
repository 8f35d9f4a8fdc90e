"""The operator's own function that says who sends a request."""

from __future__ import annotations

import asyncio
import logging
import re
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fake_responder import FakeClock
from longwire.errors import SettingsError
from longwire.guard.auth_hook import AuthHook, HookFunction, Undecided, Verdict, load_hook
from longwire.guard.grants import Scopes
from longwire.principals.principal import Principal
from longwire.principals.rates import parse_rate

TOKEN = "correct-horse-battery"
HERE = "127.0.0.1"


async def asked(hook: AuthHook, token: str | None = TOKEN, address: str = HERE, **headers: str) -> Verdict:
    found: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()
    hook.ask(token, headers, address, found.set_result)
    return await found


async def verdict(answer: Any, *, plain: bool = True, scopes: Scopes | None = None) -> Verdict:
    """What becomes of an answer, from a plain function or from a coroutine function."""

    def quick(*_: Any) -> Any:
        if isinstance(answer, BaseException):
            raise answer
        return answer

    async def slow(*question: Any) -> Any:
        await asyncio.sleep(0)
        return quick(*question)

    return await asked(AuthHook(quick if plain else slow, scopes=scopes or Scopes()))


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize(
    ("answer", "principal"),
    [
        (None, None),
        ("alice@example.com", Principal.of_token("alice@example.com")),
        ({"name": "alice"}, Principal.of_token("alice")),
        (
            {"name": "alice", "scopes": ["a"], "tools": ["list_*"], "rate": "6/min"},
            Principal.of_token("alice", frozenset({"a"}), frozenset({"list_*"}), parse_rate("6/min")),
        ),
        ({"name": "alice", "tools": None, "rate": None}, Principal.of_token("alice")),
        ({"name": "alice", "tools": []}, Principal.of_token("alice", tools=frozenset())),
        (
            {"name": "a", "scopes": ["score"]},
            Principal.of_token("a", frozenset({"score"}), frozenset({"x_*"})),
        ),
    ],
)
async def test_what_a_hook_may_answer(answer: Any, principal: Principal | None, plain: bool) -> None:
    assert await verdict(answer, plain=plain, scopes=Scopes.parse({"score": ["x_*"]})) == principal


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (True, "returned bool: return a name, a dict with a name, or None"),
        (["alice"], "returned list"),
        ("", "has the name ''"),
        ("alice\r\nadmin", "has the name"),
        ("x" * 129, "has the name"),
        ({}, "has the name None"),
        ({"name": 7}, "has the name 7"),
        ({"name": "alice", "role": "admin"}, "unknown key 'role': use name, scopes, tools, resources"),
        ({"name": "alice", "tools": "all"}, "are 'all': write a list"),
        ({"name": "alice", "rate": "often"}, "'often' is no rate"),
        (ValueError(f"what is {TOKEN}?"), r"ValueError: what is \[hidden\]\?"),
        (SystemExit(3), "SystemExit: 3"),
        (KeyError(), "KeyError"),
    ],
)
async def test_a_hook_that_fails_lets_nobody_in(
    answer: Any, said: str, plain: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        found = await verdict(answer, plain=plain)
    assert "try again later" in found.reason
    assert len(caplog.records) == 1
    message = caplog.records[0].getMessage()
    assert re.search(said, message)
    assert TOKEN not in message
    assert caplog.records[0].exc_info is None


async def test_a_hook_sees_token_headers_and_address() -> None:
    seen: list[tuple[str | None, Mapping[str, str], str]] = []

    def hook(token: str | None, headers: Mapping[str, str], address: str) -> str:
        seen.append((token, headers, address))
        with pytest.raises(TypeError):
            headers["x-user"] = "root"  # type: ignore[index]
        return "alice"

    asking = AuthHook(hook)
    await asked(asking, None, "::1", **{"x-user": "alice"})
    await asked(asking, TOKEN)
    assert seen == [(None, {"x-user": "alice"}, "::1"), (TOKEN, {}, HERE)]


def counted(answer: Any = "alice") -> tuple[HookFunction, list[str | None]]:
    calls: list[str | None] = []

    async def hook(token: str | None, _: Mapping[str, str], __: str) -> Any:
        calls.append(token)
        await asyncio.sleep(0)
        return answer

    return hook, calls


@pytest.mark.parametrize("answer", ["alice", None])
async def test_answers_are_remembered_for_a_token_from_one_address(answer: str | None) -> None:
    function, calls = counted(answer)
    clock = FakeClock()
    hook = AuthHook(function, remembered=5, clock=clock)
    for _ in range(3):
        await asked(hook)
    assert calls == [TOKEN]
    await asked(hook, address="127.0.0.2")
    await asked(hook, "another-token")
    assert calls == [TOKEN, TOKEN, "another-token"]
    clock.now += 5
    await asked(hook)
    assert len(calls) == 4


@pytest.mark.parametrize(("token", "remembered"), [(None, 5.0), (TOKEN, 0.0)])
async def test_nothing_is_remembered_without_a_token_or_if_the_operator_says_so(
    token: str | None, remembered: float
) -> None:
    function, calls = counted()
    hook = AuthHook(function, remembered=remembered)
    await asyncio.gather(*(asked(hook, token) for _ in range(3)))
    assert calls == [token] * 3


async def test_many_that_ask_the_same_at_once_are_one_call() -> None:
    function, calls = counted()
    hook = AuthHook(function)
    found = await asyncio.gather(*(asked(hook) for _ in range(200)))
    assert set(found) == {Principal.of_token("alice")}
    assert len(calls) == 1


@pytest.mark.parametrize("plain", [True, False])
async def test_a_hook_that_hangs_is_given_up(plain: bool) -> None:
    release = threading.Event()

    async def forever(*_: Any) -> Any:
        await asyncio.Event().wait()

    try:
        hook = AuthHook((lambda *_: release.wait(30)) if plain else forever, timeout=0.05)
        found = await asyncio.gather(*(asked(hook, f"token-number-{n:08}") for n in range(70)))
        reasons = {one.reason for one in found if isinstance(one, Undecided)}
        assert len(found) == 70
        assert reasons == {
            "the auth hook gave no answer in time: try again later",
            "the auth hook is busy: try again later",
        }
        # Threads that hang keep their places, tasks are cancelled.
        again = await asked(hook, "one-more-token-here")
        assert ("busy" in again.reason) is plain
    finally:
        release.set()


async def test_hooks_are_imported_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_hooks.py").write_text(
        "def sign_in(token, headers, address): return 'alice'\n"
        "class Users:\n"
        "    async def __call__(self, token, headers, address): return 'bob'\n"
        "    def find(self, token, headers, address): return 'carol'\n"
        "users = Users()\n"
        "number = 7\n"
        "def short(token): return 'x'\n"
    )
    (tmp_path / "bad_hooks.py").write_text("raise RuntimeError('no\\ndatabase')\n")
    (tmp_path / "exit_hooks.py").write_text("raise SystemExit\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    for text, name in (
        ("my_hooks:sign_in", "alice"),
        ("my_hooks:users", "bob"),
        ("my_hooks:users.find", "carol"),
    ):
        assert await asked(AuthHook(load_hook(text))) == Principal.of_token(name)
    for text, sentence in (
        ("my_hooks", "the auth hook 'my_hooks' is no function: write module:function"),
        ("my_hooks:", "is no function"),
        (":sign_in", "is no function"),
        ("my hooks:sign_in", "is no function"),
        ("../my_hooks:sign_in", "is no function"),
        ("no_such_module_here:f", r"can't import .*No module named .*PYTHONPATH"),
        ("bad_hooks:f", r"can't import the auth hook 'bad_hooks:f' \(RuntimeError: no database\): install"),
        ("exit_hooks:f", r"can't import the auth hook 'exit_hooks:f' \(SystemExit\)"),
        ("my_hooks:nothing", "the module 'my_hooks' has no 'nothing': correct the auth hook"),
        ("my_hooks:number", "can't be called: write a function of a token, headers and an address"),
        ("my_hooks:short", "can't be called"),
    ):
        with pytest.raises(SettingsError, match=sentence) as error:
            load_hook(text)
        assert "\n" not in str(error.value)
