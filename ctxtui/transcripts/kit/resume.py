"""Shared code of the writers of sessions that a tool can resume.

A writer changes a copy of the tool's own recording (`apply_edits`). A `Translation` makes a session from a context that
another tool recorded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, Final, NamedTuple, TypeVar

from msgspec import Struct, field

from ctxtui.core import block_content, canonical
from ctxtui.core.block import ASSISTANT, HEADER, NOT_RECORDED, Block, Item
from ctxtui.core.json_values import as_dict, as_str
from ctxtui.transcripts.kit.fields import as_dicts
from ctxtui.transcripts.kit.records import RawRecord, RecordStream, decode_text, encode_text
from ctxtui.wire.codec import spans
from ctxtui.wire.translate.turns import Losses

UNHELD: Final = "a changed block has another form in the file: left as recorded"
UNANSWERED: Final = "your text after the last answer: the tool asks for the next prompt"
MOVED: Final = "a text inserted into a message is placed after it"
OWN: Final = "system prompt and tools: the tool writes its own"
ONLY_THERE: Final = ", which is valid only in the session that it comes from"
CALL: Final = "an inserted tool call"
MEDIA: Final = "an image or a document in a new or changed block"
"""Messages for content that a file cannot carry."""

_NAMED_KINDS: Final = {"tool_use": CALL, "image": MEDIA, "image_url": MEDIA, "document": MEDIA}

Body = dict[str, Any]


class SentBlock(NamedTuple):
    """A block of the context to resume with.

    `at` is its 0-based index on the raw path, the context before edits (None: new by an edit).
    """

    item: Item
    at: int | None = None


class ResumeOrder(Struct, frozen=True, kw_only=True):
    """Input of a writer: the session in `source`, with the context `sent` in place of `path`.

    - `session`: the id of that session (a source may hold several).
    - `until`: the 1-based line before which the session ends; 0: at its end.
    - `end`: the index in `path` from which on nothing is written; None: all of `path` is.
    - `input_tokens`: input of the last answer's request with the new context; None: not known.
    - `answer_tokens`: tokens of that answer and everything after it.
    - `ids`: yields random UUIDs; `now`: Unix seconds.
    - `beside`: the existing files of `ResumeTarget.reads`, by their path from the source's folder.
    """

    source: bytes
    path: Sequence[Item]
    sent: Sequence[SentBlock]
    ids: Iterator[str]
    now: float
    session: str = ""
    until: int = 0
    end: int | None = None
    input_tokens: int | None = None
    answer_tokens: int = 0
    beside: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def drops_prompt(self) -> bool:
        """Whether something follows `end`, and so is not written."""
        return self.end is not None and len(self.path) > self.end


class ResumedFile(Struct, frozen=True):
    """The new file: its bytes, a line for each thing that was lost, and the session's `id`.

    - `name`: the file's name, with the session's own folder before it if it has one; required if the tool searches a
      folder (`ResumeTarget.beside`).
    - `folder`: the required folder below the tool's ``sessions``; "": any.
    - `beside`: further files, by their path from this one's folder.
    """

    data: bytes
    lost: tuple[str, ...] = ()
    id: str = ""
    name: str = ""
    folder: str = ""
    beside: Mapping[str, bytes] = field(default_factory=dict)


class ResumeTarget(Struct, frozen=True):
    """A tool that sessions are written for.

    - `name`: the name of the form; `source`: the format of the tool's own recordings.
    - `command`: the user's command to resume, with ``{id}`` for the session's id and ``{file}`` for the file's path.
    - `beside`: the tool finds the file only in the folder of its recordings.
    - `own_folder`: levels of folders that each session has of its own there.
    - `reads`: patterns of files that the writer needs, from the recording's folder, with ``{id}`` for the session's id.
    - `key`: the key that continues there with a context of another tool; "": no translation.
    """

    name: str
    source: str
    write: Callable[[ResumeOrder], ResumedFile]
    command: str
    beside: bool = True
    own_folder: int = 0
    reads: tuple[str, ...] = ()
    key: str = ""


class TranslatedOrder(Struct, frozen=True, kw_only=True):
    """Input for a new session: a request `body` that `Translation.reduce` returned.

    `ids` yields random UUIDs, `now` is in Unix seconds, `cwd` is the session's directory ("": unknown).
    """

    body: Body
    ids: Iterator[str]
    now: float
    cwd: str = ""


class Translation(Struct, frozen=True):
    """Conversion of a context to a session of a tool.

    `reduce` removes what the tool cannot resume with, and notes it: a signature or an encrypted item is refused after
    another system prompt (facts §1).
    """

    dialect: str
    reduce: Callable[[Body, Losses], Body]
    write: Callable[[TranslatedOrder], ResumedFile]


def format_time(now: float) -> str:
    """Format `now` (Unix seconds) as records have it: ISO, UTC, with milliseconds and ``Z``."""
    return datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class ResumeEntry(Struct, eq=False, kw_only=True):
    """A record of the source, and its changes.

    - `digests`: those of its blocks; `answers`: ids of the calls that they answer, by 0-based part.
    - `changes`: the new parts (None: removed).
    - `before`: items inserted before it, in groups that are entirely the model's or entirely not.
    - `is_atomic`: it can only be removed entirely.
    - `ends_with_session`: it is removed if the session ends before it.
    """

    digests: list[str] = field(default_factory=list)
    answers: dict[int, str] = field(default_factory=dict)
    changes: dict[int, Block | None] = field(default_factory=dict)
    before: list[list[Item]] = field(default_factory=list)
    removed: bool = False
    is_atomic: bool = False
    ends_with_session: bool = True

    @property
    def is_changed(self) -> bool:
        return self.removed or bool(self.changes)

    def change(self, part: int, block: Block | None) -> bool:
        """Replace its 0-based `part` with `block` (None: remove it).

        False if it cannot hold `block`, which the caller must then insert.
        """
        if self.removed or self.is_atomic:
            self.removed = True
            return block is None
        self.changes[part] = block
        self.removed = len(self.changes) == len(self.digests) and all(
            change is None for change in self.changes.values()
        )
        return True

    def changed_parts(self, content: Any, convert: Callable[[Block], Any]) -> list[Any]:
        parts = content if isinstance(content, list) else [content]
        changed = [self.changes.get(n, part) for n, part in enumerate(parts)]
        return [convert(part) if isinstance(part, Block) else part for part in changed if part is not None]


class LinkedEntry(ResumeEntry, kw_only=True):
    """A record of a source in which each record names its parent: its bytes and its JSON value."""

    raw: bytes
    value: dict[str, Any]
    is_subagent: bool = False


_Linked = TypeVar("_Linked", bound=LinkedEntry)


class ResumeEdits(NamedTuple):
    """Result of `apply_edits`.

    - `positions`: as returned by `find_blocks`.
    - `last`: the 0-based number of the session's last entry with a block of the path; None: there is none.
    - `appended`: items after everything, in groups like `ResumeEntry.before`.
    """

    positions: dict[int, tuple[int, int]]
    last: int | None
    appended: list[list[Item]]
    lost: list[str]


def apply_edits(
    order: ResumeOrder,
    entries: Sequence[ResumeEntry],
    positions: dict[int, tuple[int, int]] | None = None,
    beside: Mapping[int, Sequence[int]] | None = None,
    *,
    cut: bool,
) -> ResumeEdits:
    """Apply the requested context to `entries`, which are changed in place.

    With `cut` the session ends after its last block. `positions` as returned by `find_blocks` (None: it is called).
    `beside` has, by a block's index on the path, further entries that it was made of; they are removed if it changes.
    """
    positions = find_blocks(order.path, entries) if positions is None else positions
    end = len(order.path) if order.end is None else order.end
    plan = plan_changes(
        order.path, [sent_item for sent_item in order.sent if sent_item.at is None or sent_item.at < end]
    )
    lost = [UNANSWERED] if order.drops_prompt else []
    for index, item in recorded_items(enumerate(order.path[:end])):
        new = plan.replacements.get(index)
        if new is not None and new.block.digest == item.block.digest:
            continue
        if index not in positions:
            lost.append(UNHELD if item.place.section == "messages" else OWN)
            continue
        for entry_number in (beside or {}).get(index, ()):
            entries[entry_number].removed = True
        number, part = positions[index]
        if not entries[number].change(part, new.block if new is not None else None) and new is not None:
            plan.put(index, [new])
    last = max((positions[index][0] for index in positions if index < end), default=None)
    for entry in entries[last + 1 :] if cut and last is not None else ():
        entry.removed = entry.removed or entry.ends_with_session
    appended: list[list[Item]] = []
    for index, items in sorted(plan.after.items()):
        entry_before = positions[index][0] if index in positions else -1
        later = [positions[n][0] for n in sorted(positions) if n > index]
        if later[:1] == [entry_before]:
            lost.append(MOVED)
        follower = next((n for n in later if n != entry_before and not entries[n].removed), None)
        groups = [list(group) for _, group in groupby(items, is_answer)]
        (appended if follower is None else entries[follower].before).extend(groups)
    return ResumeEdits(positions, last, appended, lost)


def inserted_blocks(entries: Iterable[ResumeEntry], appended: Iterable[Sequence[Item]]) -> list[Block]:
    groups = [*(group for entry in entries for group in entry.before), *appended]
    return [item.block for group in groups for item in group]


def new_blocks(entries: Sequence[ResumeEntry], appended: Iterable[Sequence[Item]]) -> list[Block]:
    changed = [block for entry in entries for block in entry.changes.values() if block is not None]
    return [*inserted_blocks(entries, appended), *changed]


def name_losses(blocks: Iterable[Block], supported_kinds: Container[str]) -> Iterator[str]:
    """Name the calls, images and documents of new blocks that a file cannot hold.

    It holds parts of `supported_kinds`; of images only those whose bytes are recorded.
    """
    for block in blocks:
        value = as_dict(block.value())
        for part in (value, *as_dicts(value.get("content"))):
            kind = as_str(part.get("type"))
            is_supported = kind in supported_kinds and (kind != "image" or "data" in as_dict(part.get("source")))
            if kind in _NAMED_KINDS and not is_supported:
                yield _NAMED_KINDS[kind]


def read_block_text(block: Block) -> str:
    return block_content.read(block).text


def find_call_name(order: ResumeOrder, call_id: Any) -> str:
    """Return the name of the tool that the call with this id uses; "" if it is not sent."""
    calls = (as_dict(sent.item.block.value()) for sent in order.sent if sent.item.block.kind == "tool_use")
    return next((as_str(call.get("name")) for call in calls if call.get("id") == call_id), "")


def is_answer(item: Item) -> bool:
    return item.place.role in ASSISTANT


def first_change(entries: Sequence[ResumeEntry]) -> int:
    """Return the number (from 0) of the first entry that changed or is followed by an insertion.

    -1 if one is inserted before all entries; their count if nothing changed. Appended items do not count.
    """
    changed = [n - bool(entry.before) for n, entry in enumerate(entries) if entry.is_changed or entry.before]
    return min(changed, default=len(entries))


def outdated_reports(
    entries: Sequence[ResumeEntry], answers: Sequence[int], order: ResumeOrder
) -> Iterator[tuple[int, int | None]]:
    """Yield the answers whose usage describes the old context, each with its new input tokens.

    `answers` are the 0-based numbers of remaining answers in `entries`. The tokens are None except for the last one.
    """
    first = first_change(entries)
    for n in answers:
        size = order.input_tokens if n == answers[-1] else None
        if n > first or (n == first and size is not None):
            yield n, size


def link_entries(
    entries: Sequence[_Linked],
    inserted: Mapping[int, Sequence[Body]],
    appended: Sequence[Body],
    *,
    id_key: str,
    parent_key: str,
) -> Iterator[tuple[_Linked | Body, Any]]:
    """Yield remaining entries and new records in the file's order, each with its parent's id.

    `inserted` has the records before an entry, by its 0-based number. An entry without `parent_key` is in no chain.
    """
    parents: dict[str, Any] = {}
    tip: Any = None
    for number, entry in enumerate(entries):
        id_, parent = entry.value.get(id_key), entry.value.get(parent_key)
        parent = parents.get(parent, parent) if isinstance(parent, str) else parent
        for record in inserted.get(number, ()):
            yield record, parent
            parent = record[id_key]
        if parent_key in entry.value and not entry.is_subagent:
            tip = parent if entry.removed else id_
        if entry.removed:
            parents[str(id_)] = parent
        else:
            yield entry, parent
    for record in appended:
        yield record, tip
        tip = record[id_key]


def active_chain(entries: Sequence[LinkedEntry], last: int, *, id_key: str, parent_key: str) -> set[int]:
    """Return the numbers of the entries of the branch from `last` up to the root.

    A parent that is not in the file is taken to be the entry before.
    """
    numbers = {str(entry.value.get(id_key)): n for n, entry in enumerate(entries[: last + 1])}
    chain: set[int] = set()
    number: int | None = last if entries else None
    while number is not None and number not in chain:
        chain.add(number)
        parent = entries[number].value.get(parent_key, "")
        before = number - 1 if number else None
        number = None if parent is None else numbers.get(str(parent), before)
    return chain


def remove_left_branches(entries: Sequence[LinkedEntry], chain: Iterable[int], parent_key: str) -> None:
    """Remove branches after the last remaining entry of `chain`: the client would continue them."""
    last = max((number for number in chain if not entries[number].removed), default=-1)
    for entry in entries[last + 1 :]:
        entry.removed = entry.removed or (parent_key in entry.value and not entry.is_subagent)


class ResumePlan(Struct):
    """New content of the raw path, by 0-based index.

    `replacements` has the items that remain (a missing index is dropped), `after` those inserted after an index (-1:
    before everything).
    """

    replacements: dict[int, Item] = field(default_factory=dict)
    after: dict[int, list[Item]] = field(default_factory=dict)

    def put(self, at: int, items: Iterable[Item]) -> None:
        self.after.setdefault(at, []).extend(items)


def plan_changes(path: Sequence[Item], sent: Iterable[SentBlock]) -> ResumePlan:
    """Plan the changes from `path` to `sent`.

    An item that is out of the path's order, or has another role, is inserted at its new position.
    """
    plan = ResumePlan()
    last = -1
    for item, index in sent:
        if item.block.kind == HEADER:
            last = max(last, index) if index is not None else last
            if index is not None:
                plan.replacements[index] = item
        elif index is not None and index > last and item.place.role == path[index].place.role:
            plan.replacements[index] = item
            last = index
        else:
            plan.put(last, [item])
    return plan


def recorded_items(items: Iterable[tuple[int, Item]]) -> list[tuple[int, Item]]:
    """Filter out headers and placeholders for unrecorded content, which no transcript holds."""
    return [(n, item) for n, item in items if item.block.kind not in (HEADER, NOT_RECORDED)]


def find_blocks(path: Sequence[Item], entries: Sequence[ResumeEntry]) -> dict[int, tuple[int, int]]:
    """Map each index of `path` to its position in the source: (entry, part), both 0-based.

    A result that the tool shortened in its requests is found by the call that it answers.
    """
    positions_by_digest: dict[str, list[tuple[int, int]]] = {}
    results: dict[str, tuple[int, int]] = {}
    for n, entry in enumerate(entries):
        for part, digest in enumerate(entry.digests):
            positions_by_digest.setdefault(digest, []).append((n, part))
        results |= {call: (n, part) for part, call in entry.answers.items()}
    positions: dict[int, tuple[int, int]] = {}
    # From the end, because the blocks of a path are late in a file.
    for index, item in reversed(recorded_items(enumerate(path))):
        places = positions_by_digest.get(item.block.digest)
        if places:
            positions[index] = places.pop()
        elif item.block.kind.endswith(("_result", "_output")) and (place := results.get(_answered_call_id(item.block))):
            positions[index] = place
    return positions


def find_end(path: Sequence[Item], entries: Sequence[ResumeEntry]) -> int:
    """Return the number of `entries` up to the last block of `path`; all if none has it.

    For a source without lines (`ResumeOrder.until`). If the block repeats ("go on"), it is the one before which most
    blocks match those before it in `path`.
    """
    recorded: list[tuple[int, str]] = []
    results: dict[str, str] = {}
    for number, entry in enumerate(entries):
        for part, digest in enumerate(entry.digests):
            call_id = entry.answers.get(part, "")
            recorded.append((number, digest or call_id))
            results |= {call_id: digest or call_id} if call_id else {}
    recorded_keys = {key for _, key in recorded}
    wanted = [
        item.block.digest
        if item.block.digest in recorded_keys
        else results.get(_answered_call_id(item.block), item.block.digest)
        for _, item in recorded_items(enumerate(path))
    ]
    counts = _count_common([*reversed(wanted)], [key for _, key in reversed(recorded)])
    best, end = 0, len(entries)
    for count, (number, _) in zip(reversed(counts), recorded, strict=True):
        if count > best or 0 < count == best < len(wanted):
            best, end = count, number + 1
    return end


def _count_common(wanted: Sequence[str], recorded: Sequence[str]) -> list[int]:
    # In linear time (the Z algorithm): a session may have thousands of equal blocks.
    sequence = [*wanted, None, *recorded]
    counts = [0] * len(sequence)
    start = end = 0
    for position in range(1, len(sequence)):
        count = min(end - position, counts[position - start]) if position < end else 0
        while position + count < len(sequence) and sequence[count] == sequence[position + count]:
            count += 1
        counts[position] = count
        if position + count > end:
            start, end = position, position + count
    return counts[len(wanted) + 1 :]


def _answered_call_id(block: Block) -> str:
    value = block.value()
    names = ("tool_use_id", "call_id", "tool_call_id")
    return next((str(value[name]) for name in names if value.get(name)), "") if isinstance(value, dict) else ""


def read_source(order: ResumeOrder) -> tuple[list[tuple[bytes, RawRecord]], list[str]]:
    """Read the source's records before line `ResumeOrder.until`. Also return what could not be read.

    Each record comes with its original bytes, rewritten if it was repaired or spans several lines.
    """
    stream = RecordStream()
    pieces: list[tuple[bytes, RawRecord]] = []
    lost: list[str] = []
    for piece in [*stream.feed(order.source), *stream.settle()]:
        if order.until and piece.line >= order.until:
            break
        if isinstance(piece, RawRecord):
            raw = order.source[piece.start : piece.end]
            pieces.append((piece.raw if piece.note or b"\n" in raw else raw, piece))
        else:
            lost.append(f"line {piece.line}: {piece.reason}")
    if stream.tail is not None and not order.until:
        lost.append(f"line {stream.tail.line}: {stream.tail.reason}")
    return pieces, lost


def replace_members(raw: bytes, changes: Mapping[str, bytes | None]) -> bytes:
    """Replace the values of some members of the JSON object `raw` (None: remove the member)."""
    text = decode_text(raw)
    opens = text.index("{") + 1
    parts, done, last = [], 0, opens
    for member in spans.members(text, opens - 1):
        if member.key in changes:
            new = changes[member.key]
            if new is not None:
                parts += [text[done : member.start], decode_text(new)]
                done = member.end
            elif last == opens:
                # The first member is removed with the comma after it.
                after_member = spans.skip(text, member.end)
                parts.append(text[done:opens])
                done = last = opens = after_member + (text[after_member : after_member + 1] == ",")
                continue
            else:
                parts.append(text[done:last])
                done = member.end
        last = member.end
    return encode_text("".join([*parts, text[done:]]))


def add_member(raw: bytes, member: str, value: bytes) -> bytes:
    """Append `member` to the non-empty JSON object `raw`; `value` is JSON text."""
    end = raw.rindex(b"}")
    return raw[:end] + b"," + canonical.dumps(member) + b":" + value + raw[end:]


def count_losses(lost: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"{what} ({n} times)" if n > 1 else what for what, n in Counter(lost).items())


def fresh_ids(ids: Iterator[str], used_ids: Iterable[str]) -> Iterator[str]:
    used = set(used_ids)
    return (id_ for id_ in ids if id_ not in used)
