"""Data files of the package: vocabularies, model cards, prices, label rules, masks, samples."""

from __future__ import annotations

from datetime import UTC, datetime, time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

if TYPE_CHECKING:
    from ctxtui.analysis.content.guard import GuardRules
    from ctxtui.curation.mask_rules import MaskingRules
    from ctxtui.pricing.table import PriceTable
    from ctxtui.tokens.models import ModelTable
    from ctxtui.views.glossary.entries import Glossary

DATA: Final = Path(__file__).resolve().parents[2] / "data"


def vocabulary(name: str) -> bytes:
    """The compressed vocabulary `name` (``o200k_base``, ``cl100k_base``).

    Raises `FileNotFoundError`.
    """
    return (DATA / "vocab" / f"{name}.tiktoken.xz").read_bytes()


@cache
def model_table() -> ModelTable:
    from ctxtui.tokens.models import parse_models

    return parse_models((DATA / "models.toml").read_text(encoding="utf-8"))


@cache
def price_table() -> PriceTable:
    """Prices that override the price library.

    A call without a time is priced as of today at noon (UTC): some prices depend on the hour, and the hour of reading
    must not change a cost.
    """
    from ctxtui.pricing.table import parse_prices

    prices, usage = ((DATA / name).read_text(encoding="utf-8") for name in ("prices.toml", "usage.toml"))
    noon = datetime.combine(datetime.now(UTC), time(12), UTC)
    return replace(parse_prices(prices, usage), undated=noon.timestamp())


@cache
def mask_rules() -> MaskingRules:
    from ctxtui.curation.mask_rules import parse_masks

    masks, structure = ((DATA / name).read_text(encoding="utf-8") for name in ("masks.toml", "structure.toml"))
    return parse_masks(masks, structure)


@cache
def guard_rules() -> GuardRules:
    from ctxtui.analysis.content.guard import parse_guard

    return parse_guard((DATA / "guard.toml").read_text(encoding="utf-8"), mask_rules())


@cache
def label_tables() -> dict[str, dict[str, Any]]:
    """The shipped label rules, not parsed."""
    import tomllib

    return tomllib.loads((DATA / "labels.toml").read_text(encoding="utf-8"))


@cache
def glossary() -> Glossary:
    from ctxtui.views.glossary.entries import parse_glossary

    return parse_glossary((DATA / "glossary.toml").read_text(encoding="utf-8"))


def sample_paths() -> tuple[Path, ...]:
    """The sample sessions, from the package's data or from the checkout."""
    for folder in (DATA / "sessions", DATA.parent.parent / "sessions"):
        if folder.is_dir():
            return tuple(sorted(p for p in folder.rglob("*.jsonl") if "subagents" not in p.parts))
    return ()
