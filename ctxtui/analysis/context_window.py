"""The window in force for a call: the client's own limit where it is known or shown, else the model's, and how that is
known. Every share of a window is one of these (facts §13: what clients record)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ctxtui.core.call import COMPACTED, WINDOW, Call, Fidelity
from ctxtui.tokens.models import SETTING, plain_id

if TYPE_CHECKING:
    from ctxtui.analysis.book import Book
    from ctxtui.core.session import Session
    from ctxtui.tokens.models import ModelCard

COMPACTION: Final = "automatic compaction"
RECORDED: Final = "recording"
CLIENT: Final = "client default"
ASKED: Final = "long context asked for"
SEEN: Final = "larger context seen"
MODEL: Final = "model"
USER: Final = "setting"
WORDS: Final = {
    COMPACTION: "where the client compacts by itself",
    RECORDED: "as the recording says",
    CLIENT: "the client's default",
    ASKED: "the client asked for the long one",
    SEEN: "as large a context was taken",
    MODEL: "the model's",
    USER: "your setting",
}
"""What each origin means, for a screen."""
AUTOMATIC: Final = "auto"
_CLAUDE_CODE: Final = "claude code"
_LONG: Final = "context-1m"
"""What the name of the beta begins with that asks for the long context."""


@dataclass(frozen=True, slots=True)
class ContextWindow:
    """How much a context may come to, in tokens, 0 where unknown.

    `limit` is the ruler: at most so much is sent before something happens; `usable` the part of it that we mean to
    fill. `origin` says how the limit is known. Behind it stand `window`, what the client takes the window to be, and
    `model`, the model's own.
    """

    limit: int = 0
    usable: int = 0
    origin: str = ""
    window: int = 0
    model: int = 0

    def share(self, tokens: float) -> float | None:
        """`tokens` as a share of what is usable; None where no window is known."""
        return tokens / self.usable if self.usable else None

    @property
    def words(self) -> str:
        """What the limit is."""
        return WORDS.get(self.origin, "not known")

    def as_fields(self) -> dict[str, int | str | None]:
        """As JSON names it."""
        return {
            "limit": self.limit or None,
            "usable": self.usable or None,
            "origin": self.origin or None,
            "model": self.model or None,
        }


def running_window(window: int, usable_share: float, origin: str = RECORDED) -> ContextWindow:
    """The window of a model that runs and says itself what it takes (tokens)."""
    return ContextWindow(window, round(window * usable_share), origin if window else "", window, window)


@dataclass(slots=True)
class _Shown:
    """What the calls of one model show: the largest input, where the client compacted by itself, and whether it asked
    for the long context."""

    largest: int = 0
    compacted: tuple[int, ...] = ()
    asked: bool = False

    @property
    def compacts(self) -> int:
        """Where the client compacts by itself, 0 where nothing shows: no larger context was sent, so that an earlier
        setting does not count, and what stood a little beyond the limit does not move it."""
        return min((size for size in self.compacted if size >= self.largest), default=0)


class WindowSigns:
    """What the calls of a session show of the windows that its client works with."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._key: tuple[int, int, int] = (-1, 0, 0)
        self._shown: Mapping[str, _Shown] = {}

    def of(self, model: str) -> _Shown:
        """What the calls of `model` show."""
        calls = self._session.calls
        last = next(reversed(calls.values()), None) if calls else None
        key = (len(calls), len(self._session.tree), id(last))
        if key != self._key:
            # A list first: another thread may be folding calls in.
            self._key, self._shown = key, _signs(list(calls.values()))
        return self._shown.get(plain_id(model)) or _Shown()


def _signs(calls: Iterable[Call]) -> dict[str, _Shown]:
    found: dict[str, _Shown] = {}
    plain: dict[str, str] = {}
    for call in calls:
        name = plain.get(call.model)
        if name is None:
            name = plain[call.model] = plain_id(call.model)
        one = found.setdefault(name, _Shown())
        if call.usage is not None and call.fidelity != Fidelity.TOTALS and not _passes(call):
            one.largest = max(one.largest, call.usage.input)
        if size := compacted_at(call):
            one.compacted = (*one.compacted, size)
        one.asked = one.asked or "[1m]" in call.model.lower() or _asks(call.extra.get("betas"))
    return found


def _passes(call: Call) -> bool:
    """Whether the report of `call` may add up several passes of the model, each of which had a window of its own."""
    usage = call.extra.get("usage")
    facts = {**usage, **call.extra} if isinstance(usage, Mapping) else call.extra
    iterations, ran = facts.get("iterations"), facts.get("server_tool_use")
    many = isinstance(iterations, list) and len(iterations) > 1
    return many or (isinstance(ran, Mapping) and any(isinstance(n, int) and n > 0 for n in ran.values()))


def compacted_at(call: Call) -> int:
    """The tokens at which the client compacted by itself before `call`; 0 where it did not, or nobody says."""
    noted = call.extra.get(COMPACTED)
    if not isinstance(noted, Mapping) or noted.get("trigger") != AUTOMATIC:
        return 0
    size = noted.get("tokens")
    return size if isinstance(size, int) and size > 0 else 0


def by_hand(call: Call) -> bool:
    """Whether the record says that a person asked for the compaction before `call`."""
    noted = call.extra.get(COMPACTED)
    return isinstance(noted, Mapping) and noted.get("trigger") not in (None, AUTOMATIC)


def _asks(betas: object) -> bool:
    return isinstance(betas, list) and any(isinstance(name, str) and name.startswith(_LONG) for name in betas)


def context_window(book: Book, call: Call, usable_share: float) -> ContextWindow:
    """The window in force for `call`, of which `usable_share` is to be filled."""
    model = call.model or book.session.model
    card, shown = book.card(model), book.windows.of(model)
    window, origin = _window(book.session, call, card, shown)
    own = max(card.window or 0, window if origin in (SEEN, ASKED) else 0)
    usable = round(window * usable_share)
    compacts = shown.compacts
    if compacts and origin != USER and (not window or compacts <= window):
        return ContextWindow(compacts, min(compacts, usable) or round(compacts * usable_share), COMPACTION, window, own)
    return ContextWindow(window, usable, origin, window, own)


def _window(session: Session, call: Call, card: ModelCard, shown: _Shown) -> tuple[int, str]:
    """What the client takes the window of a call to be, and how that is known; (0, "") where nothing tells."""
    own = card.window or 0
    most = max(own, card.long_window or 0)
    mine = call.extra.get(WINDOW)
    named = mine if isinstance(mine, int) and not isinstance(mine, bool) and mine > 0 else session.about.window
    if dict(card.sources).get("window") == SETTING and not 0 < named < own:
        return own, USER
    window, origin = own, MODEL if own else ""
    if session.about.source == _CLAUDE_CODE:
        if named:
            # What one model's screen said is no more than another model takes.
            window, origin = min(named, most) if most else named, RECORDED
        elif shown.asked and most:
            window, origin = most, ASKED
        elif card.unasked_window and (not own or card.unasked_window < own):
            window, origin = card.unasked_window, CLIENT
    elif named:
        window, origin = named, RECORDED
    if window and shown.largest > window:
        # A report does not err: so much was taken.
        return max(most, shown.largest), SEEN
    return window, origin
