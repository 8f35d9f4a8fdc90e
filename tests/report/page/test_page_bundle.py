"""Modules joined into one text: what is dropped, and what can't be joined."""

from __future__ import annotations

import pytest

from acuity.report.page.bundle import bundle, bundled


def test_imports_exports_comments_and_indents_are_dropped() -> None:
    one = "// Greets.\n\nexport function hello(name) {\n  // kindly\n  return `hello ${name}`; // twice\n}\n"
    two = "import { hello } from './one.js';\n\nexport const said = hello('you');\n"
    assert bundle([("one.js", one), ("two.js", two)]) == (
        "// one.js\nfunction hello(name) {\nreturn `hello ${name}`; // twice\n}\n\n"
        "// two.js\nconst said = hello('you');\n"
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("const same = 2;\n", "both have same"),
        ("import { a } from './missing.js';\n", "has to be bundled before it"),
        ("export default 3;\n", "can't be bundled"),
        ("const text = `one\n  two`;\n", "over several lines"),
    ],
)
def test_what_cannot_be_joined_is_said(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        bundle([("first.js", "const same = 1;\n"), ("second.js", text)])


def test_the_pages_own_files_stay_small() -> None:
    assert len(bundled(["page.js"]).encode()) < 81_000
