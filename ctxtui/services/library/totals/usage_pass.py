"""The first pass over sessions of which nothing is remembered: what their calls used, without counting a token."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from pathlib import Path

from msgspec.structs import replace

from ctxtui.core.errors import CtxtuiError
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.pricing import price_of, prices_for
from ctxtui.services.library.summarize import Price, filled_usage
from ctxtui.services.library.totals.summary_memory import keep_usage
from ctxtui.services.recordings.open import load_usage
from ctxtui.views.model.session_summary import SessionSummary


def usage_pass(unread: Iterable[SessionSummary], settings: Settings) -> Generator[SessionSummary]:
    """Each of `unread` that is a file, with what its calls used or the error that reading it ended in. What was read is
    remembered when all are, or whoever asks has enough."""
    price = price_of(prices_for(settings))
    found: list[SessionSummary] = []
    try:
        for one in unread:
            if one.path:
                found.append(_read(one, price))
                yield found[-1]
    finally:
        keep_usage(found, settings)


def _read(seen: SessionSummary, price: Price) -> SessionSummary:
    try:
        return filled_usage(seen, load_usage(Path(seen.path), own=seen.own), price)
    except CtxtuiError as error:
        return replace(seen, known=True, error=error.message)
    except Exception as error:  # noqa: BLE001 - one session's fault must not hide the others
        return replace(seen, known=True, error=f"unexpected {type(error).__name__}: {error}")
