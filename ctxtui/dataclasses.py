"""Data classes as the type checker knows them, made at run time as msgspec's structs.

`dataclass`, `field`, `replace`, `fields` and `asdict` are written and checked as the standard library's are. Only what
Python makes of them differs: Python 3.11 compiles four methods for each standard data class (0.4 to 2.5 ms, several
hundred times before a first screen), and a frozen instance costs it ten times what a struct does, in twice the memory.

A class takes the standard library's `dataclass` where a member needs more than a default: one left out of comparison or
of what is printed, one without an argument. It does so too where it inherits from another one and has other options, or
a `field`. `replace`, `fields` and `asdict` take both.
"""

from __future__ import annotations

import dataclasses as standard
from typing import TYPE_CHECKING

__all__ = ["KW_ONLY", "MISSING", "Field", "asdict", "dataclass", "dataclass_acyclic", "field", "fields", "replace"]

if TYPE_CHECKING:
    from dataclasses import KW_ONLY as KW_ONLY
    from dataclasses import MISSING as MISSING
    from dataclasses import Field as Field
    from dataclasses import asdict as asdict
    from dataclasses import dataclass as dataclass
    from dataclasses import dataclass as dataclass_acyclic
    from dataclasses import field as field
    from dataclasses import fields as fields
    from dataclasses import replace as replace
else:
    import inspect
    from types import MappingProxyType

    import msgspec

    KW_ONLY, MISSING, Field = standard.KW_ONLY, standard.MISSING, standard.Field
    _NOTHING = MappingProxyType({})

    class _Member:
        """What a member was given by `field`: the struct's own field, and what is to be known of the member beside."""

        __slots__ = ("metadata", "struct_field")

        def __init__(self, given, metadata):
            self.struct_field = msgspec.field(**given)
            self.metadata = metadata

    def field(*, metadata=_NOTHING, **given):
        """A member's default, default factory, metadata."""
        return _Member(given, metadata)

    _FURTHER = {}
    """What is to be known of members, by class."""
    _OF_THE_OLD_CLASS = frozenset(("__dict__", "__weakref__", "__annotations__"))

    def dataclass(cls=None, /, **options):
        """The class as struct. `options` are those of the standard library's `dataclass`."""
        return _struct(cls, **options) if cls is not None else lambda one: _struct(one, **options)

    def dataclass_acyclic(cls=None, /, **options):
        """As `dataclass`, for what is made by the hundred thousand and stands in no cycle: the collector, which would
        look at each of them again and again, passes them over."""
        return dataclass(cls, gc=False, **options)

    def _struct(cls, *, frozen=False, slots=False, kw_only=False, eq=True, repr=True, gc=True):
        """The struct of a class: members, methods and bases are those that it was written with."""
        if issubclass(cls, msgspec.Struct):
            return _further(cls, frozen, kw_only)
        told = dict(inspect.get_annotations(cls))
        body = {name: value for name, value in cls.__dict__.items() if name not in _OF_THE_OLD_CLASS}
        members = {name: value for name, value in body.items() if isinstance(value, _Member)}
        body |= {name: value.struct_field for name, value in members.items()}
        # Without slots a class may keep what it worked out beside its members (cached_property).
        options = {"frozen": frozen, "eq": eq, "gc": gc} | ({} if slots else {"dict": True, "weakref": True})
        others = tuple(base for base in cls.__bases__ if base is not object)
        base = msgspec.Struct
        split = next((name for name, kind in told.items() if kind is KW_ONLY or str(kind).endswith("KW_ONLY")), None)
        if split is not None:
            names = list(told)
            first, rest = names[: names.index(split)], names[names.index(split) + 1 :]
            kw_only = True
            in_order = {"__annotations__": {name: told[name] for name in first}, "__module__": cls.__module__}
            in_order |= {name: body.pop(name) for name in first if name in body}
            base = type(base)(cls.__name__, (base,), in_order, **options)
            told = {name: told[name] for name in rest}
        body["__annotations__"] = told
        made = type(base)(cls.__name__, (base, *others), body, kw_only=kw_only, **options)
        _FURTHER[made] = {name: value.metadata for name, value in members.items() if value.metadata}
        return made

    def _further(cls, frozen, kw_only):
        """A class that inherits from a struct is one already, by its parent's options."""
        told = inspect.get_annotations(cls)
        split = any(str(kind).endswith("KW_ONLY") for kind in told.values())
        given = any(isinstance(default, _Member) for default in cls.__struct_defaults__)
        if split or given or kw_only or frozen != cls.__struct_config__.frozen:
            raise TypeError(
                f"{cls.__name__} inherits from a struct, and its options are others: use the standard library's"
            )
        _FURTHER[cls] = {}
        return cls

    def replace(one, /, **changes):
        """A copy of a data class's instance with some members changed."""
        if isinstance(one, msgspec.Struct):
            return msgspec.structs.replace(one, **changes)
        return standard.replace(one, **changes)

    def fields(one):
        """The members of a data class or of its instance, in order: name, annotation as written, default."""
        kind = one if isinstance(one, type) else type(one)
        return tuple(_fields(kind)) if issubclass(kind, msgspec.Struct) else standard.fields(one)

    def _fields(kind):
        told = {}
        for part in reversed(kind.__mro__):
            told |= inspect.get_annotations(part)
        names, defaults = kind.__struct_fields__, kind.__struct_defaults__
        for name, default in zip(names, (msgspec.NODEFAULT,) * (len(names) - len(defaults)) + defaults, strict=True):
            given = {} if default is msgspec.NODEFAULT else {"default": default}
            if isinstance(default, msgspec._core.Factory):
                given = {"default_factory": default.factory}
            member = standard.field(**given)
            member.name, member.type, member.metadata = name, told[name], _FURTHER[kind].get(name, _NOTHING)
            yield member

    def asdict(one):
        """The members by name, those of data classes inside it likewise."""
        return {member.name: _plain(getattr(one, member.name)) for member in fields(one)}

    def _plain(value):
        if isinstance(value, msgspec.Struct) or standard.is_dataclass(value):
            return asdict(value)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*map(_plain, value))
        if isinstance(value, list | tuple):
            return type(value)(map(_plain, value))
        return {key: _plain(inner) for key, inner in value.items()} if isinstance(value, dict) else value
