"""Home's data about a session (`SessionSummary`) and its calls (`CallSpent`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import Struct

if TYPE_CHECKING:
    from ctxtui.analysis.money.tool_costs import ToolCosts
    from ctxtui.core.usage import QuotaReport

# Marks in `GrowthColumn.marks`.
MISS: Final = "miss"
COMPACTION: Final = "compaction"
MODEL: Final = "model"
TURN: Final = "turn"
# Groups of sessions on Home.
HERE: Final = "here"
ELSEWHERE: Final = "elsewhere"
SAMPLES: Final = "samples"


class GrowthColumn(NamedTuple):
    """One call: input tokens by cache state, and events (`marks`).

    Without cache figures all tokens are in `read`.
    """

    read: int
    write: int
    fresh: int
    marks: tuple[str, ...] = ()

    @property
    def tokens(self) -> int:
        return self.read + self.write + self.fresh


MISSED: Final = "m"
COMPACTED: Final = "c"
OVER: Final = "o"
"""Marks in `CallSpent.marks`: a miss, a compaction before the call, input over the usable window."""


class CallSpent(NamedTuple):
    """The contribution of one call to the totals.

    - `id`: the same for the same call in two files (`core.call.paid_id`).
    - `input`, `read`: tokens, 0 without a report; `tokens`: input and output.
    - `cost`: the known part in USD, None if nothing is known.
    - `model`: an index into `SessionSummary.models` (-1: none named).
    - `started`: Unix seconds (0: not recorded).
    - `thread`: the label of a subagent's thread, "" for the main one.
    - `side`: the id of any thread but the session's first, prefixed with ``~`` if it is no subagent.
    - `lost`: USD lost by the miss (None: no price is known); `cause`: its cause in a few words.
    - `partial`: the answer is not reported in full.
    - `skill`: the skill or command that its turn requested ("": none).
    - `copied`: ctxtui wrote it here, but it was made in another session.
    - `unpriced`: it has a report, but no price for all or part of it.
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
    """Home's data about one session.

    With `known` False only the fields up to `group` are filled, and those that the user set (tags, archived,
    subscription). Money is USD, times are Unix seconds. Peak, growth, turns, texts, compactions and changes of model
    are those of the thread that opens.
    """

    key: str
    """Absolute path, or the store's id if only the store has the session."""
    title: str = ""
    """The session's name, its first user text, or the file's name; untrusted text."""
    source: str = ""
    """``claude code``, ``codex``, ``ctxtui`` ...; "" if unknown."""
    path: str = ""
    """Absolute path of the main file; "" if only the store has the session."""
    id: str = ""
    """Id used by commands: from the file's name or the database."""
    client_version: str = ""
    """Version of the program that wrote it; "" if not recorded or not read yet."""
    stored: str = ""
    """Its id in the store; "" if it was never imported."""
    own_title: str = ""
    """Its title in the store."""
    cwd: str = ""
    mtime: float = 0.0
    size: int = 0
    """Bytes of the file; for a session in a database the number of its messages, turns or calls."""
    own: str = ""
    """Path of the client's transcript of a session that ctxtui recorded too; then `size` is the sum of both files, and
    `mtime` the later one."""
    live: bool = False
    held: str = ""
    """Why one of its requests is held for the user ("": none is)."""
    group: str = ELSEWHERE
    """``here``, ``elsewhere`` or ``samples`` by name and folder; a `cwd` in this directory counts as ``here``."""

    known: bool = False
    error: str = ""
    usage_only: bool = False
    """Whether only the usage of its calls is known yet."""
    model: str = ""
    calls: int = 0
    copied: int = 0
    """Calls copied by ctxtui from another session, for a client to resume; in no other sum."""
    turns: int = 0
    subagents: int = 0
    lines: int = 0
    skipped: int = 0
    """Lines that could not be read."""
    peak_tokens: int = 0
    """The largest context of a call."""
    peak_call: int = 0
    last_tokens: int = 0
    """The context of the last call."""
    expires: float = 0.0
    """Forecast expiry of the prefix that the next call would read from the cache; 0: unknown, or not live."""
    window: int = 0
    """The window in force for the peak (`analysis.context_window`), in tokens; 0 unknown."""
    usable: int = 0
    window_origin: str = ""
    total_tokens: int = 0
    """Input and output of all calls."""
    sent_tokens: int = 0
    """Their input; set by Home's `Collection`, like `read_tokens`."""
    read_tokens: int = 0
    """The part of it that was read from a cache."""
    cost_usd: float | None = None
    """None if a price or the end of an answer is missing."""
    known_usd: float | None = None
    """The known part of it: a lower bound."""
    unpriced: int = 0
    """Calls with a report and no price."""
    partial: int = 0
    """Calls whose answer is reported in part."""
    main_calls: int = 0
    main_tokens: int = 0
    main_usd: float | None = None
    main_unpriced: int = 0
    main_partial: int = 0
    """The same for the main thread, without subagents (`analysis.money.totals`)."""
    read_share: float | None = None
    """Cache reads / input of the calls with cache figures, 0..1; None for less than two."""
    sentence: str = ""
    """One sentence about the session: ``188k rewritten after a 52-minute pause``."""
    composition_at_peak: tuple[tuple[str, int], ...] = ()
    """(category, tokens) in the order of core.category; unrecorded parts and the residual last."""
    growth: tuple[GrowthColumn, ...] = ()
    misses: int = 0
    compactions: int = 0
    model_changes: int = 0
    first_user_text: str = ""
    last_answer: str = ""
    models: tuple[tuple[str, int], ...] = ()
    """(model, calls without copies), most calls first."""
    tags: tuple[str, ...] = ()
    archived: bool = False
    spent: tuple[CallSpent, ...] = ()
    """Every call of every thread, for totals over sessions; Home's `Collection` keeps none."""
    by_category: tuple[tuple[str, float], ...] = ()
    """(category, USD) as shared out by `analysis.money.spending`."""
    by_tool: tuple[tuple[str, float], ...] = ()
    """(tool, USD), likewise."""
    tools: tuple[ToolCosts, ...] = ()
    """Costs of each tool; calls are numbered as in `spent`."""
    compressors: tuple[str, ...] = ()
    """Clients with their trigger, and provider edits, that compacted or cleared its contexts: ``claude code auto``."""
    policies: tuple[str, ...] = ()
    """Policies with edits in its sent calls; ``by hand`` for the user's own edits."""
    refused: str = ""
    """Final API error, if it refused the request itself and can be fixed; untrusted text."""
    advice: str = ""
    """Client setting that would make later recordings complete."""
    quotas: tuple[QuotaReport, ...] = ()
    """The newest recorded report on each quota window."""
    subscription: bool = False
    """Whether the user marked it as paid by a subscription."""

    @property
    def is_made(self) -> bool:
        """Whether ctxtui wrote it to be resumed, and no client has continued it."""
        return self.copied > 0 and not self.calls

    @property
    def runs(self) -> bool:
        """Whether its program seems to run: the file grew lately, and not because ctxtui wrote it."""
        return self.live and not self.is_made
