"""The residual of a call: its size, the steps in which it grew, and their likely causes.

It is the reported input beyond the recorded blocks and the missing input that is known; negative if they exceed it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.analysis.book import Book
from ctxtui.core.block_content import BlockContent, arguments_value, read
from ctxtui.core.call import COMPACTIONS, Call, Fidelity
from ctxtui.core.category import INDEX
from ctxtui.core.file_accesses import READ, find_touches, only_prints, shell_command
from ctxtui.core.tree import ROOT, Tree
from ctxtui.curation.record_summary import listed_items

_MAX_STEPS: Final = 12
"""Steps whose causes are searched."""
_MIN_STEP_SHARE: Final = 0.03
"""Steps below this share of a residual are ignored."""
_MIN_STEP_TOKENS: Final = 100
"""Tokens of a step: less may be a counting error."""
_MAX_BLOCKS_BACK: Final = 2_000
"""Blocks before a command that are searched for a read of a file."""
_MAX_COMMAND_CHARACTERS: Final = 48
_CALL, _USER = INDEX["tool_call"], INDEX["user"]

LIST_CAUSE: Final = "the changed list, which the client repeats in an unrecorded reminder"
USER_CAUSE: Final = "unrecorded text that the client added to the user's message: changed files, memories, lists"
ANY_CAUSE: Final = "unrecorded text that the client added: reminders, changed files, lists"


class ResidualStep(Struct, frozen=True):
    """The report of call `number` changed the residual by `tokens` (negative: down)."""

    number: int
    tokens: int


def residual_steps(book: Book, call: Call) -> tuple[ResidualStep, ...]:
    """Steps in which the residual of `call` changed since its epoch began; they add up to it."""
    reports = [
        residual
        for earlier in _calls_of_epoch(book, call)
        if earlier.usage is not None and (residual := book.contexts.residual_of(earlier)) is not None
    ]
    changes = ((number, residual_now - before) for (_, before), (number, residual_now) in pairwise([(0, 0), *reports]))
    return tuple(ResidualStep(number, tokens) for number, tokens in changes if tokens)


def _calls_of_epoch(book: Book, call: Call) -> Iterator[Call]:
    for earlier in book.session.thread_calls(call.thread):
        if earlier.epoch.number == call.epoch.number:
            yield earlier
        if earlier.id == call.id:
            return


def largest_steps(every: Sequence[ResidualStep], tokens: int) -> list[ResidualStep]:
    """The `_MAX_STEPS` largest steps of the same sign as a residual of `tokens`.

    The largest is first; small steps are left out.
    """
    least = max(_MIN_STEP_TOKENS, _MIN_STEP_SHARE * abs(tokens))
    large = [step for step in every if step.tokens * tokens > 0 and abs(step.tokens) >= least]
    return sorted(large, key=lambda part: -abs(part.tokens))[:_MAX_STEPS]


def likely_addition(book: Book, number: int, call: Call) -> str:
    """Likely additions of the client to the context of call `number` in the thread of `call`.

    Clients show again the files that a command changed after they were read, and repeat a list that was changed.
    """
    calls, tree = book.session.thread_calls(call.thread), book.session.tree
    if not 0 < number <= len(calls):
        return ANY_CAUSE
    head = calls[number - 1].sent_head
    before = calls[number - 2].sent_head if number > 1 else ROOT
    new = tree.path(head, tree.common(before, head))
    tool_calls = {node: read(tree[node].block) for node in new if tree[node].category == _CALL}
    if any(_changes_list(tool_call) for tool_call in tool_calls.values()):
        return LIST_CAUSE
    node = next((node for node in reversed(tool_calls) if _may_change_files(tool_calls[node])), ROOT)
    if node != ROOT and _is_file_read_before(tree, node):
        words = " ".join(shell_command(tool_calls[node]).split())
        shortened = words if len(words) <= _MAX_COMMAND_CHARACTERS else words[: _MAX_COMMAND_CHARACTERS - 1] + "…"
        files = f"files read before that `{shortened}` may have changed"
        return f"{files}, which the client repeats without recording it"
    return USER_CAUSE if any(tree[node].category == _USER for node in new) and not tool_calls else ANY_CAUSE


def _changes_list(tool_call: BlockContent) -> bool:
    value = arguments_value(tool_call) if tool_call.arguments else {}
    return listed_items(tool_call.name, value) is not None


def _may_change_files(tool_call: BlockContent) -> bool:
    """Whether the call is a shell command that is not known to print only."""
    command = shell_command(tool_call)
    return bool(command) and not only_prints(command) and {touch.kind for touch in find_touches(tool_call)} != {READ}


def _is_file_read_before(tree: Tree, node: int) -> bool:
    return any(
        touch.kind == READ
        for earlier in islice(reversed(tree.path(tree[node].parent)), _MAX_BLOCKS_BACK)
        if tree[earlier].category == _CALL
        for touch in find_touches(read(tree[earlier].block))
    )


_MAIN_SHARE: Final = 0.5
"""Share of a residual in one step, or in the large ones together, for a cause in these calls."""
_MAX_CAUSES: Final = 3
_MAX_OVERHEAD: Final = 1_200
"""Tokens beyond a complete request that may be the provider's own framing."""
_MEDIA: Final = (INDEX["image"], INDEX["document"])
MORE_TEXT: Final = "reported tokens beyond the recorded blocks and the known missing content"
FEWER_TEXT: Final = "tokens by which the counted blocks exceed the report"


class ResidualPart(Struct, frozen=True):
    """`tokens` of a residual from one likely `cause`, in `steps` steps.

    The largest came with the report of `since`.
    """

    since: int
    tokens: int
    cause: str
    steps: int = 1

    def describe(self, call: int) -> str:
        largest = "with this call" if self.since == call else f"with call {self.since:,}"
        when = _since_text(self.since, call) if self.steps == 1 else f"in {self.steps:,} steps, the largest {largest}"
        return f"{abs(self.tokens):,} {when}, likely {self.cause}"


class Residual(Struct, frozen=True):
    """Reported `tokens` that nothing explains; negative: the blocks exceed the report.

    - `what`: describes them.
    - `cause`: the likely cause, as part of a sentence.
    - `since`: the number of the call whose report brought the largest step of the main cause; of the first step of the
      same sign if no step is a cause.
    - `parts`: the main causes; `others`: number of steps in none of them.
    """

    tokens: int
    what: str
    cause: str
    since: int
    parts: tuple[ResidualPart, ...] = ()
    others: int = 0

    def describe(self, call: int) -> str:
        if not self.parts or (len(self.parts) == 1 and self.parts[0].steps == 1):
            return f"{_since_text(self.since, call)}, likely {self.cause}. These are {self.what}."
        parts = [part.describe(call) for part in self.parts]
        unexplained = self.tokens - sum(part.tokens for part in self.parts)
        if self.others and unexplained * self.tokens > 0:
            parts.append(f"{abs(unexplained):,} in {self.others:,} other step{'' if self.others == 1 else 's'}")
        return f"{'; '.join(parts)}. These are {self.what}."


def _since_text(number: int, call: int) -> str:
    return f"since call {number:,}" if number != call else "with this call"


def explain_residual(book: Book, call: Call) -> Residual | None:
    """Explain the residual of `call`; None if it is zero, unreported or not known yet."""
    context = book.contexts.read_of(call)
    if context is None or not context.residual or not context.reported or call.usage is None:
        return None
    tokens = context.residual
    description = MORE_TEXT if tokens > 0 else FEWER_TEXT
    is_sudden = context.step * tokens > 0 and abs(context.step) >= _MAIN_SHARE * abs(tokens)
    every = residual_steps(book, call)
    main_steps = largest_steps(every, tokens)
    if not is_sudden and abs(sum(step.tokens for step in main_steps)) < _MAIN_SHARE * abs(tokens):
        cause = "the model's tokenizer counts these texts differently from the one used here"
        return Residual(tokens, description, cause, next(step.number for step in every if step.tokens * tokens > 0))
    parts = _group_by_cause(book, call, main_steps)[:_MAX_CAUSES]
    since = parts[0].since if parts else context.since
    cause = parts[0].cause if parts else _find_cause(book, call, tokens, since)
    return Residual(tokens, description, cause, since, tuple(parts), len(every) - sum(part.steps for part in parts))


def _group_by_cause(book: Book, call: Call, steps: Sequence[ResidualStep]) -> list[ResidualPart]:
    """Group `steps`, the largest first, by cause; the cause with the most tokens is first."""
    parts: dict[str, ResidualPart] = {}
    for step in steps:
        cause = _find_cause(book, call, step.tokens, step.number)
        part = parts.get(cause, ResidualPart(step.number, 0, cause, 0))
        parts[cause] = replace(part, tokens=part.tokens + step.tokens, steps=part.steps + 1)
    return sorted(parts.values(), key=lambda part: -abs(part.tokens))


def _find_cause(book: Book, call: Call, tokens: int, since: int) -> str:
    """The likely cause of `tokens` that the report of call `since` added to `call`'s context."""
    calls = book.session.thread_calls(call.thread)
    began = calls[since - 1] if since <= len(calls) else call
    sums = book.sums(call.model, call.sent_head)
    if any(sums[category] for category in _MEDIA) and call.fidelity == Fidelity.WIRE:
        return "images or documents, which the model may count differently"
    if tokens < 0:
        return "a block of that call was not sent as recorded, or has fewer tokens than counted"
    if call.fidelity == Fidelity.WIRE:
        tools = sums[INDEX["tools"]]
        if tools and tokens <= _MAX_OVERHEAD:
            return "the provider's own instructions for tools, which no request contains"
        return "text that the provider adds to a request, or a different tokenizer"
    own_epoch = (earlier for earlier in calls if earlier.epoch.number == began.epoch.number)
    if began.epoch.start in COMPACTIONS and next(own_epoch, None) is began:
        return "unrecorded text that the client added after it shrank the context"
    return likely_addition(book, since, call)
