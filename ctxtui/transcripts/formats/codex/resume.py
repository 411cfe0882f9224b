"""A Codex rollout that the client can resume, with an edited context (facts §11, §13).

The client reads the items in the file's order, so what is dropped goes with its line, and what is put in is a line of
its own. The new session's id stands in the first record and ends the file's name. Reports of usage tell of the context
that was: they go where it is another one, and the last answer has what the new one is estimated at, which the client's
meter begins with.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from msgspec.structs import replace

from ctxtui.core.block import Item
from ctxtui.transcripts.formats.codex.records import META
from ctxtui.transcripts.formats.codex.resume_line import RolloutLine, Slot, lines_of, made_item, written
from ctxtui.transcripts.formats.codex.resume_usage import Size, reported
from ctxtui.transcripts.kit.record_pieces import FoundObject
from ctxtui.transcripts.kit.records import RecordStream
from ctxtui.transcripts.kit.resume import (
    KeptBlock,
    ResumedFile,
    ResumeOrder,
    ResumePlan,
    losses,
    matched,
    plan,
    told,
)

_UNHELD = "a changed block stands in the file in another form: as recorded"


def resume(order: ResumeOrder) -> ResumedFile:
    """A rollout, so that a client that resumes it has the context that is asked for. Its name ends in its session's id.

    Raises `CtxtuiError` for a rollout of the very first format.
    """
    session_id = named(next(order.ids), order.now)
    sent = [one for one in order.sent if order.end is None or one.at is None or one.at < order.end]
    size = Size(order.input_tokens, order.answer_tokens) if order.input_tokens is not None else None
    made = changed(order.source, order.path, sent, session_id, order.until, size)
    folder = f"{datetime.fromtimestamp(order.now, UTC):%Y/%m/%d}"
    return replace(made, id=session_id, name=name_of(session_id, order.now), folder=folder)


def changed(
    source: bytes,
    path: Sequence[Item],
    sent: Sequence[KeptBlock],
    session_id: str,
    until: int = 0,
    size: Size | None = None,
) -> ResumedFile:
    """`source`, a rollout, with the context `sent` instead of `path`, as the session `session_id`. `until` is the
    1-based line that the session ends before (0: at its end), `size` what its last answer comes to (None: not known).
    """
    lines, lost = _read(source, until)
    slots = [slot for line in lines for slot in line.slots]
    places = matched(path, [slot.digests for slot in slots])
    found = {at: slots[n] for at, (n, _) in places.items()}
    wanted = plan(path, sent)
    for at, item in told(enumerate(path)):
        stands = wanted.stands.get(at)
        if stands is not None and stands.block.digest == item.block.digest:
            continue
        if at in found:
            found[at].change(places[at][1], stands.block if stands else None)
        else:
            lost.append(_UNHELD)
    _put_in(wanted, found, lines)
    first = next((n for n, line in enumerate(lines) if line.changed), None)
    if first is not None:
        lines = reported(lines, first, size)
    return ResumedFile(b"".join(written(lines, session_id)), losses(lost))


def _read(source: bytes, until: int) -> tuple[list[RolloutLine], list[str]]:
    stream = RecordStream()
    lines: list[RolloutLine] = []
    lost: list[str] = []
    for piece in [*stream.feed(source), *stream.settle()]:
        if until and piece.line >= until:
            break
        if isinstance(piece, FoundObject):
            raw = source[piece.start : piece.end]
            line = lines_of(piece.raw if piece.note or b"\n" in raw else raw, piece)
            if line.type == META and any(one.type == META for one in lines):
                # Forks repeat the record of what they came from; the first one counts.
                line.slots.clear()
            lines.append(line)
        else:
            lost.append(f"line {piece.line}: {piece.reason}")
    if stream.tail is not None and not until:
        lost.append(f"line {stream.tail.line}: {stream.tail.reason}")
    return lines, lost


def _put_in(wanted: ResumePlan, found: dict[int, Slot], lines: list[RolloutLine]) -> None:
    for at, items in wanted.after.items():
        above = found.get(at)
        later = (found[n] for n in sorted(found) if n > at)
        follower = next((slot for slot in later if slot is not above and not slot.removed), None)
        values = made_item(items)
        if follower is not None:
            follower.before.extend(values)
        else:
            lines[-1].behind.extend(values)


def name_of(session_id: str, now: float) -> str:
    """The only name under which the client resumes a rollout made at `now` (Unix seconds): no zone, nothing between
    the seconds and the session's id."""
    return f"rollout-{datetime.fromtimestamp(now, UTC):%Y-%m-%dT%H-%M-%S}-{session_id}.jsonl"


def named(random: str, now: float) -> str:
    """The id of a session that begins at `now` (Unix seconds): a UUID of version 7 with bits of the UUID `random`."""
    low = int(random.replace("-", ""), 16) & ((1 << 76) - 1) & ~(0b11 << 62)
    digits = f"{int(now * 1000) << 80 | 7 << 76 | 2 << 62 | low:032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
