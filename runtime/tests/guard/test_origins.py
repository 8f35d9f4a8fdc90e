"""Origins of pages, compared as browsers compare them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longwire.errors import SettingsError
from longwire.guard.origins import Origin, Origins

ALLOWED = Origins.parse(
    [
        "https://studio.example",
        "http://localhost:6274",
        "http://[::1]:80",
        "https://bücher.example",
        "app://main",
    ]
)


@pytest.mark.parametrize(
    "origin",
    [
        "https://studio.example",
        "https://studio.example:443",
        "HTTPS://Studio.Example",
        "http://localhost:6274",
        "http://[::1]",
        "http://[0:0:0:0:0:0:0:1]",
        "https://xn--bcher-kva.example",
        "app://main",
    ],
)
def test_the_same_origin_in_another_spelling(origin: str) -> None:
    assert origin in ALLOWED


@pytest.mark.parametrize(
    "origin",
    [
        "",
        "null",
        "*",
        "https://",
        "studio.example",
        "http://studio.example",  # another scheme
        "https://studio.example:8443",  # another port
        "https://studio.example/",
        "https://studio.example#x",
        "https://studio.example\\@evil.example",
        "https://studio.example@evil.example",
        "https://a.studio.example",
        "https://studio.example.evil.example",
        "https://studio.example:",
        "https://studio.example:99999",
        "https://studio.example https://evil.example",
        "https://studio%2eexample",
        "http://localhost:6275",
        "http://[::1",
        "http://[::2]",
        "http://" + "a" * 300,
    ],
)
def test_all_others_are_foreign(origin: str) -> None:
    assert origin not in ALLOWED


@pytest.mark.parametrize(
    "text", ["*", "https://*", "https://*.studio.example", "null", "", "localhost", "http://a/b", 7]
)
def test_what_cannot_be_allowed(text: str) -> None:
    with pytest.raises(SettingsError, match=r"is no origin: write scheme, host and port of each"):
        Origins.parse(["https://studio.example", text])


def test_no_origins_are_false() -> None:
    assert not Origins.parse([])
    assert ALLOWED


@given(st.text() | st.from_regex(r"https?://[a-z0-9.:\[\]@/-]{0,30}", fullmatch=True))
def test_any_text_is_an_origin_or_none(text: str) -> None:
    found = Origin.parse(text)
    if found is not None:
        spelled = f"{found.scheme}://{found.host}" + (f":{found.port}" if found.port is not None else "")
        assert Origin.parse(spelled) == found
        assert spelled in Origins(frozenset({found}))
    assert text not in Origins()
