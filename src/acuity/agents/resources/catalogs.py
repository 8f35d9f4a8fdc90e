"""The resources acuity://models and acuity://extractors, and one for each name with what is known of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

import mcp_types as types

from acuity.agents.resources import content
from acuity.agents.tools.model_list import ModelList, describe_file
from acuity.errors import FeatureError, ModelError
from acuity.features import EXTRACTORS, get_extractor
from acuity.features.describe import describe_extractor
from acuity.models.describe import intended_use

MODELS: Final = "acuity://models"
_EXTRACTORS: Final = "acuity://extractors"
_ALL_MODELS: Final = "The model files of this server and whether they can be used, as in list_models."
_MODEL: Final = """\
What a model reads, what it is meant for and whether it can be used here, as describe_model has it."""
_ALL_EXTRACTORS: Final = """\
All extractors: what each measures, the figures it gives, and the options it takes."""
_EXTRACTOR: Final = "What an extractor measures, the figures it gives, and the options it takes."


class ModelResources:
    def __init__(self, models: ModelList) -> None:
        self._models = models

    async def list(self) -> Sequence[types.Resource]:
        names = [file.name for file in await self._models.files() if file.unique]
        return [
            content.resource(MODELS, "models", "Models", _ALL_MODELS),
            *(
                content.resource(content.address(MODELS, name), name, f"Model {name}", intended_use(name))
                for name in names
            ),
        ]

    def templates(self) -> Sequence[types.ResourceTemplate]:
        return [content.template(f"{MODELS}/{{name}}", "model", "A model", _MODEL)]

    async def read(self, uri: str) -> types.ReadResourceResult | None:
        if content.is_family(MODELS, uri):
            return content.document_content(uri, (await self._models.listing()).structured_content)
        name = content.name_in(MODELS, uri)
        if name is None:
            return None
        try:
            file = await self._models.find(name)
        except ModelError as error:
            raise content.missing(uri, str(error)) from error
        if file is None:
            raise content.missing(uri, f"model '{name}' not found; read {MODELS} for those that are there")
        return content.document_content(uri, await asyncio.to_thread(describe_file, file))


class ExtractorResources:
    async def list(self) -> Sequence[types.Resource]:
        return [
            content.resource(_EXTRACTORS, "extractors", "Feature extractors", _ALL_EXTRACTORS),
            *(
                content.resource(
                    content.address(_EXTRACTORS, name), name, f"Extractor {name}", extractor.summary
                )
                for name, extractor in EXTRACTORS.items()
            ),
        ]

    def templates(self) -> Sequence[types.ResourceTemplate]:
        return [content.template(f"{_EXTRACTORS}/{{name}}", "extractor", "A feature extractor", _EXTRACTOR)]

    async def read(self, uri: str) -> types.ReadResourceResult | None:
        if content.is_family(_EXTRACTORS, uri):
            listed = [describe_extractor(extractor) for extractor in EXTRACTORS.values()]
            return content.document_content(uri, {"extractors": listed})
        name = content.name_in(_EXTRACTORS, uri)
        if name is None:
            return None
        try:
            return content.document_content(uri, describe_extractor(get_extractor(name)))
        except FeatureError as error:
            raise content.missing(uri, str(error)) from error
