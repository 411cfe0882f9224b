"""Where readers stand, as bytes: another process makes readers of them, on the same tree, that go on from there.

Whatever format they read: each object that may change is written once and referred to by its number, so that what hangs
together in circles, or along a whole session, is never nested deeply. Blocks of the tree are told by their numbers; who
goes on gets them packed, as its tree has them.
"""

from __future__ import annotations

import copy
import pickle
from array import array
from collections.abc import Callable, Sequence
from functools import partial
from io import BytesIO
from typing import Any, Final

import msgspec

from ctxtui.core.block import Block
from ctxtui.core.packed_tree import BlocksByDigest
from ctxtui.core.tree import Tree
from ctxtui.transcripts.reader import Reader

_TOGETHER: Final = 128
"""Objects that are written together: who reads them lets other threads take their turn between."""
_TREE: Final = "tree"
_OF_NO_OBJECT: Final = frozenset(("__dict__", "__weakref__"))


class _Untold(Exception):
    """Of an object nobody can tell what it is made of."""


def state_of(readers: Sequence[Reader], tree: Tree, blocks: int) -> bytes | None:
    """Where `readers` of one session stand, whose nodes are in `tree`; who goes on has its first `blocks` blocks. None
    where one holds what cannot be written down, such as a function that has no name."""
    writer = _Writer(tree, blocks)
    try:
        return writer.write(list(readers))
    except (pickle.PicklingError, AttributeError, TypeError, RecursionError, _Untold):
        return None


def readers_from(state: bytes, tree: Tree) -> list[Reader]:
    """The readers that `state_of` wrote down, for `tree`, which is that tree as it came in columns."""
    file = BytesIO(state)
    kinds, numbers = pickle.load(file)
    makers = [_blank(kind) for kind in kinds]
    return _Maker(file, tree, [makers[number]() for number in numbers]).readers()


class _Writer(pickle.Pickler):
    """Writes what objects are made of, some at a time, in the order in which they are first referred to."""

    def __init__(self, tree: Tree, blocks: int) -> None:
        self._out = BytesIO()
        super().__init__(self._out, pickle.HIGHEST_PROTOCOL)
        self._tree = tree
        self._blocks = dict(zip(tree.blocks, range(-1, -1 - blocks, -1), strict=False))
        self._objects: list[object] = []
        self._numbers: dict[int, int] = {}
        """Of each object its number, by its identity: all of them are kept until the last one is written."""
        self._kinds: dict[type, bool] = {}
        """Of each class whether its objects are written by number."""

    def write(self, readers: list[Reader]) -> bytes:
        """`readers`, and all they are made of."""
        self.dump(readers)
        done, objects = 0, self._objects
        while done < len(objects):
            some = objects[done : done + _TOGETHER]
            self.dump([_made_of(one) for one in some])
            done += len(some)
        kinds = {kind: number for number, kind in enumerate({type(one): None for one in objects})}
        head = tuple(kinds), array("H", [kinds[type(one)] for one in objects])
        return pickle.dumps(head, pickle.HIGHEST_PROTOCOL) + self._out.getvalue()

    def persistent_id(self, one: object) -> str | int | None:
        """The number of what is not written where it stands: of an object from 0 up, of a block below 0."""
        kind = type(one)
        by_number = self._kinds.get(kind)
        if by_number is None:
            by_number = self._kinds[kind] = _may_change(kind)
        if by_number:
            if one is self._tree:
                return _TREE
            number = self._numbers.setdefault(id(one), len(self._objects))
            if number == len(self._objects):
                self._objects.append(one)
            return number
        # A block that is none of the tree's has no number: it is written where it stands.
        return self._blocks.get(one.digest) if isinstance(one, Block) else None


class _Maker(pickle.Unpickler):
    """Fills `blanks`, one for each object, with what the objects were made of."""

    def __init__(self, file: BytesIO, tree: Tree, blanks: list[Any]) -> None:
        super().__init__(file)
        self._tree = tree
        self._objects = blanks
        self._blocks: dict[int, Block] = {}

    def readers(self) -> list[Reader]:
        """The readers, ready to go on."""
        found: list[Reader] = self.load()
        done, objects = 0, self._objects
        while done < len(objects):
            for names, values, others in self.load():
                one = objects[done]
                done += 1
                for name, value in zip(names, values, strict=True):
                    setattr(one, name, value)
                if others:
                    vars(one).update(others)
        return found

    def persistent_load(self, number: str | int) -> object:
        """What a number stands for."""
        if isinstance(number, str):
            return self._tree
        if number >= 0:
            return self._objects[number]
        found = self._blocks.get(number)
        if found is None:
            blocks = self._tree.blocks
            assert isinstance(blocks, BlocksByDigest)
            found = self._blocks[number] = blocks.packed_block(-1 - number)
        return found


def _may_change(kind: type) -> bool:
    """Whether an object of this class may change, and says nothing of its own about how it is written. All others are
    values, for `pickle` to write."""
    if issubclass(kind, msgspec.Struct):
        return not kind.__struct_config__.frozen
    parameters = getattr(kind, "__dataclass_params__", None)
    own = kind.__reduce__ is not object.__reduce__ or kind.__reduce_ex__ is not object.__reduce_ex__
    if own or kind.__new__ is not object.__new__ or (parameters is not None and parameters.frozen):
        return False
    try:
        object.__new__(kind)
    except TypeError:
        return False  # one of the interpreter's: only `pickle` may know how it is made
    return True


def _made_of(one: object) -> tuple[tuple[str, ...], list[object], dict[str, object]]:
    """The members of an object: names and values, and what else it has been given."""
    names = _members(type(one))
    return names, [getattr(one, name) for name in names], getattr(one, "__dict__", {})


_known_members: Final[dict[type, tuple[str, ...]]] = {}


def _members(kind: type) -> tuple[str, ...]:
    """The names of an object's members that do not stand in its dictionary."""
    found = _known_members.get(kind)
    if found is None:
        if issubclass(kind, msgspec.Struct):
            # A blank one would not stay blank.
            if hasattr(kind, "__post_init__"):
                raise _Untold(kind)
            found = kind.__struct_fields__
        else:
            told = [vars(part).get("__slots__", ()) for part in reversed(kind.__mro__)]
            every = [name for names in told for name in ((names,) if isinstance(names, str) else names)]
            found = tuple(name for name in every if name not in _OF_NO_OBJECT)
        _known_members[kind] = found
    return found


def _blank(kind: type) -> Callable[[], Any]:
    """Makes objects of a class with nothing in them yet."""
    if issubclass(kind, msgspec.Struct):
        return partial(copy.copy, kind(**dict.fromkeys(kind.__struct_fields__)))
    return partial(object.__new__, kind)
