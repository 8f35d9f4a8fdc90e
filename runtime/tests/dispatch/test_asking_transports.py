"""Tools that ask, on every transport in both eras, and what a raw HTTP client sees of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from asking_client import ASKED, TOLD, Person, interview
from longwire.product.catalog import Catalog, Tool
from transport_bench import ENDPOINTS, ERAS, Bench, serving

NOTHING = {"type": "object", "properties": {}}


class Asking(Bench):
    """A bench whose tool asks."""

    def catalog(self) -> Catalog:
        return Catalog(tools=[Tool("interview", "interview", "Asks.", NOTHING, interview)])


@pytest.mark.parametrize("transport", list(ENDPOINTS))
@pytest.mark.parametrize("era", ERAS)
async def test_a_tool_asks_its_client(transport: str, era: str, tmp_path: Path) -> None:
    person = Person()
    async with (
        serving(ENDPOINTS[transport](tmp_path), bench=Asking()) as server,
        server.client(era, **person.callbacks) as client,
    ):
        result = await client.call_tool("interview", {})
        assert result.structured_content == TOLD
    assert person.asked == ASKED
