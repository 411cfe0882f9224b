"""Finds the cause of a cache miss, and the first block where the two requests differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from ctxtui.cache import outcome as reasons
from ctxtui.cache.outcome import CacheOutcome, Reason
from ctxtui.cache.prefix_key import PrefixEnd, PromptFacts
from ctxtui.cache.prefix_salt import effective_parameters
from ctxtui.cache.prompt import CachedPrompt
from ctxtui.core.block_content import read
from ctxtui.core.canonical import Json
from ctxtui.core.tree import ROOT, Tree

CONTENT: Final = "content"
"""Causes of a miss."""
TOOLS: Final = "tools"
MODEL: Final = "model"
PARAMETER: Final = "parameter"
EXPIRED: Final = "expired"
LOOKBACK: Final = "lookback"
MINIMUM: Final = "below minimum"
MARKER_MOVED: Final = "marker moved"
MARKER_MISSING: Final = "marker missing"
NOT_YET: Final = "not yet readable"
STRIPPED: Final = "thinking stripped"
COMPACTION: Final = "compaction"
NOT_IN_RECORD: Final = "not in the record"

_DIAGNOSES: Final = {
    MODEL: ("model_changed",),
    TOOLS: ("tools_changed",),
    CONTENT: ("messages_changed", "input_changed"),
    COMPACTION: ("messages_changed", "context_compacted"),
    STRIPPED: ("messages_changed", "input_changed"),
    PARAMETER: (
        "unavailable", "text_format_changed", "reasoning_effort_changed", "verbosity_changed", "service_tier_changed",
        "prompt_cache_key_changed",
    ),
}  # fmt: skip
"""Names that Anthropic and OpenAI give each cause (facts §3, §4)."""
_DIAGNOSED: Final = frozenset({"system_changed"}.union(*_DIAGNOSES.values()))
"""Names that decide a cause; providers give others too."""


class SentRequest(NamedTuple):
    """A sent request: its `prompt`, and the tree node `head` where its context ends.

    `params` are its top-level members besides the context (``betas``: the active beta set). Its times are in the
    `CacheOutcome`.
    """

    prompt: CachedPrompt
    head: int
    dialect: str
    model: str
    params: Mapping[str, Json] = {}


class MissExplanation(NamedTuple):
    """Cause of a miss.

    - `what`: names the tool, parameter or model.
    - `by`: an amount: seconds (`EXPIRED`, `NOT_YET`), positions (`LOOKBACK`, `MARKER_MOVED`), tokens (`MINIMUM`).
    - `before`, `now`: the tree nodes of the first blocks where the two requests differ (`ROOT`: none, or one ends
      there); `section`: their section.
    - `lost`: tokens that the previous request had left in the cache and this one did not read.
    """

    cause: str
    what: str = ""
    by: float = 0.0
    before: int = ROOT
    now: int = ROOT
    section: str = ""
    lost: int = 0


def explain_miss(
    tree: Tree, before: SentRequest, now: SentRequest, left: CacheOutcome, outcome: CacheOutcome
) -> MissExplanation | None:
    """Explain why the request `now` read less than the request `before` had left in the cache.

    None if it read all of that. If `before` left nothing in the cache, the only cause that is found is a prefix below
    the minimum. `left` is the outcome of `before`, `outcome` that of `now`.
    """
    available = left.read + left.written if left.prompt.markers else left.total
    # Without a lifetime nothing was cached, except in a slot, where nothing expires.
    if left.life is None and not left.prompt.rules.mechanism.holds_one:
        return _below_minimum(outcome)
    if outcome.read >= min(available, outcome.total - left.prompt.rules.spare) > 0:
        return None
    first, second = first_difference(tree, before.head, now.head)
    node = second or first
    section = tree[node].place.section if node != ROOT else ""
    case = _Case(tree, before, now, left, outcome, first, second)
    causes = (cause for check in _CHECKS if (cause := check(case)) is not None)
    cause = next(causes, MissExplanation(NOT_IN_RECORD))
    return cause._replace(before=first, now=second, section=section, lost=max(0, available - outcome.read))


def first_difference(tree: Tree, before: int, now: int) -> tuple[int, int]:
    """First nodes in which contexts `before` and `now` differ (`ROOT` for one that ends there)."""
    shared = tree.common(before, now)
    return _child_towards(tree, shared, before), _child_towards(tree, shared, now)


def _child_towards(tree: Tree, shared: int, head: int) -> int:
    child = ROOT
    while head != shared:
        child, head = head, tree[head].parent
    return child


def matches_diagnosis(cause: str, section: str, diagnosis: str) -> bool | None:
    """Whether the provider's own diagnosis (``tools_changed`` ...) names the same cause.

    None if the diagnosis does not decide it.
    """
    if diagnosis not in _DIAGNOSED or cause not in _DIAGNOSES:
        return None
    if diagnosis == "unavailable":
        # Another parameter differs, or the provider compared with a request that is too old.
        return True if cause == PARAMETER else None
    if cause == CONTENT and section == "system":
        return diagnosis in ("system_changed", "input_changed")
    return diagnosis in _DIAGNOSES[cause]


class _Case(NamedTuple):
    """Two requests with their outcomes.

    `before_node` and `now_node` are the first nodes in which they differ (`ROOT`: that request ends there).
    """

    tree: Tree
    before: SentRequest
    now: SentRequest
    left: CacheOutcome
    outcome: CacheOutcome
    before_node: int
    now_node: int


def _below_minimum(outcome: CacheOutcome) -> MissExplanation | None:
    reason = _find_reason(outcome, reasons.MINIMUM)
    return MissExplanation(MINIMUM, by=reason.by) if reason else None


def _markers(case: _Case) -> MissExplanation | None:
    if _find_reason(case.outcome, reasons.NO_MARKER):
        return MissExplanation(MARKER_MISSING)
    # Without markers, a prefix may also be below the minimum because the requests differ early: the cause is then that
    # difference.
    rules, long_enough = case.now.prompt.rules, min(case.left.total, case.outcome.total)
    has_other_cause = not rules.mechanism.writes_at_markers and long_enough >= rules.minimum
    return None if has_other_cause else _below_minimum(case.outcome)


def _short(case: _Case) -> MissExplanation | None:
    return _below_minimum(case.outcome)


def _lifetime(case: _Case) -> MissExplanation | None:
    life, past = case.left.life, case.outcome.at - case.left.at
    return MissExplanation(EXPIRED, by=past - life) if life is not None and past > life else None


def _model(case: _Case) -> MissExplanation | None:
    if case.before.model != case.now.model:
        return MissExplanation(MODEL, f"{case.before.model} → {case.now.model}")
    return None


def _parameter(case: _Case) -> MissExplanation | None:
    rules = case.now.prompt.rules
    old, new = (
        {path: value for path, _, value in effective_parameters(rules, request.dialect, request.params)}
        for request in (case.before, case.now)
    )
    changed = [path for path in {**old, **new} if old.get(path) != new.get(path)]
    if changed:
        return MissExplanation(PARAMETER, ", ".join(changed))
    toggled = _describe_toggles(case.tree, case.before.head, case.now.head) if case.now.dialect == "anthropic" else ""
    return MissExplanation(PARAMETER, toggled) if toggled else None


def _tools(case: _Case) -> MissExplanation | None:
    node = case.now_node or case.before_node
    if node == ROOT or "tools" not in (_section(case, case.before_node), _section(case, case.now_node)):
        return None
    return MissExplanation(TOOLS, describe_tool_changes(case.tree, case.before.head, case.now.head))


def _section(case: _Case, node: int) -> str:
    return case.tree[node].place.section if node != ROOT else ""


def _compaction(case: _Case) -> MissExplanation | None:
    here = case.tree[case.now.head]
    while here.id != ROOT and not case.tree.holds(case.before.head, here.id):
        if here.place.mark == "summary" or here.block.kind.startswith("compaction"):
            return MissExplanation(COMPACTION)
        here = case.tree[here.parent]
    return None


def _stripped(case: _Case) -> MissExplanation | None:
    prompt = case.now.prompt
    if not prompt.rules.strips or not _is_still_prefix(case):
        return None
    # Same blocks, different keys: something in between is no longer read.
    ours = {position.node: position.key for position in prompt.last.back()}
    positions = [
        position for position in case.before.prompt.last.back() if case.tree.holds(case.now.head, position.node)
    ]
    changed = [position for position in positions if ours.get(position.node) != position.key]
    return MissExplanation(STRIPPED) if changed else None


def _is_still_prefix(case: _Case) -> bool:
    """Whether the deepest entry of the previous request is still a prefix of this one."""
    entry = _deepest_entry(case.left)
    return entry is not None and case.tree.holds(case.now.head, entry.node)


def _deepest_entry(left: CacheOutcome) -> PrefixEnd | None:
    """Deepest position that a request left in the cache.

    None if it had markers, but read and wrote nothing.
    """
    return (left.deepest or left.hit) if left.prompt.markers else left.prompt.last


def _content(case: _Case) -> MissExplanation | None:
    return None if _is_still_prefix(case) else MissExplanation(CONTENT)


def _reach(case: _Case) -> MissExplanation | None:
    early = _find_reason(case.outcome, reasons.NOT_YET)
    if early is not None:
        return MissExplanation(NOT_YET, by=early.by)
    entry, markers, left = _deepest_entry(case.left), case.now.prompt.markers, case.left.prompt
    if not (left.explicit or left.rules.mechanism.writes_at_markers):
        markers = ()  # its deepest entry is at an implicit breakpoint, which needs none
    if entry is not None and markers and markers[-1].position.number < entry.number:
        return MissExplanation(MARKER_MOVED, by=entry.number - markers[-1].position.number)
    lookback = _find_reason(case.outcome, reasons.LOOKBACK)
    return MissExplanation(LOOKBACK, by=lookback.by) if lookback is not None else None


def _find_reason(outcome: CacheOutcome, kind: str) -> Reason | None:
    return next((reason for reason in outcome.reasons if reason.kind == kind), None)


_CHECKS: Final[tuple[Callable[[_Case], MissExplanation | None], ...]] = (
    _markers,
    _lifetime,
    _model,
    _parameter,
    _tools,
    _compaction,
    _stripped,
    _content,
    _reach,
    _short,
)


def describe_tool_changes(tree: Tree, before: int, now: int) -> str:
    """Describe how the tools of two contexts differ: added, removed, changed, or only reordered."""
    old, new = _tools_of(tree, before), _tools_of(tree, now)
    changes = [
        *(f"{name} added" for name in new if name not in old),
        *(f"{name} removed" for name in old if name not in new),
        *(f"{name} changed" for name in new if name in old and old[name] != new[name]),
    ]
    if changes:
        return ", ".join(changes)
    return "" if list(old) == list(new) else "order changed"


def _tools_of(tree: Tree, head: int) -> dict[str, str]:
    items = tree.items(head)
    return {read(block).name: block.digest for block, place in items if place.section == "tools"}


def _describe_toggles(tree: Tree, before: int, now: int) -> str:
    """Describe content of only one context that invalidates the cache by its presence."""
    facts = PromptFacts(tree)
    old, new = facts.facts(before), facts.facts(now)
    changes = []
    if old.citations != new.citations:
        changes.append("citations on" if new.citations else "citations off")
    if old.web != new.web:
        changes.append("web tools")
    return ", ".join(changes)
