"""The token of operators that the server makes itself."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from longwire.admin.own_token import NAME, own_token
from longwire.errors import SettingsError


def test_it_is_random_for_its_owner_alone_and_stays(tmp_path: Path) -> None:
    tokens, path = own_token(tmp_path / "new")
    assert path == tmp_path / "new" / NAME
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    [token] = tokens
    assert path.read_text() == f"{token}\n"
    assert len(token) > 40
    assert tokens.find(token).key == "token:admin"
    assert list(own_token(tmp_path / "new")[0]) == [token]
    assert list(own_token(tmp_path)[0]) != [token]
    assert os.listdir(tmp_path / "new") == [NAME]


def test_servers_that_start_at_once_have_the_same(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: list(own_token(tmp_path)[0]), range(8)))
    assert found == [[(tmp_path / NAME).read_text().strip()]] * 8


@pytest.mark.parametrize(
    ("content", "mode"),
    [
        *(("one-that-others-could-touch", mode) for mode in (0o644, 0o640, 0o620)),
        *((broken, 0o600) for broken in ("", "short", "two words of it", "ü" * 40, "a name\nand more")),
    ],
)
def test_a_broken_file_and_one_that_others_could_touch_are_replaced(
    tmp_path: Path, content: str, mode: int
) -> None:
    path = tmp_path / NAME
    path.write_text(content)
    path.chmod(mode)
    [token] = own_token(tmp_path)[0]
    assert path.read_text() == f"{token}\n" != f"{content}\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("a-token-of-somebody-else\n")
    elsewhere.chmod(0o600)
    (tmp_path / NAME).symlink_to(elsewhere)
    assert "a-token-of-somebody-else" not in own_token(tmp_path)[0]
    assert not (tmp_path / NAME).is_symlink()
    assert elsewhere.read_text() == "a-token-of-somebody-else\n"


def test_a_folder_that_cannot_be_written_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match=r"set \[admin\] token_file"):
        own_token(tmp_path / "file")
