from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import pytest
from tiktoken import Encoding

import ctxtui
from ctxtui.tokens.encode import count_text
from ctxtui.tokens.models import ModelTable, parse_models
from ctxtui.tokens.vocab import ENCODINGS, build_encoding

DATA = Path(ctxtui.__file__).parent / "data"


@lru_cache(maxsize=4)
def encoding(name: str) -> Encoding:
    path = DATA / "vocab" / f"{ENCODINGS[name].vocabulary}.tiktoken.xz"
    return build_encoding(name, path.read_bytes())


@pytest.fixture(scope="session")
def o200k() -> Encoding:
    return encoding("o200k_base")


@pytest.fixture(scope="session")
def count(o200k: Encoding) -> Callable[[str], int]:
    return lambda text: count_text(o200k, text)


@pytest.fixture(scope="session")
def table() -> ModelTable:
    return parse_models((DATA / "models.toml").read_text(encoding="utf-8"))
