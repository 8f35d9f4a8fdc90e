"""The resources acuity://extractors, and acuity://extractors/{name} for one with its options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import mcp_types as types

from acuity.agents.resources.content import JSON, address, document_content, is_family, missing, name_in
from acuity.errors import FeatureError
from acuity.features import EXTRACTORS, get_extractor
from acuity.features.describe import describe_extractor

FAMILY: Final = "acuity://extractors"


class ExtractorResources:
    """The feature extractors as resources."""

    async def list(self) -> Sequence[types.Resource]:
        index = types.Resource(
            uri=FAMILY,
            name="extractors",
            title="Feature extractors",
            description="All extractors: what each measures, the figures it gives, and the options it takes.",
            mime_type=JSON,
        )
        return [
            index,
            *(
                types.Resource(
                    uri=address(FAMILY, name),
                    name=name,
                    title=f"Extractor {name}",
                    description=extractor.summary,
                    mime_type=JSON,
                )
                for name, extractor in EXTRACTORS.items()
            ),
        ]

    def templates(self) -> Sequence[types.ResourceTemplate]:
        return [
            types.ResourceTemplate(
                uri_template=f"{FAMILY}/{{name}}",
                name="extractor",
                title="A feature extractor",
                description="What an extractor measures, the figures it gives, and the options it takes.",
                mime_type=JSON,
            )
        ]

    async def read(self, uri: str) -> types.ReadResourceResult | None:
        if is_family(FAMILY, uri):
            listed = [describe_extractor(extractor) for extractor in EXTRACTORS.values()]
            return document_content(uri, {"extractors": listed})
        name = name_in(FAMILY, uri)
        if name is None:
            return None
        try:
            return document_content(uri, describe_extractor(get_extractor(name)))
        except FeatureError as error:
            raise missing(uri, str(error)) from error
