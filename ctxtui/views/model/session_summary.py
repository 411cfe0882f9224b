"""Home's data: what is known of a session (look book 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import Struct

if TYPE_CHECKING:
    from ctxtui.analysis.money.tool_costs import ToolCosts
    from ctxtui.core.usage import QuotaReport

MISS: Final = "miss"
COMPACTION: Final = "compaction"
MODEL: Final = "model"
TURN: Final = "turn"
HERE: Final = "here"
ELSEWHERE: Final = "elsewhere"
SAMPLES: Final = "samples"


class GrowthColumn(NamedTuple):
    """One call of the main thread: its input tokens by cache state, and what happened at it.

    Where nothing is reported of the cache, all of it stands in `read`: the colour of what is plainly there.
    `marks` holds any of ``miss``, ``compaction``, ``model``, ``turn``.
    """

    read: int
    write: int
    fresh: int
    marks: tuple[str, ...] = ()

    @property
    def tokens(self) -> int:
        """The call's whole input."""
        return self.read + self.write + self.fresh


MISSED: Final = "m"
COMPACTED: Final = "c"
OVER: Final = "o"
"""The `marks` of a call."""


class CallSpent(NamedTuple):
    """What one call adds to the totals. `id` is core.call's: the same call in two files is counted once.

    `input` and `read` are tokens, 0 where the call has no report; `tokens` is input + output; `cost` USD, None unknown.
    `model` is an index into the session's `models` (-1: none named), `started` Unix seconds (0: not recorded), `thread`
    the label of a subagent's thread, "" for the main one; `side` the id of any thread but the one that a session is
    opened at, behind ``~`` where that is no subagent. `marks` has ``m`` for a miss, ``c`` for a compaction before it,
    ``o`` for an input over what is usable of the window; `lost` USD by the miss (None: no price is known), and
    its `cause` in a few words; `skill` the skill that it served (`analysis.content.skills`). `partial`: its answer is
    not reported in full; `copied`: ctxtui wrote it down here, it was made in another session; `unpriced`: it has a
    report and no price, or none of a part; `calls` are those that it counts for (`Call.count`).
    """

    id: str
    tokens: int
    input: int = 0
    read: int = 0
    cost: float | None = None
    model: int = -1
    started: int = 0
    thread: str = ""
    side: str = ""
    marks: str = ""
    lost: float | None = None
    skill: str = ""
    partial: bool = False
    cause: str = ""
    copied: bool = False
    unpriced: bool = False
    calls: int = 1


class SessionSummary(Struct, frozen=True, kw_only=True):
    """What Home shows of one session.

    From names and file times alone (`known` False) the fields up to `group` are filled, the figures are not yet
    there; `known` True says that the file was read, with `error` if it could not be. Tokens are whole numbers, money
    USD, times Unix seconds. 0 and "" mean "not there", except where None says "unknown".
    """

    key: str
    """Its identity on Home: the absolute path, or the store's id for a session that only the store holds."""
    title: str = ""
    """The session's name, its first user text, or the file's name; untrusted text."""
    source: str = ""
    """``claude code``, ``codex``, ``ctxtui`` ...; "" when not known."""
    path: str = ""
    """Absolute path of the main file; "" for a session that only the store holds."""
    id: str = ""
    """What commands call it by: the id that its file's name or its database gives it."""
    client_version: str = ""
    """The version of the program that wrote it; "" where that is not recorded, or not read yet."""
    stored: str = ""
    """Its id in the store; "" when it was never imported."""
    own_title: str = ""
    """The title that the store has for it."""
    cwd: str = ""
    mtime: float = 0.0
    size: int = 0
    """Bytes of the file; of a session in a database, its messages."""
    own: str = ""
    """The client's own transcript of a session that ctxtui recorded: both are one, whose size and time these are."""
    live: bool = False
    held: str = ""
    """Why a request of it waits for the user ("": none does)."""
    group: str = ELSEWHERE
    """``here``, ``elsewhere`` or ``samples`` as its name and folder tell it; a `cwd` in this directory counts too."""

    known: bool = False
    error: str = ""
    """Why it could not be read: ``binary data at byte 0``."""
    usage_only: bool = False
    """Whether only what its calls used is known yet: nothing that takes its contexts, or counts of their tokens."""
    model: str = ""
    calls: int = 0
    """Calls over all threads."""
    copied: int = 0
    """Calls that ctxtui copied from another session, for a tool to resume. They are in no sum of calls, turns, tokens
    and money, here or over sessions: `calls` are those that were made in this one."""
    turns: int = 0
    subagents: int = 0
    lines: int = 0
    skipped: int = 0
    peak_tokens: int = 0
    """The largest input of any call of the main thread."""
    peak_call: int = 0
    """Number of that call, from 1."""
    last_tokens: int = 0
    """The input of the last call of the main thread."""
    expires: float = 0.0
    """When what that call left in the cache expires (Unix seconds), had nothing read it since; 0: not known."""
    window: int = 0
    """The window in force for the peak (`analysis.context_window`), in tokens; 0 unknown."""
    usable: int = 0
    """What of it we fill."""
    window_origin: str = ""
    """How it is known."""
    total_tokens: int = 0
    """Input and output of all calls."""
    sent_tokens: int = 0
    """The input among them, as far as calls are known one by one."""
    read_tokens: int = 0
    """What of that was read from a cache."""
    cost_usd: float | None = None
    """None where a price is missing, or the end of an answer."""
    known_usd: float | None = None
    """What is known of it: the least that it can be."""
    unpriced: int = 0
    """Calls with a report and no price."""
    partial: int = 0
    """Calls whose answer is reported in part."""
    main_calls: int = 0
    main_tokens: int = 0
    main_usd: float | None = None
    main_unpriced: int = 0
    main_partial: int = 0
    """The same of the main thread alone, without its subagents (`analysis.money.totals`)."""
    read_share: float | None = None
    """Cache reads / input over all calls, 0..1; None for a single call or where no cache figures exist."""
    sentence: str = ""
    """The one true sentence: ``188k rewritten after a 52-minute pause``."""
    composition_at_peak: tuple[tuple[str, int], ...] = ()
    """(category, tokens) in the order of core.category, zero ones left out; ``not recorded``, ``residual`` last."""
    growth: tuple[GrowthColumn, ...] = ()
    misses: int = 0
    compactions: int = 0
    model_changes: int = 0
    first_user_text: str = ""
    last_answer: str = ""
    models: tuple[tuple[str, int], ...] = ()
    """(model, calls), most calls first."""
    tags: tuple[str, ...] = ()
    archived: bool = False
    spent: tuple[CallSpent, ...] = ()
    """Every call of every thread, for totals over sessions."""
    by_category: tuple[tuple[str, float], ...] = ()
    """(category, USD) as `analysis.money.spending` shares the money out; they add up to `cost_usd`."""
    by_tool: tuple[tuple[str, float], ...] = ()
    """(tool, USD), likewise."""
    tools: tuple[ToolCosts, ...] = ()
    """What each tool took; their calls are numbered as in `spent`."""
    compressors: tuple[str, ...] = ()
    """What compacted its contexts or cleared them (`analysis.growth.shorteners`)."""
    policies: tuple[str, ...] = ()
    """The policies whose edits its calls left under, ``by hand`` for the user's own."""
    refused: str = ""
    """The API's error with which it ends, where the request itself was refused and can be mended; untrusted text."""
    advice: str = ""
    """What its client could be told so that later sessions are recorded whole."""
    quotas: tuple[QuotaReport, ...] = ()
    """The newest report on each window of a quota that its record holds."""
    subscription: bool = False
    """Whether the user marked it as paid by a subscription: then tokens lead, money is what the list says."""

    @property
    def is_made(self) -> bool:
        """Whether ctxtui wrote it to be resumed, and no tool has gone on with it."""
        return self.copied > 0 and not self.calls

    @property
    def runs(self) -> bool:
        """Whether its program runs, as far as its file tells: what ctxtui just wrote does not."""
        return self.live and not self.is_made
