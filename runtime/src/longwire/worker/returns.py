"""Results of tools: the output schema of a return annotation, and values that are held to it."""

from __future__ import annotations

import types as python_types
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Union, get_args, get_origin, get_type_hints, is_typeddict

import typing_extensions
from pydantic import TypeAdapter
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError, PydanticUserError

from longwire.product.catalog import Answer
from longwire.product.schema_checks import schema_check
from longwire.text import shortened
from longwire.worker.answers import documented, plain, protocol_answer
from longwire.worker.faults import HandlerFault
from longwire.worker.signatures import Function, without_titles

_TEXTS: Final = frozenset({str, type(None)})
_UNIONS: Final = frozenset({Union, python_types.UnionType})
_PROTOCOL: Final = "mcp_types"  # the module of content and results that are sent as they are
_SHOWN: Final = 200  # characters of what is wrong with a value


class Returns(NamedTuple):
    """The form of a tool's results."""

    schema: dict[str, Any] | None = None  # None: any
    wraps: bool = False  # its value is the member `result` of the document

    def answer(self, what: str, value: Any) -> Answer:
        """A value as the result of a call; raises HandlerFault."""
        found = protocol_answer(value, texts=self.schema is None)
        if found is not None:
            return found
        made = plain(value)
        if self.schema is None:
            return documented(made, not isinstance(made, dict))
        document = {"result": made} if self.wraps else made
        check = schema_check(self.schema)
        if not isinstance(document, dict) or not check.is_surely_right(document):
            error = next(check.errors(document), None)
            if error is not None:
                place = ".".join(str(part) for part in error.absolute_path)
                problem = shortened(f"'{place}': {error.message}" if place else error.message, _SHOWN)
                raise HandlerFault(f"{what} returned a value that doesn't fit its output schema: {problem}")
        return documented(made, self.wraps)


def returns_of(function: Function, given: Mapping[str, Any] | None) -> Returns:
    """The form of a handler's results, by its author's schema or else by its annotation."""
    if given is not None:
        return Returns(dict(given))
    hint = get_type_hints(function, include_extras=True).get("return", Any)
    if _is_free(hint):
        return Returns()
    try:
        schema = without_titles(_schema(hint))
    except (PydanticSchemaGenerationError, PydanticInvalidForJsonSchema, PydanticUserError):
        return Returns()  # it is sent as well as can be
    if _is_object(schema):
        return Returns({"type": "object", **schema})
    definitions = schema.pop("$defs", None)
    wrapped = {"type": "object", "properties": {"result": schema}, "required": ["result"]}
    return Returns(wrapped if definitions is None else {**wrapped, "$defs": definitions}, wraps=True)


def _schema(hint: Any) -> dict[str, Any]:
    if is_typeddict(hint):  # before Python 3.12 pydantic takes those of typing_extensions alone
        typed_dict: Any = typing_extensions.TypedDict
        hint = typed_dict(hint.__name__, get_type_hints(hint, include_extras=True), total=hint.__total__)
    found: dict[str, Any] = TypeAdapter(hint).json_schema(mode="serialization")
    return found


def _is_free(hint: Any) -> bool:
    """Whether values of the type are no document: texts, content of the protocol, or anything at all."""
    if hint is Any or hint in (list, tuple, dict, object, bytes):
        return True
    if get_origin(hint) in _UNIONS:
        members = get_args(hint)
        return all(member in _TEXTS for member in members) or any(_is_content(one) for one in members)
    return hint in _TEXTS or _is_content(hint)


def _is_content(hint: Any) -> bool:
    """Whether a type of the protocol, or Any in a list, is in it."""
    if hint is Any:
        return True
    if get_origin(hint) in (list, tuple) or get_origin(hint) in _UNIONS:
        return any(_is_content(member) for member in get_args(hint))
    return str(getattr(hint, "__module__", "")).partition(".")[0] == _PROTOCOL


def _is_object(schema: Mapping[str, Any]) -> bool:
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return bool(schema.get("$defs", {}).get(name, {}).get("type") == "object")
    return schema.get("type") == "object"
