"""Records: classes whose annotated names are fields, used like dataclasses; and tuples with such names.

dataclasses compile code for each class, and load a good part of Python's library: together that took as long
as Python itself takes to start. A program may still use dataclasses.replace() and its like on a record.
typing's NamedTuple compiles code too, and this one doesn't.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, dataclass_transform

if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:
    from _collections import _tuplegetter

    class _Naming(type):
        """Makes the annotated names of a class those of the entries of its tuples."""

        def __new__(mcs, name: str, bases: tuple[type, ...], space: dict[str, Any], **more: Any) -> type:
            if not any(getattr(base, "_fields", ()) for base in bases):
                fields = tuple(space.get("__annotations__", ()))
                space["_fields"] = space["__match_args__"] = fields
                space["_field_defaults"] = {field: space[field] for field in fields if field in space}
                space |= {field: _tuplegetter(number, "") for number, field in enumerate(fields)}
                space["__slots__"] = ()
            return super().__new__(mcs, name, bases, space, **more)

    class NamedTuple(tuple, metaclass=_Naming):
        """The base of tuples whose entries have names, with the methods that typing's have."""

        def __new__(cls, *values: Any, **named: Any) -> Any:
            fields = cls._fields
            if named or len(values) < len(fields):
                rest = fields[len(values) :]
                if unknown := named.keys() - set(rest):
                    raise TypeError(f"{cls.__name__} has no such entry, or was given it twice: {unknown}")
                given = {**cls._field_defaults, **named}
                if missing := [field for field in rest if field not in given]:
                    raise TypeError(f"{cls.__name__} needs {', '.join(missing)}")
                values = (*values, *(given[field] for field in rest))
            if len(values) > len(fields):
                raise TypeError(f"{cls.__name__} has {len(fields)} entries, not {len(values)}")
            return tuple.__new__(cls, values)

        @classmethod
        def _make(cls, values: Iterable[Any]) -> Any:
            return cls(*values)

        def _replace(self, **named: Any) -> Any:
            if unknown := named.keys() - set(self._fields):
                raise ValueError(f"{type(self).__name__} has no such entry: {unknown}")
            return type(self)(**{**self._asdict(), **named})

        def _asdict(self) -> dict[str, Any]:
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self) -> str:
            shown = (f"{field}={value!r}" for field, value in zip(self._fields, self, strict=True))
            return f"{type(self).__name__}({', '.join(shown)})"

        def __getnewargs__(self) -> tuple[Any, ...]:
            return tuple(self)


MISSING: Final = object()  # the default of a field that has none


class Field(NamedTuple):
    """What a field is if none is given, and whether it counts where records are compared and shown."""

    default: Any
    default_factory: Callable[[], Any] | None
    compare: bool
    repr: bool
    metadata: Mapping[str, Any]

    @property
    def usual(self) -> Any:
        """The value if none is given; MISSING: one must be."""
        return self.default if self.default_factory is None else self.default_factory()


def field(
    *,
    default: Any = MISSING,
    default_factory: Callable[[], Any] | None = None,
    compare: bool = True,
    repr: bool = True,
    metadata: Mapping[str, Any] | None = None,
) -> Any:
    return Field(default, default_factory, compare, repr, metadata or {})


class AsDataclass:
    """The `fields` of a class as those of a dataclass, for the functions of that module."""

    def __get__(self, record: object, kind: Any) -> Any:
        import dataclasses

        made = []
        for name, entry in kind.fields.items():
            default: dict[str, Any] = {} if entry.default is MISSING else {"default": entry.default}
            if entry.default_factory is not None:
                default = {"default_factory": entry.default_factory}
            given: dict[str, Any] = {"compare": entry.compare, "repr": entry.repr, "metadata": entry.metadata}
            made.append((name, Any, dataclasses.field(**default, **given, kw_only=True)))
        return dataclasses.make_dataclass(kind.__name__, made).__dataclass_fields__  # type: ignore[attr-defined]


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Record:
    """The base of records: not to be changed, and equal if their fields are, unless a class says so."""

    fields: ClassVar[dict[str, Field]] = {}
    __match_args__: ClassVar[tuple[str, ...]] = ()
    __dataclass_fields__: ClassVar[Any] = AsDataclass()

    def __init_subclass__(cls, *, frozen: bool = True, eq: bool = True, kw_only: bool = False) -> None:
        own = {}
        for name, kind in cls.__annotations__.items():
            if "ClassVar" not in str(kind):
                given = cls.__dict__.get(name, MISSING)
                own[name] = given if isinstance(given, Field) else field(default=given)
                if given is not MISSING:
                    delattr(cls, name)
        cls.fields = {**cls.fields, **own}
        cls.__match_args__ = tuple(cls.fields)  # type: ignore[misc]
        if not frozen:
            cls.__setattr__, cls.__delattr__ = object.__setattr__, object.__delattr__  # type: ignore[method-assign, assignment]
            cls.__hash__ = None  # type: ignore[assignment]
        if not eq:
            cls.__eq__, cls.__hash__ = object.__eq__, object.__hash__  # type: ignore[method-assign]

    def __init__(self, *values: Any, **named: Any) -> None:
        kind, state = type(self), self.__dict__
        state.update(zip(kind.fields, values))  # noqa: B905  # what is too much is refused below
        if wrong := [name for name in named if name in state or name not in kind.fields]:
            raise TypeError(f"{kind.__name__} has no such field, or was given it twice: {', '.join(wrong)}")
        state.update(named)
        if len(values) > len(kind.fields):
            raise TypeError(f"{kind.__name__} has {len(kind.fields)} fields, not {len(values)}")
        if len(state) < len(kind.fields):
            for name, entry in kind.fields.items():
                if name not in state and (usual := entry.usual) is not MISSING:
                    state[name] = usual
            if missing := [name for name in kind.fields if name not in state]:
                raise TypeError(f"{kind.__name__} needs {', '.join(missing)}")
        self.__post_init__()

    def __post_init__(self) -> None:
        """Checks of a class."""

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} can't be changed: make another with changed({name}=...)")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} can't be changed: '{name}' stays")

    def _compared(self) -> tuple[Any, ...]:
        return tuple(self.__dict__[name] for name, entry in self.fields.items() if entry.compare)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Record) or type(other) is not type(self):
            return NotImplemented
        return self._compared() == other._compared()

    def __hash__(self) -> int:
        return hash(self._compared())

    def __repr__(self) -> str:
        shown = (f"{name}={self.__dict__[name]!r}" for name, entry in self.fields.items() if entry.repr)
        return f"{type(self).__name__}({', '.join(shown)})"

    def changed(self, **fields: Any) -> Self:
        """A record with these fields, and the others of this one."""
        return type(self)(**{**{name: self.__dict__[name] for name in self.fields}, **fields})
