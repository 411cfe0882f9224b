from __future__ import annotations

import pytest

from ctxtui.transcripts import registry
from tests.services.plain_format import PLAIN


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the plain format is known."""
    monkeypatch.setattr(registry, "FORMATS", (PLAIN,))
