"""What a model reads of a Responses request: what is kept put in, what it does not read taken out (facts §4)."""

from __future__ import annotations

from collections.abc import Sequence

from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.offline.exchange import ApiRequest, KeptResponse
from ctxtui.offline.openai.models import Gpt
from ctxtui.offline.openai.validate_items import kind_of
from ctxtui.offline.openai.validate_responses import items_of
from ctxtui.offline.provider import Provider
from ctxtui.offline.usage_ledger import WeighedRequest
from ctxtui.wire.grammar import RESPONSES


def read_input(provider: Provider, asked: ApiRequest, model: Gpt) -> tuple[WeighedRequest, list[Json]]:
    """The request as `model` reads it and the ``input_transformations`` that tell what was taken out. Where truncation
    is automatic, the oldest items of one that is too long are gone."""
    kept = before(provider, asked)
    items = [_referred(provider, item) for item in [*(kept.items if kept else ()), *items_of(asked.body)]]
    items, removed = (items, []) if model.all_turns else _current(items)
    weighed = _weigh(provider, asked, items)
    while asked.body.get("truncation") == "auto" and weighed.tokens > model.window and len(items) > 1:
        items = _shorter(items)
        weighed = _weigh(provider, asked, items)
    return weighed, removed


def before(provider: Provider, asked: ApiRequest) -> KeptResponse | None:
    """The response that the request goes on with: held by its WebSocket, or kept for all."""
    id_ = str(asked.body.get("previous_response_id"))
    return (asked.held or {}).get(id_) or provider.kept.get(id_)


def _referred(provider: Provider, item: dict[str, Json]) -> dict[str, Json]:
    return provider.items.get(str(item.get("id")), item) if kind_of(item) == "item_reference" else item


def _weigh(provider: Provider, asked: ApiRequest, items: Sequence[Json]) -> WeighedRequest:
    raw = asked.raw
    if items != asked.body.get("input"):
        raw = canonical.dumps({**asked.body, "input": list(items)})
    return provider.ledger.weigh(provider.ledger.read(RESPONSES, raw), asked.model)


def _current(items: list[dict[str, Json]]) -> tuple[list[dict[str, Json]], list[Json]]:
    """Without the reasoning of earlier turns (``reasoning.context`` current_turn), and what was taken out."""
    last = max((n for n, item in enumerate(items) if item.get("role") == "user"), default=0)
    gone = [item for item in items[:last] if kind_of(item) == "reasoning"]
    told = [
        {"id": item.get("id") or "", "type": "reasoning", "action": "removed", "reason": "turn_boundary"}
        for item in gone
    ]
    return [item for n, item in enumerate(items) if n >= last or kind_of(item) != "reasoning"], told


def _shorter(items: list[dict[str, Json]]) -> list[dict[str, Json]]:
    """Without the oldest item, and without the output whose call it was."""
    first, rest = items[0], items[1:]
    id_ = first.get("call_id")
    return [item for item in rest if id_ is None or item.get("call_id") != id_]
