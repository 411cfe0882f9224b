"""The context window in force for a call, and its origin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from ctxtui.core.call import WINDOW, Call
from ctxtui.core.session import Session

if TYPE_CHECKING:
    from ctxtui.analysis.book import Book
    from ctxtui.analysis.window_signs import ShownWindow
    from ctxtui.tokens.models import ModelCard

COMPACTION: Final = "automatic compaction"
RECORDED: Final = "recording"
CLIENT: Final = "client default"
REQUESTED: Final = "long context asked for"
SEEN: Final = "larger context seen"
MODEL: Final = "model"
USER: Final = "setting"
ORIGIN_TEXTS: Final = {
    COMPACTION: "where the client compacts",
    RECORDED: "from the recording",
    CLIENT: "the client's default",
    REQUESTED: "the long context that the client requested",
    SEEN: "inferred from the largest context",
    MODEL: "the model's",
    USER: "your setting",
}
"""How the limit is known."""
SHORT_TEXTS: Final = {
    COMPACTION: "compacts at {}",
    RECORDED: "{} as recorded",
    CLIENT: "{} by default",
    REQUESTED: "{} as requested",
    SEEN: "{} inferred",
    MODEL: "model limit {}",
    USER: "{} by setting",
}
"""The same in few words, with the limit."""
_CLAUDE_CODE: Final = "claude code"


class ContextWindow(Struct, frozen=True):
    """Limits of a context in tokens; 0 where unknown.

    - `limit`: the limit in force: where the client compacts, else `window`.
    - `usable`: the part of `window` (of `limit` if that is 0) that should be filled, at most `limit`.
    - `origin`: how the limit is known.
    - `window`: the client's window if known, else the model's.
    - `model`: the model's window, by setting or table; or a larger one that was requested or accepted.
    """

    limit: int = 0
    usable: int = 0
    origin: str = ""
    window: int = 0
    model: int = 0

    def share(self, tokens: float) -> float | None:
        """`tokens` as a share of the usable part; None if no window is known."""
        return tokens / self.usable if self.usable else None

    @property
    def origin_text(self) -> str:
        return ORIGIN_TEXTS.get(self.origin, "not known")

    def as_fields(self) -> dict[str, int | str | None]:
        return {
            "limit": self.limit or None,
            "usable": self.usable or None,
            "origin": self.origin or None,
            "model": self.model or None,
        }


def usable_tokens(window: int, share: float, user_tokens: int | None) -> int:
    """Tokens of a `window` to fill: its `share`, or the user's own number (None or 0: none)."""
    return min(user_tokens, window) if user_tokens else round(window * share)


def context_window(book: Book, call: Call, usable_share: float) -> ContextWindow:
    """The window in force for `call`.

    `usable_share` of it is to be filled, unless the user set the usable tokens.
    """
    model = call.model or book.session.model
    card, shown = book.card(model), book.windows.signs_of(model)
    window, origin = _client_window(book.session, call, card, shown)
    accepted_tokens = max(card.window or 0, window if origin in (SEEN, REQUESTED) else 0)
    usable = usable_tokens(window, usable_share, card.usable)
    compacts = shown.compacts_at
    if compacts and origin != USER and (not window or compacts <= window):
        return ContextWindow(
            compacts, min(compacts, usable) or round(compacts * usable_share), COMPACTION, window, accepted_tokens
        )
    return ContextWindow(window, usable, origin, window, accepted_tokens)


def _client_window(session: Session, call: Call, card: ModelCard, shown: ShownWindow) -> tuple[int, str]:
    """The client's window for a call, else the model's, and its origin; (0, "") if unknown."""
    model_window = card.window or 0
    most = max(model_window, card.long_window or 0)
    recorded = call.extra.get(WINDOW)
    stated = (
        recorded
        if isinstance(recorded, int) and not isinstance(recorded, bool) and recorded > 0
        else session.about.window
    )
    # Imported late: the end of a long recording is shown without a table of models.
    from ctxtui.tokens.models import SETTING

    if dict(card.sources).get("window") == SETTING and not 0 < stated < model_window:
        return model_window, USER
    window, origin = model_window, MODEL if model_window else ""
    if session.about.source == _CLAUDE_CODE:
        if stated:
            # A window recorded for one model cannot exceed another model's limit.
            window, origin = min(stated, most) if most else stated, RECORDED
        elif shown.requested_long and most:
            window, origin = most, REQUESTED
        elif card.unasked_window and (not model_window or card.unasked_window < model_window):
            window, origin = card.unasked_window, CLIENT
    elif stated:
        window, origin = stated, RECORDED
    if window and shown.largest > window:
        # Reports show that a context of `shown.largest` tokens was accepted.
        return max(most, shown.largest), SEEN
    return window, origin
