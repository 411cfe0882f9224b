"""The model cards and vocabularies that travel in the package, as this room reads them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ctxtui.tokens.models import ModelCard, ModelTable, parse_models
from ctxtui.tokens.vocab import ENCODINGS, build_encoding

if TYPE_CHECKING:
    from tiktoken import Encoding

DATA: Final = Path(__file__).resolve().parent.parent / "data"


@cache
def model_table() -> ModelTable:
    """The cards of all models we know."""
    return parse_models((DATA / "models.toml").read_text(encoding="utf-8"))


def card(model: str) -> ModelCard:
    """The card of `model`, by any of its spellings."""
    return model_table().card(model)


@cache
def encoding(name: str) -> Encoding:
    """The tokenizer `name`; the first use takes about 0.3 s."""
    vocabulary = ENCODINGS[name].vocabulary
    return build_encoding(name, (DATA / "vocab" / f"{vocabulary}.tiktoken.xz").read_bytes())
