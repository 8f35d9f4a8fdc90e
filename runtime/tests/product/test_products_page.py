"""The product of docs/products.md can be served: its tool answers, under its own names."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from longwire import declared
from longwire.settings import Settings

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "products.md").read_text()


@pytest.fixture
def product() -> Iterator[dict[str, Any]]:
    """What the page's program defines; the product that was declared before is back behind the test."""
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    before, names = declared.declared(), dict[str, Any]()
    exec(program, names)
    yield names
    declared.declare(before)


async def test_its_tool_answers(product: dict[str, Any]) -> None:
    async with product["serving"](Settings()) as served, Client(served.server) as client:
        told = await client.call_tool("greet", {"name": "Ada"})
        assert told.structured_content == {"greeting": "Hello, Ada!"}


def test_its_options_have_its_names(product: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    product["command"].configure(parser)
    assert product["command"].run(parser.parse_args(["--check"])) == 0
    assert "[server]" in capsys.readouterr().out
    assert declared.declared().config_variable == "GREETER_CONFIG"
