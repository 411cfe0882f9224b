"""A Claude Code session file that the client can resume, with an edited context (facts §11).

The client rebuilds the context from the chain of records (`parentUuid`): what is dropped is taken out of the chain,
and what followed it hangs on what stood before it. The new session's id is the file's name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from ctxtui.core import canonical
from ctxtui.core.block import Item
from ctxtui.transcripts.claude_code.resume_chain import Chain
from ctxtui.transcripts.claude_code.resume_record import Source, made_record, read
from ctxtui.transcripts.resume import Kept, Plan, Resumed, fresh_ids, losses, matched, plan, told

_UNHELD = "a changed block stands in the file in another form: as recorded"


def resume(
    source: bytes, path: Sequence[Item], sent: Sequence[Kept], session_id: str, ids: Iterator[str], until: int = 0
) -> Resumed:
    """`source`, a session's main file, so that a client that resumes it has the context `sent` instead of `path`.

    `session_id` is the new session's id (the file must be named after it), `ids` gives uuids for new records. `until`
    is the 1-based line that the session ends before (0: at its end). Subagents' own files are not part of it.
    """
    records, lost = read(source, until)
    found = _places(records, path)
    wanted = plan(path, sent)
    lost += _change(records, path, found, wanted)
    chain = Chain(records)
    new = fresh_ids(ids, chain.known)
    for at, items in sorted(wanted.after.items()):
        _put_in(chain, found, at, items, new)
    return Resumed(b"".join(chain.lines(session_id)), losses(lost))


def _places(records: list[Source], path: Sequence[Item]) -> dict[int, tuple[int, int]]:
    """Where each place of `path` stands: by its block, else by the call that a result answers (a client may have
    cleared or shortened it in its requests)."""
    found = matched(path, [one.digests for one in records])
    results = {call: (n, part) for n, one in enumerate(records) for part, call in one.answers.items()}
    for at, item in told(enumerate(path)):
        if at not in found and item.block.kind == "tool_result":
            place = results.get(str(item.block.value().get("tool_use_id")))
            if place is not None:
                found[at] = place
    return found


def _change(
    records: list[Source], path: Sequence[Item], found: dict[int, tuple[int, int]], wanted: Plan
) -> Iterator[str]:
    """Drop and replace in `records` what `wanted` does; gives what could not be done."""
    for at, item in told(enumerate(path)):
        stands = wanted.stands.get(at)
        if stands is not None and stands.block.digest == item.block.digest:
            continue
        if at not in found:
            yield _UNHELD
            continue
        number, part = found[at]
        if not records[number].change(part, stands.block.value() if stands else None):
            # What the client writes around a message is no message: another stands in its place.
            records[number].removed = True
            if stands is not None:
                wanted.put(at, [stands])


def _put_in(
    chain: Chain, found: dict[int, tuple[int, int]], at: int, items: Sequence[Item], new: Iterator[str]
) -> None:
    """New records for `items`, just before the next record of the path that stays."""
    later = (found[n][0] for n in sorted(found) if n > at)
    above = found[at][0] if at in found else -1
    follower = next((n for n in later if n != above and not chain.records[n].removed), None)
    before = [found[n][0] for n in sorted(found) if n <= at and not chain.records[found[n][0]].removed]
    for role, group in groupby(items, lambda item: "assistant" if item.place.role == "assistant" else "user"):
        like = chain.records[follower if follower is not None else before[-1] if before else 0].value
        parts: list[Any] = [canonical.loads(item.block.body) for item in group]
        chain.put(made_record(like, role, parts, next(new)), follower, before[-1] if before else None)
