"""Tokens that tool definitions add to every request, by tool."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct

from ctxtui.agent.conversation import ConversationStart, begin
from ctxtui.core.block_content import SCHEMA_MEMBERS
from ctxtui.core.canonical import Json
from ctxtui.core.errors import Malformed, NotFound, Unreadable
from ctxtui.core.tree import Tree
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import table_for
from ctxtui.services.counting.counting import Counter
from ctxtui.tokens.weights import half_interval, prior_weights, weigh


class ToolSize(NamedTuple):
    """The size of one definition.

    `slack` is half of the 90 % interval of `tokens`, `bytes` of the minified JSON.
    """

    name: str
    tokens: float
    slack: float
    bytes: int


class DefinitionSizes(Struct, frozen=True):
    """The sizes of all definitions of one source for `model`, largest first."""

    model: str
    tools: tuple[ToolSize, ...]

    @property
    def tokens(self) -> int:
        return round(sum(tool.tokens for tool in self.tools))

    @property
    def slack(self) -> int:
        # Errors add up, because all use the same formula.
        return round(sum(tool.slack for tool in self.tools))


def read_definitions(path: Path) -> list[Json]:
    """Read a file's tool definitions into Anthropic's form.

    The file has them as MCP, Anthropic or OpenAI write them. Raises `NotFound`, `Unreadable`, `Malformed`.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NotFound("no such file, and no MCP server of that name", place=str(path)) from None
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}", place=str(path)) from None
    except (ValueError, RecursionError) as error:
        raise Malformed(f"not valid JSON: {error}", place=str(path)) from None
    for key in ("result", "tools"):
        data = data.get(key, data) if isinstance(data, Mapping) else data
    if not isinstance(data, list):
        raise Malformed("no list of tools", place=str(path), way_out='it is {"tools": [{"name": ...}]}, or the list')
    return [_convert_definition(item, f"{path}: tool {n}") for n, item in enumerate(data, 1)]


def _convert_definition(value: Any, place: str) -> Json:
    inner = value.get("function", value) if isinstance(value, Mapping) else None
    if not isinstance(inner, Mapping) or not isinstance(inner.get("name"), str):
        raise Malformed("no tool: it has no name", place=place)
    schema = next((inner[key] for key in SCHEMA_MEMBERS if inner.get(key)), None)
    parameters = schema if isinstance(schema, Mapping) else {"type": "object", "properties": {}}
    return {"name": inner["name"], "description": inner.get("description") or "", "input_schema": parameters}


def measure_definitions(
    definitions: Sequence[Json], model: str, dialect: str, settings: Settings, counter: Counter
) -> DefinitionSizes:
    """Count `definitions` (Anthropic's form) in requests to `model`, encoded in `dialect`."""
    conversation = begin(Tree(), ConversationStart(dialect, {"model": model, "max_tokens": 1}, definitions))
    blocks = [item.block for item in conversation.tree.items(conversation.head) if item.place.section == "tools"]
    card = table_for(settings).card(model)
    weights, features = prior_weights(card), counter(card)
    sizes = []
    for definition, block in zip(definitions, blocks, strict=True):
        measured = features(block)
        sizes.append(
            ToolSize(
                str(definition["name"]), weigh(measured, weights), half_interval(measured, weights), len(block.body)
            )
        )
    return DefinitionSizes(model, tuple(sorted(sizes, key=lambda tool: -tool.tokens)))
