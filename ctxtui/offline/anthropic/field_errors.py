"""Anthropic: faults of shape, in the provider's words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.offline.exchange import Refusal
from ctxtui.offline.json_shape import Fields, Path, ShapeFault, faults

_EXPECTED: Final = {
    "string": "a valid string",
    "integer": "a valid integer",
    "number": "a valid number",
    "boolean": "a valid boolean",
    "object": "a valid dictionary",
    "array": "a valid list",
}


def dotted(path: Path) -> str:
    """``messages.0.content.1.text``."""
    return ".".join(map(str, path))


def worded(fault: ShapeFault) -> Refusal:
    """A fault of shape in the provider's words."""
    where = dotted(fault.path)
    if fault.kind == "missing":
        return Refusal(f"{where}: Field required", rule="field required")
    if fault.kind == "extra":
        return Refusal(f"{where}: Extra inputs are not permitted", rule="extra field")
    if fault.kind == "choice":
        return Refusal(f"{where}: Input should be {listed(fault.field.choices)}", rule="wrong value")
    if fault.kind == "small":
        least = fault.field.at_least
        return Refusal(f"{where}: Input should be greater than or equal to {least}", rule="wrong value")
    if fault.kind == "large":
        most = fault.field.at_most
        return Refusal(f"{where}: Input should be less than or equal to {most}", rule="wrong value")
    expected = _EXPECTED.get(fault.field.types[0] if fault.field.types else "", "valid")
    return Refusal(f"{where}: Input should be {expected}", rule="wrong type")


def listed(words: tuple[str, ...]) -> str:
    """``'a', 'b' or 'c'``."""
    quoted = [f"'{word}'" for word in words]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"


def typed_refusals(block: Json, path: Path, known: Mapping[str, Fields]) -> Iterator[Refusal]:
    """What is wrong with the fields of a block whose type must be one of `known`."""
    if not isinstance(block, dict):
        yield Refusal(f"{dotted(path)}: Input should be a valid dictionary", rule="wrong type")
        return
    kind = block.get("type")
    if kind is None:
        yield Refusal(f"{dotted(path)}.type: Field required", rule="field required")
    elif not isinstance(kind, str) or kind not in known:
        tags = ", ".join(f"'{name}'" for name in sorted(known))
        message = f"Input tag '{kind}' found using 'type' does not match any of the expected tags: {tags}"
        yield Refusal(f"{dotted(path)}: {message}", rule="unknown block")
    else:
        yield from (worded(fault) for fault in faults(block, known[kind], (*path, kind)))
        yield from mark_refusals(block.get("cache_control"), (*path, kind, "cache_control"))


def mark_refusals(mark: Json, path: Path) -> Iterator[Refusal]:
    """What is wrong with a cache marker."""
    if not isinstance(mark, dict):
        return
    if mark.get("type") != "ephemeral":
        yield Refusal(f"{dotted(path)}.type: Input should be 'ephemeral'", rule="wrong value")
    if mark.get("ttl") not in (None, "5m", "1h"):
        yield Refusal(f"{dotted(path)}.ttl: Input should be '5m' or '1h'", rule="wrong value")
    for key in sorted(mark.keys() - {"type", "ttl", "scope"}):
        yield Refusal(f"{dotted(path)}.{key}: Extra inputs are not permitted", rule="extra field")
