"""Our data classes against the standard library's: what is written the same way does the same."""

from __future__ import annotations

import copy
import dataclasses as standard
import gc
import pickle
from dataclasses import KW_ONLY
from functools import cached_property
from typing import Any, ClassVar

import pytest

from ctxtui import dataclasses as ours


def _classes(library: Any) -> tuple[Any, ...]:
    """The same classes by either library."""

    @library.dataclass(frozen=True, slots=True)
    class Point:
        """A point."""

        x: int
        y: int = 2
        names: list[str] = library.field(default_factory=list)
        kept: ClassVar[int] = 3

        @property
        def total(self) -> int:
            return self.x + self.y

    @library.dataclass(frozen=True, slots=True)
    class Line:
        start: Point
        _: KW_ONLY
        end: Point
        width: int = library.field(default=1, metadata={"meaning": "cells"})

    @library.dataclass(frozen=True)
    class Cached:
        x: int

        @cached_property
        def doubled(self) -> list[int]:
            return [self.x * 2]

    @library.dataclass(slots=True, kw_only=True)
    class Open:
        count: int = 0
        inner: dict[str, Any]

    @library.dataclass(slots=True, eq=False)
    class Itself:
        x: int

    return Point, Line, Cached, Open, Itself


@pytest.mark.parametrize("library", [standard, ours])
def test_what_a_data_class_does(library: Any) -> None:
    point, line, cached, opened, itself = _classes(library)
    one = point(1)
    assert one == point(1, 2, []) != point(1, 3) and one.total == 3 and point.kept == 3 and point.__doc__ == "A point."
    assert one.names is not point(1).names and repr(one).endswith("Point(x=1, y=2, names=[])")
    assert copy.copy(one) == copy.deepcopy(one) == one
    with pytest.raises(AttributeError):
        one.x = 4
    two = line(one, end=library.replace(one, x=5))
    assert (two.start.x, two.end.x, two.width) == (1, 5, 1)
    with pytest.raises(TypeError):
        line(one, one)
    with pytest.raises(TypeError):
        library.replace(one, z=1)
    with pytest.raises(TypeError):
        point()
    assert hash(cached(3)) == hash(cached(3)) and cached(3).doubled == [6]
    kept = cached(4)
    assert kept.doubled is kept.doubled
    changed = opened(inner={"a": (two, [one])})
    changed.count += 1
    plain = {"x": 1, "y": 2, "names": []}
    whole = {"start": plain, "end": {**plain, "x": 5}, "width": 1}
    assert library.asdict(changed) == {"count": 1, "inner": {"a": (whole, [plain])}}
    with pytest.raises(TypeError):
        hash(changed)
    assert itself(1) != itself(1) and len({itself(1), itself(1)}) == 2
    told = [(member.name, member.type, member.default) for member in library.fields(line)]
    assert told == [("start", "Point", standard.MISSING), ("end", "Point", standard.MISSING), ("width", "int", 1)]
    assert library.fields(one)[2].default_factory is list
    assert [dict(member.metadata) for member in library.fields(two)] == [{}, {}, {"meaning": "cells"}]
    match one:
        case point(x, y):
            assert (x, y) == (1, 2)


@ours.dataclass(frozen=True, slots=True)
class Sent:
    """One that another process may be sent."""

    x: int
    _: KW_ONLY
    y: int


def test_another_process_may_be_sent_it() -> None:
    assert pickle.loads(pickle.dumps(Sent(1, y=2))) == Sent(1, y=2)


def test_one_that_inherits_has_its_parents_options() -> None:
    @ours.dataclass(frozen=True, slots=True)
    class Further(Sent):
        z: int = 0

    one = Further(1, y=2, z=3)
    assert ours.replace(one, z=4) == Further(1, y=2, z=4) != one and ours.asdict(one) == {"x": 1, "y": 2, "z": 3}
    with pytest.raises(AttributeError):
        one.z = 4  # type: ignore[misc]


@pytest.mark.parametrize("options", [{"frozen": False}, {"frozen": True, "kw_only": True}])
def test_other_options_than_the_parents_are_refused_with_the_way_out(options: dict[str, bool]) -> None:
    class Further(Sent):
        z: int = 0

    with pytest.raises(TypeError, match="Further inherits from a struct, and its options are others"):
        ours.dataclass(**options)(Further)


def test_both_kinds_are_copied_and_told_by_one_function() -> None:
    ours_, theirs = _classes(ours)[0], _classes(standard)[0]
    mixed = ours_(1, 2, [theirs(3)])
    assert ours.replace(theirs(1), x=2) == theirs(2)
    assert ours.asdict(mixed)["names"] == [{"x": 3, "y": 2, "names": []}]


def test_what_stands_in_no_cycle_is_passed_over_by_the_collector() -> None:
    @ours.dataclass_acyclic(frozen=True, slots=True)
    class Leaf:
        names: list[str]
        x: int = 1

    made = Leaf(["a"])
    assert not gc.is_tracked(made) and gc.is_tracked(made.names)
    assert made == Leaf(["a"]) and ours.replace(made, x=2) == Leaf(["a"], 2)
    assert [one.name for one in ours.fields(Leaf)] == ["names", "x"]
