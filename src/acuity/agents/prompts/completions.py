"""Completions of prompt arguments and of variables in resource URIs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Final, TypeAlias

import mcp_types as types
from mcp.shared.exceptions import MCPError

from acuity.agents.prompts.instructions import CODECS
from acuity.agents.prompts.scoring import COMMON, known_geometry, known_size, spelled
from acuity.agents.resources import ReportResources, WorstResources
from acuity.agents.tools.model_list import ONNX
from acuity.agents.tools.services import Services
from acuity.devices import BACKENDS, look_for
from acuity.features import EXTRACTORS, Option
from acuity.models import ModelSpec
from acuity.models.choose import model_class, size_class
from longwire.product.catalog import Completer, Prompt, Resources

# Returns all completions, best first, from the typed text and the other arguments.
Source: TypeAlias = Callable[[str, Mapping[str, str]], Awaitable[Iterable[str]]]

_MOST_REPORTS: Final = 500
_VERSION: Final = "version="


def completer(services: Services, prompts: Sequence[Prompt], resources: Sequence[Resources]) -> Completer:
    """A function that completes the arguments of these prompts and the variables of these resources."""
    sources = _Sources(services)
    arguments = {prompt.name: {argument.name for argument in prompt.arguments} for prompt in prompts}
    templates = {template.uri_template for family in resources for template in family.templates()}

    async def complete(params: types.CompleteRequestParams) -> Sequence[str]:
        typed, name = params.argument.value, params.argument.name
        if isinstance(params.ref, types.PromptReference):
            _check_known("prompt", params.ref.name, arguments)
            source = sources.for_argument.get(name) if name in arguments[params.ref.name] else None
        else:
            _check_known("resource template", params.ref.uri, templates)
            source = sources.for_variable.get((params.ref.uri, name))
        if source is None:
            return []  # free text, such as a path
        settled = (params.context.arguments or {}) if params.context is not None else {}
        return matching(typed, await source(typed, settled))

    return complete


def matching(typed: str, values: Iterable[str]) -> list[str]:
    """The values that begin with the typed text, then those that contain it, each in the given order."""
    wanted = typed.casefold()
    found = [value for value in dict.fromkeys(values) if wanted in value.casefold()]
    return sorted(found, key=lambda value: not value.casefold().startswith(wanted))


class _Sources:
    def __init__(self, services: Services) -> None:
        self._models = services.models
        self._reports = ReportResources(services.jobs)
        self._worst = WorstResources(services.jobs, services.pictures)
        self.for_argument: Final[dict[str, Source]] = {
            "model": self._model_strings,
            "feature": _features,
            "backend": _backends,
            "geometry": _geometries,
            "codecs": _codecs,
        }
        self.for_variable: Final[dict[tuple[str, str], Source]] = {
            ("acuity://models/{name}", "name"): self._model_names,
            ("acuity://extractors/{name}", "name"): _extractors,
            ("acuity://reports/{id}{?frames}", "id"): self._report_ids,
            ("acuity://reports/{id}.csv{?frames}", "id"): self._report_ids,
            ("acuity://reports/{id}/report.html{?frames}", "id"): self._report_ids,
            ("acuity://worst/{id}/{name}{?width}", "id"): self._worst_ids,
            ("acuity://worst/{id}/{name}{?width}", "name"): self._worst_names,
        }

    async def _model_names(self, _: str, __: Mapping[str, str]) -> list[str]:
        return [file.name for file in await self._models.files() if file.unique]

    async def _model_strings(self, typed: str, settled: Mapping[str, str]) -> list[str]:
        """Usable models, those for the picture size first, in the notation of the typed text."""
        listing = (await self._models.listing()).structured_content or {}
        # Prompts score with VMAF models; ONNX models have an argument of their own in the tools.
        usable = {e["name"] for e in listing["models"] if e["usable"] and e["format"] != ONNX}
        names = [name for name in await self._model_names(typed, settled) if name in usable]
        size = known_size(settled.get("geometry"), settled.get("reference", ""))
        if size is not None:
            wanted = size_class(*size) == "4k"
            names.sort(key=lambda name: (model_class(ModelSpec(version=name)) == "4k") != wanted)
        spelling = _VERSION if typed.startswith(_VERSION) else ""
        return [f"{spelling}{name}" for name in names]

    async def _report_ids(self, _: str, __: Mapping[str, str]) -> list[str]:
        found, _more = await self._reports.newest(_MOST_REPORTS)
        return [job.id for job in found]

    async def _worst_ids(self, _: str, __: Mapping[str, str]) -> list[str]:
        return [job.id for job in (await self._worst.newest())[0]]

    async def _worst_names(self, _: str, settled: Mapping[str, str]) -> Sequence[str]:
        return await self._worst.names(settled.get("id", ""))


async def _extractors(_: str, __: Mapping[str, str]) -> Iterable[str]:
    return EXTRACTORS


async def _features(typed: str, _: Mapping[str, str]) -> list[str]:
    """Extractors; after 'NAME=' the options that aren't set yet; after 'OPTION=' its values."""
    name, equals, rest = typed.partition("=")
    if not equals or name not in EXTRACTORS:
        return list(EXTRACTORS)
    earlier, colon, last = rest.rpartition(":")
    before = f"{name}={earlier}{colon}"
    options: dict[str, Option] = {option.name: option for option in EXTRACTORS[name].options}
    chosen, has_value, _value = last.partition("=")
    if has_value:
        words = options[chosen].words() if chosen in options else ()
        return [f"{before}{chosen}={word}" for word in words]
    used = {part.partition("=")[0] for part in earlier.split(":")}
    return [f"{before}{option}=" for option in options if option not in used]


async def _backends(_: str, __: Mapping[str, str]) -> list[str]:
    return ["auto", *(name for name in BACKENDS if look_for(name).problem is None)]


async def _geometries(_: str, settled: Mapping[str, str]) -> list[str]:
    """The geometry in the reference's name, then common ones."""
    named = known_geometry(None, settled.get("reference", ""))
    return [*([spelled(named)] if named is not None else []), *COMMON]


async def _codecs(typed: str, _: Mapping[str, str]) -> list[str]:
    """Completions of the last entry in a list of codecs."""
    earlier, comma, last = typed.rpartition(",")
    chosen = {part.strip() for part in earlier.split(",")}
    before = f"{earlier}{comma}{last[: len(last) - len(last.lstrip())]}"
    return [f"{before}{name}" for name in CODECS if name not in chosen]


def _check_known(kind: str, name: str, known: Iterable[str]) -> None:
    if name not in known:
        raise MCPError(
            types.INVALID_PARAMS, f"unknown {kind} '{name}': use one of {', '.join(sorted(known))}"
        )
