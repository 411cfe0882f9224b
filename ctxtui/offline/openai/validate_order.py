"""OpenAI Responses: which items need which others (facts §4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.offline.exchange import Refusal
from ctxtui.offline.openai.cipher import changed, readable
from ctxtui.offline.openai.validate_items import kind_of

_PAIRS: Final = {
    f"{name}_output": name
    for name in ("function_call", "custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call")
}
_NOUNS: Final = {"function_call": "function call", "custom_tool_call": "custom tool call"}
_FOLLOWING: Final = ("_call", "reasoning", "program")

_NOT_KEPT: Final = (
    " Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item "
    "from your input."
)

Item = Mapping[str, Json]


def order_refusals(
    items: Sequence[Item], stored: Mapping[str, Item] | None, own: int, store: bool, whole: bool
) -> Iterator[Refusal]:
    """What is wrong with all `items` together; those from `own` on are the request's, the rest the server holds.

    `stored` are the items the server knows by id, None where that is not known; `store` is the request's, `whole`
    says that `items` are the whole conversation.
    """
    yield from _known(items[own:], stored, store)
    resolved = [(stored or {}).get(str(i.get("id")), i) if kind_of(i) == "item_reference" else i for i in items]
    yield from _calls(resolved, whole and not _refers(resolved), own)
    yield from _reasoning(resolved, own)
    triggers = [n for n, item in enumerate(items[own:]) if kind_of(item) == "compaction_trigger"]
    if triggers and triggers[0] != len(items) - own - 1:
        told = "The 'compaction_trigger' item must be the last input item."
        yield Refusal(told, param=f"input[{triggers[0]}]", rule="compaction trigger")


def _refers(items: Sequence[Item]) -> bool:
    return any(kind_of(item) == "item_reference" for item in items)


def _known(items: Sequence[Item], stored: Mapping[str, Item] | None, store: bool) -> Iterator[Refusal]:
    seen: set[str] = set()
    for item in items:
        id_, kind = item.get("id"), kind_of(item)
        cipher = item.get("encrypted_content")
        if (kind == "reasoning" and cipher and not readable(cipher)) or (kind == "compaction" and changed(cipher)):
            told = f"The encrypted content {str(cipher)[:8]}... could not be verified."
            code = "invalid_encrypted_content"
            yield Refusal(told, param="input", code=code, rule="encrypted content")
        if not isinstance(id_, str):
            continue
        if id_ in seen:
            told = f"Duplicate item found with id {id_}. Remove duplicate items from your input and try again."
            yield Refusal(told, param="input", rule="duplicate item")
        seen.add(id_)
        needs = kind == "item_reference" or (kind == "reasoning" and not item.get("encrypted_content"))
        if needs and stored is not None and id_ not in stored:
            told = f"Item with id '{id_}' not found."
            told += "" if store else _NOT_KEPT
            yield Refusal(told, 404, param="input", rule="item not found")


def _calls(items: Sequence[Item], whole: bool, own: int) -> Iterator[Refusal]:
    asked: dict[tuple[str, str], int] = {}
    answered: set[tuple[str, str]] = set()
    for n, item in enumerate(items):
        kind, id_ = kind_of(item), str(item.get("call_id") or item.get("id"))
        if kind in _PAIRS.values():
            asked[kind, id_] = n
        elif kind in _PAIRS:
            key = _PAIRS[kind], id_
            if key not in asked and whole:
                noun = _NOUNS.get(key[0], key[0])
                told = f"No tool call found for {noun} output with call_id {id_}."
                yield Refusal(told, param="input", rule="result without call")
            elif key in answered and n >= own:
                told = f"Duplicate output for call_id {id_}."
                yield Refusal(told, param="input", rule="two results")
            answered.add(key)
    for key in asked:
        if key not in answered:
            told = f"No tool output found for {_NOUNS.get(key[0], key[0])} {key[1]}."
            yield Refusal(told, param="input", rule="call without result")


def _reasoning(items: Sequence[Item], own: int) -> Iterator[Refusal]:
    """Reasoning is followed by what it led to."""
    for n, item in enumerate(items):
        if kind_of(item) != "reasoning" or n < own:
            continue
        after = items[n + 1] if n + 1 < len(items) else {"type": "nothing"}
        kind = kind_of(after)
        led = (kind == "message" and after.get("role") == "assistant") or kind.endswith(_FOLLOWING)
        # Codex cuts an answer for what another agent says and sends on what it had (facts §13.3).
        led = led or kind == "agent_message"
        if not led and kind != "item_reference":
            id_ = item.get("id") or "rs_unnamed"
            told = f"Item '{id_}' of type 'reasoning' was provided without its required following item."
            yield Refusal(told, param="input", rule="reasoning alone")
