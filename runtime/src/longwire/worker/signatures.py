"""The parameters of a handler: a JSON Schema made of its type hints, and arguments made for it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

from longwire.errors import SettingsError, ToolError
from longwire.text import quoted

Function: TypeAlias = Callable[..., Any]
Convert: TypeAlias = Callable[[Mapping[str, Any]], dict[str, Any]]

_PLAIN: Final = frozenset({str, int, float, bool, dict, list, Any})  # come from JSON as they are
_NAMED: Final = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class Signature(NamedTuple):
    """The schema of a handler's parameters, and how its arguments are made."""

    schema: dict[str, Any]
    convert: Convert | None  # makes its arguments of those of a call; None: they are as they should be


class Parameter(NamedTuple):
    """One parameter of a handler."""

    name: str
    hint: Any
    default: Any  # inspect.Parameter.empty: it has none

    @property
    def required(self) -> bool:
        return self.default is inspect.Parameter.empty


def parameters_of(function: Function) -> list[Parameter]:
    """The parameters, all of which can be given by name; raises SettingsError."""
    name = getattr(function, "__name__", "the handler")
    try:
        hints = get_type_hints(function, include_extras=True)
    except (NameError, TypeError) as error:
        raise SettingsError(f"the type hints of '{name}' can't be read: {error}") from None
    found = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in _NAMED:
            raise SettingsError(
                f"the parameter '{parameter.name}' of '{name}' can't be given by name: make it a plain one"
            )
        hint = hints.get(parameter.name, Any)
        found.append(Parameter(parameter.name, hint, parameter.default))
    return found


def signature_of(function: Function) -> Signature:
    """The schema of a handler's parameters, from its type hints; raises SettingsError."""
    parameters = parameters_of(function)
    # Under names of our own: pydantic's models have attributes that parameters may be called like.
    fields: dict[str, Any] = {
        f"p{number}": (one.hint, Field(... if one.required else one.default, alias=one.name))
        for number, one in enumerate(parameters)
    }
    try:
        model: type[BaseModel] = create_model("Arguments", __config__=ConfigDict(extra="forbid"), **fields)
        schema = model.model_json_schema(by_alias=True)
    except (PydanticSchemaGenerationError, PydanticUserError) as error:
        name = getattr(function, "__name__", "the handler")
        first = str(error).splitlines()[0]
        raise SettingsError(f"no schema can be made of the type hints of '{name}': {first}") from None
    schema = without_titles(schema)
    schema.setdefault("properties", {})
    if all(_is_plain(one.hint) for one in parameters):
        return Signature(schema, None)
    return Signature(schema, _converter(model, [one.name for one in parameters]))


def given_signature(function: Function, schema: Mapping[str, Any]) -> Signature:
    """A schema that the author has written; raises SettingsError where the handler doesn't fit it."""
    name = getattr(function, "__name__", "the handler")
    if schema.get("type") != "object":
        raise SettingsError(f"the schema of '{name}' is of another type than object: write one of an object")
    parameters = inspect.signature(function).parameters.values()
    if not any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters):
        taken = {one.name for one in parameters}
        for known in schema.get("properties", {}):
            if known not in taken:
                raise SettingsError(f"the schema of '{name}' has '{known}', which its handler doesn't take")
    return Signature(dict(schema), None)


def form_of(hint: Any) -> dict[str, Any]:
    """The schema of a model's or dataclass's fields, for a form; raises SettingsError."""
    try:
        schema = without_titles(TypeAdapter(hint).json_schema())
    except (PydanticSchemaGenerationError, PydanticUserError):
        schema = {}
    if schema.get("type") != "object":
        raise SettingsError(f"{quoted(hint)} is no form: use a JSON Schema, a model or a dataclass")
    return {name: part for name, part in schema.items() if name != "description"}


def _converter(model: type[BaseModel], names: list[str]) -> Convert:
    def convert(arguments: Mapping[str, Any]) -> dict[str, Any]:
        try:
            made = model.model_validate(dict(arguments))
        except ValidationError as error:
            wrong = error.errors(include_url=False, include_input=False, include_context=False)[0]
            place = ".".join(str(part) for part in wrong["loc"])
            raise ToolError(f"invalid argument '{place}': {wrong['msg']}") from None
        return {name: getattr(made, f"p{number}") for number, name in enumerate(names)}

    return convert


def _is_plain(hint: Any) -> bool:
    try:
        return hint in _PLAIN
    except TypeError:  # it has no hash
        return False


def without_titles(schema: Any) -> Any:
    """The schema without the titles that pydantic makes of names."""
    if isinstance(schema, list):
        return [without_titles(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {}
    for name, part in schema.items():
        if name == "title" and isinstance(part, str):
            continue
        if name in ("properties", "$defs") and isinstance(part, dict):
            kept[name] = {key: without_titles(value) for key, value in part.items()}
        else:
            kept[name] = part if name in ("default", "enum", "const", "examples") else without_titles(part)
    return kept
