"""The resources acuity://models, and acuity://models/{name} for one as describe_model answers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

import mcp_types as types

from acuity.agents.resources.content import JSON, address, document_content, is_family, missing, name_in
from acuity.agents.tools.model_list import ModelList, describe_file
from acuity.errors import ModelError
from acuity.models.describe import intended_use

FAMILY: Final = "acuity://models"


class ModelResources:
    """The model files as resources."""

    def __init__(self, models: ModelList) -> None:
        self._models = models

    async def list(self) -> Sequence[types.Resource]:
        index = types.Resource(
            uri=FAMILY,
            name="models",
            title="Models",
            description="The model files of this server and whether they can be used, as in list_models.",
            mime_type=JSON,
        )
        files = [file for file in await self._models.files() if file.unique]
        return [
            index,
            *(
                types.Resource(
                    uri=address(FAMILY, file.name),
                    name=file.name,
                    title=f"Model {file.name}",
                    description=intended_use(file.name),
                    mime_type=JSON,
                )
                for file in files
            ),
        ]

    def templates(self) -> Sequence[types.ResourceTemplate]:
        return [
            types.ResourceTemplate(
                uri_template=f"{FAMILY}/{{name}}",
                name="model",
                title="A model",
                description="What a model reads, what it is meant for and whether it can be used here, as "
                "describe_model has it.",
                mime_type=JSON,
            )
        ]

    async def read(self, uri: str) -> types.ReadResourceResult | None:
        if is_family(FAMILY, uri):
            return document_content(uri, (await self._models.listing()).structured_content)
        name = name_in(FAMILY, uri)
        if name is None:
            return None
        try:
            file = await self._models.find(name)
        except ModelError as error:
            raise missing(uri, str(error)) from error
        if file is None:
            raise missing(uri, f"model '{name}' not found; read {FAMILY} for those that are there")
        return document_content(uri, await asyncio.to_thread(describe_file, file))
