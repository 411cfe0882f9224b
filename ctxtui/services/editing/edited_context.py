"""A context under edits, ready to leave: as a request body, in ctxtui's own format, as a file that a tool resumes."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from ctxtui.analysis.call_choice import ChosenCall
from ctxtui.core.block import Item
from ctxtui.core.call import Fidelity
from ctxtui.core.errors import CtxtuiError, NotFound
from ctxtui.core.session import MAIN, Described, Session, TipMoved
from ctxtui.core.tree import ROOT
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.context import Context
from ctxtui.curation.legality.request_check import Outgoing, outgoing
from ctxtui.curation.legality.violation import Violation
from ctxtui.transcripts.kit.resume import KeptBlock, ResumedFile

OWN: Final = "ctxtui"
BODIES: Final = ("anthropic", "openai-chat", "openai-responses", "ollama-chat")
RESUMED: Final = ("claude-code", "codex")
FORMS: Final = (*BODIES, OWN, *RESUMED)
"""What a curated context can be written as: a request body, ctxtui's own format, a file that a tool resumes."""


@dataclass(frozen=True, kw_only=True)
class Ready:
    """One context under edits: `chosen` is the call it belongs to, `after` says that it is the context behind that
    call's answer, `prefill` that its model goes on with an answer that is begun."""

    session: Session
    chosen: ChosenCall
    context: Context
    applied: Applied
    prefill: bool
    after: bool = False

    @property
    def form(self) -> str:
        """The form of a request body that the context was recorded in."""
        return self.context.dialect.replace("_", "-")

    @property
    def whole(self) -> bool:
        """Whether system prompt and tools are on record."""
        transcript = self.chosen.call.fidelity == Fidelity.TRANSCRIPT
        return not transcript or any(item.place.section in ("system", "tools") for item in self.context.items)

    @property
    def resumed(self) -> str:
        """The form that the tool which recorded it resumes; "" where there is none."""
        own = self.session.about.source.replace(" ", "-")
        return own if own in RESUMED else ""


@dataclass(frozen=True, slots=True)
class Written:
    """What is written: its bytes, what they do not carry, what the provider would refuse about them, and the `name`
    that the file must have ("": any)."""

    data: bytes
    lost: tuple[str, ...] = ()
    violations: tuple[Violation, ...] = ()
    name: str = ""


def written(ready: Ready, form: str, source: Path | None) -> Written:
    """`ready` in `form` ("": the body as it was recorded); `source` is the recording. Raises `Refused` where the edits
    cannot be applied, `CtxtuiError` where the recording is another tool's or no file."""
    if form in RESUMED:
        if source is None:
            raise NotFound("only a recording in a file can be resumed", place=ready.session.about.id)
        made = to_resume(ready, source, form)
        return Written(made.data, tuple(made.lost), (), made.name)
    if form == OWN:
        return Written(own(ready))
    out = body(ready, form)
    lost = [] if ready.whole else ["not recorded: system prompt and tools"]
    return Written(out.body, tuple(dict.fromkeys([*lost, *out.lost])), tuple(out.violations))


def body(ready: Ready, form: str = "") -> Outgoing:
    """The request that leaves, in `form` ("": as it was recorded). Raises `Refused` where the edits cannot be
    applied."""
    call = ready.chosen.call
    model = call.model or ready.session.model
    dialect = (form or ready.form).replace("-", "_")
    return outgoing(ready.applied, call.skeleton, dialect=dialect, model=model, prefill=ready.prefill or ready.after)


def own(ready: Ready) -> bytes:
    """The context as a session of ctxtui's own format."""
    from ctxtui.transcripts.formats.ctxtui import write

    about = ready.session.about
    session = Session()
    head = session.tree.extend(ROOT, ready.applied.sent)
    title = f"{about.title or about.id or 'context'} (curated)"
    session.fold([Described(title=title, source=OWN, cwd=about.cwd, client=about.client), TipMoved(MAIN, head)])
    return write(session)


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
