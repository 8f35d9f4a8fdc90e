"""Arguments checked against a tool's schema: the plain ones at once, all others by jsonschema.

Most calls have a few texts, numbers and choices, and a look at each says that they are right, in a tenth of
jsonschema's time. Only that is decided here: all others go to jsonschema, which alone finds what is wrong.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from longwire.text import shortened

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

_LONGEST: Final = 200  # characters of what is wrong with a document

# Says whether a value is surely right.
_Check: TypeAlias = Callable[[Any], bool]

# Python's types of the values that are looked at. A bool is no integer, and a float may be one to jsonschema.
_TYPES: Final[Mapping[str, frozenset[type]]] = {
    "string": frozenset({str}),
    "integer": frozenset({int}),
    "number": frozenset({int, float}),
    "boolean": frozenset({bool}),
    "null": frozenset({type(None)}),
}
_NOTES: Final = frozenset({"title", "description", "default", "examples", "x-mcp-header", "deprecated"})
_OBJECT: Final = frozenset({"$schema", "type", "properties", "required", "additionalProperties"}) | _NOTES


class ArgumentFault(NamedTuple):
    """A fault of one argument, in the form of jsonschema's errors."""

    absolute_path: tuple[str, ...]
    validator: str
    validator_value: Any
    instance: Any


class SchemaCheck:
    """The checks of one schema, made once: creating a validator takes longer than most calls."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self.schema = schema
        self._properties: dict[str, Any] = schema.get("properties", {})
        self._checks: dict[str, _Check] | None = None  # None: the schema says more than what properties are
        if schema.keys() <= _OBJECT and schema.get("type") == "object":
            found = ((name, _plain_check(part)) for name, part in self._properties.items())
            self._checks = {name: check for name, check in found if check is not None}
        self._required = frozenset(schema.get("required", ()))
        self._defaults = {
            name: part["default"]
            for name, part in self._properties.items()
            if isinstance(part, dict) and "default" in part
        }

    def is_surely_right(self, arguments: Mapping[str, Any]) -> bool:
        """Whether these arguments fit, as far as a look at each of them shows."""
        checks = self._checks
        if checks is None:
            return False
        for name, value in arguments.items():
            check = checks.get(name)
            if check is None or not check(value):
                return False
        return self._required <= arguments.keys()

    def fault(self, document: Any) -> str | None:
        """What is wrong with any document, and where; None: it fits."""
        error = next(self._validator.iter_errors(document), None)
        if error is None:
            return None
        place = ".".join(str(part) for part in error.absolute_path)
        return shortened(f"'{place}': {error.message}" if place else error.message, _LONGEST)

    @functools.cached_property
    def _validator(self) -> Draft202012Validator:
        from jsonschema import Draft202012Validator  # a server should listen before it loads this

        return Draft202012Validator(self.schema)

    def errors(self, arguments: Mapping[str, Any]) -> Iterator[Any]:
        """The faults of arguments: first the lists and objects that a look at each refuses.

        jsonschema looks at the entries of a list before it counts them, and its messages have whole values.
        """
        yield from (fault for name in self._properties if (fault := self._plain_fault(name, arguments)))
        yield from self._validator.iter_errors(arguments)

    def _plain_fault(self, name: str, arguments: Mapping[str, Any]) -> ArgumentFault | None:
        value, part = arguments.get(name), self._properties[name]
        kind = "array" if isinstance(value, list) else "object" if isinstance(value, dict) else None
        if kind is None or not isinstance(part, dict):
            return None
        assert value is not None
        wanted, most = part.get("type", kind), part.get("maxItems")
        if kind != wanted and kind not in wanted:
            return ArgumentFault((name,), "type", wanted, value)
        if kind == "array" and most is not None and len(value) > most:
            return ArgumentFault((name,), "maxItems", most, value)
        return None

    def fill_in(self, arguments: dict[str, Any]) -> None:
        """Add the defaults of those that are missing."""
        for name, value in self._defaults.items():
            if name not in arguments:
                arguments[name] = deepcopy(value)


def schema_check(schema: dict[str, Any]) -> SchemaCheck:
    """The checks of a schema, which is known by its identity: a dict has no hash."""
    found = _KNOWN.get(id(schema))
    if found is None:
        if len(_KNOWN) >= _MOST:
            del _KNOWN[next(iter(_KNOWN))]
        found = _KNOWN[id(schema)] = SchemaCheck(schema)  # it holds the schema, so the id stays its own
    return found


_MOST: Final = 1024  # schemas; allowlists change those of some tools
_KNOWN: Final[dict[int, SchemaCheck]] = {}


def _plain_check(schema: Any) -> _Check | None:
    """The check of a text, a number or a choice; None where more than that is described."""
    if not isinstance(schema, dict):
        return None
    make = _MAKERS.get(frozenset(schema.keys() - _NOTES - _BOUNDS))
    return make(schema) if make is not None else None


def _of_type(schema: dict[str, Any]) -> _Check | None:
    wanted = schema["type"]
    names = [wanted] if isinstance(wanted, str) else wanted
    if not all(name in _TYPES for name in names):
        return None
    kinds = frozenset().union(*(_TYPES[name] for name in names))
    low, high = schema.get("minimum"), schema.get("maximum")
    shortest, longest = schema.get("minLength"), schema.get("maxLength")
    if (low, high, shortest, longest) == (None, None, None, None):
        return lambda value: type(value) in kinds
    if not kinds <= _TYPES["number"] and not kinds <= _TYPES["string"]:
        return None

    def check(value: Any) -> bool:
        if type(value) not in kinds:
            return False
        if type(value) is str:
            return (shortest is None or len(value) >= shortest) and (longest is None or len(value) <= longest)
        return (low is None or value >= low) and (high is None or value <= high)

    return check


def _of_choice(schema: dict[str, Any]) -> _Check:
    words = frozenset(value for value in schema["enum"] if isinstance(value, str))
    return lambda value: type(value) is str and value in words


def _of_typed_choice(schema: dict[str, Any]) -> _Check | None:
    return _of_choice(schema) if schema["type"] == "string" else None


_BOUNDS: Final = frozenset({"minimum", "maximum", "minLength", "maxLength"})
_MAKERS: Final[Mapping[frozenset[str], Callable[[dict[str, Any]], _Check | None]]] = {
    frozenset({"type"}): _of_type,
    frozenset({"enum"}): _of_choice,
    frozenset({"type", "enum"}): _of_typed_choice,
}
