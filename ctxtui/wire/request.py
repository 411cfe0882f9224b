"""Dialect-independent requests (blocks, and a skeleton of the rest) and responses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from ctxtui.core.answer_least import mark_partial
from ctxtui.core.block import Item
from ctxtui.core.call import Skeleton
from ctxtui.core.canonical import Json
from ctxtui.core.usage import Usage
from ctxtui.wire.codec.frame import Frame
from ctxtui.wire.codec.realign import realign
from ctxtui.wire.grammar import GOOGLE, GRAMMARS, OLLAMA, RESPONSES

ANSWER_LIMITS: Final = ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens", "num_predict")
"""Members of a request that limit the tokens of its answer."""
_LIMIT_GROUPS: Final = {GOOGLE: ("generationConfig", "generation_config"), OLLAMA: ("options",)}
"""The top-level member that holds the answer limit, in dialects that nest it: its spellings."""
_DEFAULT_LIMITS: Final = {GOOGLE: "maxOutputTokens", OLLAMA: "num_predict", RESPONSES: "max_output_tokens"}


def with_answer_limit(params: Mapping[str, Json], dialect: str, limit: int) -> dict[str, Json]:
    """The top-level members `params` with the answer limited to `limit` tokens.

    A member that sets a limit already is changed, else the dialect's usual member is added.
    """
    groups = _LIMIT_GROUPS.get(dialect)
    if groups is None:
        name = next((name for name in ANSWER_LIMITS if name in params), _DEFAULT_LIMITS.get(dialect, ANSWER_LIMITS[0]))
        return {**params, name: limit}
    group = next((name for name in groups if name in params), groups[0])
    values = params.get(group)
    inner = {k: v for k, v in values.items() if k not in ANSWER_LIMITS} if isinstance(values, dict) else {}
    return {**params, group: {**inner, _DEFAULT_LIMITS[dialect]: limit}}


def read_answer_limit(params: Mapping[str, Json], dialect: str) -> int:
    """Maximum tokens of the answer by the top-level members `params`; 0 if they set no limit."""
    members = dict(params)
    for group in _LIMIT_GROUPS.get(dialect, ()):
        values = params.get(group)
        members |= values if isinstance(values, dict) else {}
    limits = [n for n in map(members.get, ANSWER_LIMITS) if isinstance(n, int) and not isinstance(n, bool) and n > 0]
    return max(limits, default=0)


class Marker(NamedTuple):
    """A cache breakpoint on block `item` (0-based) of those that the body itself holds.

    `inner` is the index of an item in the block's content, or -1 for the block; `key` and `value` are as sent.
    """

    item: int
    inner: int
    key: str
    value: Json


class Request(Struct, frozen=True):
    """One request body: its blocks (tools, system, messages), and a skeleton of the rest."""

    items: tuple[Item, ...]
    skeleton: Skeleton

    @property
    def model(self) -> str:
        model = self.params.get("model")
        if self.skeleton.dialect == GOOGLE and isinstance(model, str):
            return model.removeprefix("models/")
        return model if isinstance(model, str) else ""

    @property
    def params(self) -> dict[str, Json]:
        """The top-level members that hold no blocks."""
        return Frame.from_json(self.skeleton.parts["frame"]).params()

    @property
    def answer_limit(self) -> int:
        """Maximum tokens of the answer; 0 if the request sets no limit."""
        return read_answer_limit(self.params, self.skeleton.dialect)

    @property
    def markers(self) -> tuple[Marker, ...]:
        """The cache breakpoints on blocks, in prompt order.

        One for the whole body is among `params`.
        """
        return tuple(Marker(m[0], m[1], m[2], m[4]) for m in self.skeleton.parts.get("marks", ()))

    def with_items(self, items: Sequence[Item]) -> Request:
        """Replace the blocks. Unchanged ones keep their spelling and cache breakpoints."""
        if tuple(items) == self.items:
            return self
        return Request(tuple(items), realign(self.skeleton, GRAMMARS[self.skeleton.dialect], self.items, items))


class Response(Struct, frozen=True, kw_only=True):
    """One answer of a model.

    - `items`: its blocks as the client resends them.
    - `usage`: the usage of the context that this answer was made from: of several passes, the last that answered.
    - `passes`: the usage of each pass (a model run inside the answer) if there were several; their sum is billed.
    - `stop_reason`, `error`: the provider's term, and its error message.
    - `complete`: False for an interrupted stream, or an answer that is not finished.
    - `extra`: other members of the answer, except those that repeat the request.
    """

    items: tuple[Item, ...] = ()
    usage: Usage | None = None
    id: str = ""
    model: str = ""
    stop_reason: str = ""
    error: str = ""
    complete: bool = True
    passes: tuple[Usage, ...] = ()
    extra: dict[str, Json] = field(default_factory=dict)

    @property
    def billed(self) -> Usage | None:
        """Usage of all passes together."""
        if not self.passes:
            return self.usage
        total = self.passes[0]
        for usage in self.passes[1:]:
            total = total + usage
        return total

    def as_interrupted(self, error: str = "") -> Response:
        """This answer as an interrupted one: its usage report, if any, was made before the end."""
        usage, extra = mark_partial(self.usage, self.extra, (item.block for item in self.items))
        return replace(self, complete=False, error=error or self.error, usage=usage, extra=extra)
