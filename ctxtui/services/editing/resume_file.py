"""A curated context as a file that another tool resumes: a new session beside the recording, which stays as it is."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ctxtui.core.block import Item
from ctxtui.core.errors import CtxtuiError
from ctxtui.services.editing.edited_context import Ready
from ctxtui.transcripts.kit.resume import KeptBlock, ResumedFile


@dataclass(frozen=True, slots=True)
class ToResume:
    """A file that a tool resumes: its `name` there, its bytes, and what was not carried over."""

    name: str
    data: bytes
    lost: tuple[str, ...]


def to_resume(ready: Ready, source: Path, form: str) -> ToResume:
    """The recording `source` with the curated context in the place of its own, as a new session of the same tool.

    Raises `CtxtuiError` where the recording is another tool's.
    """
    wanted = form.replace("-", " ")
    if ready.session.about.source != wanted:
        raise CtxtuiError(
            f"the recording is {ready.session.about.source or 'of another kind'}, not {wanted}",
            place=str(source),
            way_out="only a tool's own recording can be resumed by it; --to ctxtui keeps the context",
        )
    path = list(ready.context.items)
    kept = [
        KeptBlock(one.item, ready.context.position(one.node) if one.node >= 0 else None) for one in ready.applied.items
    ]
    session_id = str(uuid.UUID(bytes=secrets.token_bytes(16), version=4))
    made = _resumed(form, source.read_bytes(), (path, kept), session_id, _until(ready))
    name = f"{session_id}.jsonl"
    if form == "codex":
        from ctxtui.transcripts.formats.codex.resume import name_of

        name = name_of(session_id, datetime.now(UTC).isoformat(timespec="seconds"))
    return ToResume(name, made.data, tuple(made.lost))


def _resumed(
    form: str, data: bytes, both: tuple[list[Item], list[KeptBlock]], session_id: str, until: int
) -> ResumedFile:
    path, kept = both
    if form == "codex":
        from ctxtui.transcripts.formats.codex import resume as codex

        return codex.resume(data, path, kept, session_id, until)
    from ctxtui.transcripts.formats.claude_code import resume as claude

    return claude.resume(data, path, kept, session_id, _ids(), until)


def _ids() -> Iterator[str]:
    while True:
        yield str(uuid.uuid4())


def _until(ready: Ready) -> int:
    """The line of the recording before which the copy ends; 0 for all of it."""
    chosen = ready.chosen
    if not ready.after:
        return chosen.call.line
    calls = ready.session.thread_calls(chosen.thread)
    return calls[chosen.number].line if chosen.number < len(calls) else 0
