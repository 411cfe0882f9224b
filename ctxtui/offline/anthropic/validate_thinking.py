"""Anthropic: the settings of thinking and effort (facts §1)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.offline.anthropic.bound_thinking import CONTROLS
from ctxtui.offline.anthropic.field_errors import worded
from ctxtui.offline.anthropic.models import Claude
from ctxtui.offline.anthropic.thinking_chain import blocks
from ctxtui.offline.exchange import Refusal
from ctxtui.offline.json_shape import INTEGER, MAP, STRING, ShapeField, faults, members, needed, rows

_TYPES: Final = ("adaptive", "between_tools", "disabled", "enabled")
_DISPLAYS: Final = ShapeField((STRING,), choices=("summarized", "omitted", "updates"))
_BUDGET: Final = needed(INTEGER, at_least=1024)
_OFF_EFFORTS: Final = ("xhigh", "max")
_ENABLED_ELSEWHERE: Final = (
    '"thinking.type.enabled" is not supported for this model. '
    'Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
)
_LEVELS: Final = ("low", "medium", "high", "xhigh", "max")


def thinking_refusals(body: Mapping[str, Json], model: Claude, betas: Collection[str]) -> Iterator[Refusal]:
    """What is wrong with ``thinking`` and ``output_config``."""
    yield from _output(body, model)
    thinking = body.get("thinking")
    if not isinstance(thinking, dict):
        return
    kind = thinking.get("type")
    if kind not in _TYPES:
        tags = ", ".join(f"'{name}'" for name in _TYPES)
        told = f"Input tag '{kind}' found using 'type' does not match any of the expected tags: {tags}"
        yield Refusal(f"thinking: {told}" if kind else "thinking.type: Field required", rule="thinking type")
        return
    yield from (worded(fault) for fault in faults(thinking, _fields(kind, betas), ("thinking", str(kind))))
    if kind not in model.thinking:
        yield Refusal(_unsupported(str(kind)), rule="thinking type")
    elif kind == "enabled":
        yield from _enabled(body, thinking)
    effort = members(body.get("output_config")).get("effort")
    if kind == "disabled" and effort in _OFF_EFFORTS and model.line in ("opus", "haiku") and model.version >= (5, 0):
        yield Refusal(f"thinking.type: 'disabled' is not supported at effort '{effort}'", rule="thinking off")


def _fields(kind: Json, betas: Collection[str]) -> dict[str, ShapeField]:
    fields = {"type": needed(STRING)}
    if kind in ("enabled", "adaptive"):
        fields["display"] = _DISPLAYS
    if kind == "enabled":
        fields["budget_tokens"] = _BUDGET
    if CONTROLS in betas:
        fields["block_binding"] = MAP
    return fields


def _unsupported(kind: str) -> str:
    if kind == "enabled":
        return _ENABLED_ELSEWHERE
    if kind == "adaptive":
        return "adaptive thinking is not supported on this model"
    return f'"thinking.type.{kind}" is not supported for this model.'


def _enabled(body: Mapping[str, Json], thinking: Mapping[str, Json]) -> Iterator[Refusal]:
    budget, most = thinking.get("budget_tokens"), body.get("max_tokens")
    if isinstance(budget, int) and isinstance(most, int) and budget >= most > 0:
        yield Refusal("`max_tokens` must be greater than `thinking.budget_tokens`.", rule="thinking budget")
    yield from _opening(rows(body.get("messages")))


def _opening(messages: Sequence[Json]) -> Iterator[Refusal]:
    """In a tool loop, the turn's first answer must begin with its thinking."""
    start = next((n + 1 for n in range(len(messages) - 1, -1, -1) if _person(messages[n])), len(messages))
    content = blocks(members(messages[start]).get("content")) if start < len(messages) else []
    if not content:
        return
    kind = members(content[0]).get("type")
    if kind not in ("thinking", "redacted_thinking"):
        told = (
            f"Expected `thinking` or `redacted_thinking`, but found `{kind}`. When `thinking` is enabled, a final "
            "`assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and "
            "`tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this "
            "requirement, disable `thinking`."
        )
        yield Refusal(f"messages.{start}.content.0.type: {told}", rule="thinking first")


def _person(message: Json) -> bool:
    value = members(message)
    kinds = {str(members(block).get("type")) for block in blocks(value.get("content"))}
    return value.get("role") == "user" and bool(kinds - {"tool_result"})


def _output(body: Mapping[str, Json], model: Claude) -> Iterator[Refusal]:
    config = body.get("output_config")
    if not isinstance(config, dict):
        return
    fields = {"effort": ShapeField((STRING,), choices=_LEVELS), "format": MAP, "task_budget": MAP}
    yield from (worded(fault) for fault in faults(config, fields, ("output_config",)))
    effort = config.get("effort")
    if effort in _LEVELS and not model.efforts:
        yield Refusal("This model does not support the effort parameter.", rule="effort")
    elif effort in _LEVELS and effort not in model.efforts:
        levels = ", ".join(sorted(model.efforts))
        told = f"This model does not support effort level '{effort}'. Supported levels: {levels}."
        yield Refusal(told, rule="effort")
    form = config.get("format")
    if isinstance(form, dict) and (form.get("type") != "json_schema" or not isinstance(form.get("schema"), dict)):
        yield Refusal("output_config.format.schema: Field required", rule="output format")
