"""Advice as JSON: what `ctxtui cost --why` and `ctxtui preflight` say of what would help from here on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ctxtui.curation.price.advice import Advice
from ctxtui.views.lists.advice import command

HORIZON_HELP: Final = "Calls ahead over which what would help is ranked (default: the setting horizon)."


def advice_fields(every: Sequence[Advice], name: str) -> list[dict[str, Any]]:
    """Each piece of advice for the session called `name`."""
    return [_fields(one, name) for one in every]


def _fields(one: Advice, name: str) -> dict[str, Any]:
    moment = one.moment
    return {
        "policies": list(one.names),
        "edits": len(one.edits),
        "before_tokens": one.tag.before,
        "after_tokens": one.tag.after,
        "risk": one.risk.name.lower(),
        "risk_words": one.risk.words,
        "quoted_later": 0,
        "horizon": one.horizon,
        "saves_usd": one.saves,
        "when": moment.name if moment is not None else None,
        "once_usd": moment.once if moment is not None else None,
        "per_call_usd": moment.per_call if moment is not None else None,
        "command": command(one, name),
    }
