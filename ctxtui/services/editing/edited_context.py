"""Writes a context under edits as a request body, ctxtui's own format, or a tool's session."""

from __future__ import annotations

import re
import secrets
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from ctxtui.analysis.call_choice import ChosenCall
from ctxtui.core import canonical
from ctxtui.core.block import ASSISTANT, HEADER, Block, Item
from ctxtui.core.call import Fidelity
from ctxtui.core.errors import CtxtuiError, NotFound
from ctxtui.core.session import MAIN, Described, Session, TipMoved
from ctxtui.core.tree import ROOT
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.context import Context, skeleton_of
from ctxtui.curation.legality.legality import check
from ctxtui.curation.legality.request_check import Outgoing, RequestRefused, encode_outgoing
from ctxtui.curation.legality.violation import Violation
from ctxtui.services.editing.session_end import answer_end, session_end
from ctxtui.services.recordings.open import read_content
from ctxtui.tokens.models import RequestLimits
from ctxtui.transcripts.formats.ctxtui import sniff, write
from ctxtui.transcripts.kit.file_head import HEAD_BYTES
from ctxtui.transcripts.kit.resume import (
    UNANSWERED,
    ResumedFile,
    ResumeOrder,
    ResumeTarget,
    SentBlock,
    TranslatedOrder,
)
from ctxtui.transcripts.targets import TARGETS, find_target, load_translation
from ctxtui.wire.translate.encode import build_body
from ctxtui.wire.translate.turns import Losses

OWN: Final = "ctxtui"
"""ctxtui's own format."""
BODIES: Final = ("anthropic", "openai-chat", "openai-responses", "ollama-chat", "google")
"""Forms of a request body: the dialects."""
RESUMED: Final = tuple(TARGETS)
"""Forms of a session to resume: the names of the tools that can."""
FORMS: Final = (*BODIES, OWN, *RESUMED)


@dataclass(frozen=True, kw_only=True)
class EditedContext:
    """A context under edits: that of the `chosen` call, or `after` its answer."""

    session: Session
    chosen: ChosenCall
    context: Context
    applied: Applied
    limits: RequestLimits
    after: bool = False
    size: int | None = None
    """Tokens of the context under the edits; None if unknown."""
    count: Callable[[Block], int] | None = None
    """Counts the tokens of a block, on the same scale as `size`."""

    @property
    def form(self) -> str:
        return self.context.dialect.replace("_", "-")

    @property
    def has_system_and_tools(self) -> bool:
        """Whether system prompt or tools are recorded; True for any recorded request."""
        transcript = self.chosen.call.fidelity == Fidelity.TRANSCRIPT
        return not transcript or any(item.place.section in ("system", "tools") for item in self.context.items)


@dataclass(frozen=True, slots=True)
class WrittenContext:
    """A context written as a file or a request body.

    - `lost`: descriptions of what is lost in `data`; `violations`: why the provider would refuse a body.
    - `name`, `id`, `folder`, `beside`: of a session to resume: its file's name, its id, the folder that the tool
      requires for it ("": any), and its further files by relative path.
    """

    data: bytes
    lost: tuple[str, ...] = ()
    violations: tuple[Violation, ...] = ()
    name: str = ""
    id: str = ""
    folder: str = ""
    beside: Mapping[str, bytes] = field(default_factory=dict)


def write_context(edited: EditedContext, form: str, source: Path | None) -> WrittenContext:
    """Write `edited` in `form` ("": the recorded body form).

    `source` is the recording's file; None if there is none. Raises `RequestRefused` if the edits cannot be applied,
    `CtxtuiError` if no session to resume can be written.
    """
    if edited.applied.refused:
        raise RequestRefused(edited.applied.refused, way_out="revert the edit")
    if is_translation(edited, form, source):
        translation = translate_context(edited, form)
        if not translation.data:
            raise CtxtuiError(
                "without an answer, no session to resume can be written",
                place=edited.session.about.id,
                way_out="--to ctxtui keeps the context",
            )
        return translation
    if form in RESUMED:
        if source is None:
            raise NotFound("only a recording in a file can be resumed", place=edited.session.about.id)
        copy = copy_to_resume(edited, source, form)
        return WrittenContext(copy.data, copy.lost, (), copy.name, copy.id, copy.folder, copy.beside)
    if form == OWN:
        return WrittenContext(write_own_format(edited))
    out = build_request_body(edited, form)
    lost = [] if edited.has_system_and_tools else ["not recorded: system prompt and tools"]
    return WrittenContext(out.body, tuple(dict.fromkeys([*lost, *out.lost])), tuple(out.violations))


def resumed_by(session: Session, source: Path | None) -> str:
    """The form that the tool of the recording `source` resumes; "" if there is none."""
    target = find_target(session.about.source) if source is not None and not is_copy(source) else None
    return target.name if target is not None else ""


TRANSLATED: Final = tuple(name for name, target in TARGETS.items() if target.key)
"""Forms that any recording's context can be translated to."""


def is_translation(edited: EditedContext, form: str, source: Path | None) -> bool:
    """Whether `form` is of another tool than the recording's, and can be translated to."""
    return form in TRANSLATED and form != resumed_by(edited.session, source)


def translate_context(edited: EditedContext, form: str) -> WrittenContext:
    """Write the context as a new session of another tool.

    It ends after an answer: a following user message is left out. Without any answer, `data` is empty, and there is a
    violation.
    """
    target, about = load_translation(form), edited.session.about
    end = answer_end(edited.session.tree, edited.context.nodes)
    items = [
        applied_item.item
        for applied_item in edited.applied.items
        if end is None or applied_item.node < 0 or edited.context.position(applied_item.node) < end
    ]
    model = edited.chosen.call.model or edited.session.model
    raw, lost = build_body(target.dialect, items, model=model)
    losses = Losses()
    body = target.reduce(canonical.loads(raw), losses)
    if not any(item.place.role in ASSISTANT and item.place.section == "messages" for item in items):
        return WrittenContext(b"", violations=(Violation("$", "no answer is in it yet"),))
    violations = tuple(check(target.dialect, body))
    translation = target.write(
        TranslatedOrder(body=body, ids=_new_ids(), now=datetime.now(UTC).timestamp(), cwd=about.cwd or "")
    )
    loss_lines = [line for line in lost if not line.startswith("not recorded")]
    loss_lines += losses.lines() + ([UNANSWERED] if end is not None else [])
    return WrittenContext(
        translation.data,
        tuple(dict.fromkeys(loss_lines)),
        violations,
        translation.name,
        translation.id,
        translation.folder,
    )


def unfit_reason(edited: EditedContext, form: str, source: Path | None) -> str:
    """Why the tool of `form` cannot continue the context; "" if no reason is known."""
    if not is_translation(edited, form, source):
        return "a subagent's thread" if edited.chosen.thread != MAIN else ""
    violations = translate_context(edited, form).violations
    return violations[0].message if violations else ""


def is_copy(source: Path) -> bool:
    """Whether the file is a session in ctxtui's own format."""
    try:
        with source.open("rb") as file:
            return sniff(file.read(HEAD_BYTES), source.name) > 0
    except OSError:  # a session of a database, or of several files
        return False


def build_request_body(edited: EditedContext, form: str = "") -> Outgoing:
    """Build the request body in `form` ("": as recorded). Raises `RequestRefused` if the edits fail."""
    call = edited.chosen.call
    model = call.model or edited.session.model
    dialect = (form or edited.form).replace("-", "_")
    limits = edited.limits._replace(prefill=edited.limits.prefill or edited.after)
    skeleton = skeleton_of(edited.session.tree, call, edited.context.head)
    return encode_outgoing(edited.applied, skeleton, dialect=dialect, model=model, limits=limits)


def write_own_format(edited: EditedContext) -> bytes:
    about = edited.session.about
    session = Session()
    head = session.tree.extend(ROOT, edited.applied.sent)
    title = f"{about.title or about.id or 'context'} (curated)"
    session.fold([Described(title=title, source=OWN, cwd=about.cwd, client=about.client), TipMoved(MAIN, head)])
    return write(session)


def copy_to_resume(edited: EditedContext, source: Path, form: str) -> ResumedFile:
    """Copy the recording `source` with the edited context, as a new session of the same tool.

    It ends after an answer. Raises `CtxtuiError` if the recording is another tool's, or for a subagent's context.
    """
    target = TARGETS[form]
    recorded_by = OWN if is_copy(source) else edited.session.about.source
    if recorded_by != target.source:
        raise CtxtuiError(
            f"the recording is {recorded_by or 'of another kind'}, not {target.source}",
            place=str(source),
            way_out="only a tool's own recording can be resumed by it; --to ctxtui keeps the context",
        )
    if edited.chosen.thread != MAIN:
        raise CtxtuiError(
            f"{edited.chosen.thread} is a subagent's thread, which no tool resumes",
            place=str(source),
            way_out="only the main thread can be resumed; --to ctxtui keeps the context",
        )
    tree = edited.session.tree
    nodes, end = session_end(edited.session, edited.chosen)
    if list(edited.context.nodes) != nodes[: len(edited.context)]:
        nodes, end = list(edited.context.nodes), answer_end(tree, edited.context.nodes)
    sent_blocks = [
        SentBlock(item.item, edited.context.position(item.node) if item.node >= 0 else None)
        for item in edited.applied.items
    ]
    size, answer_tokens = _token_counts(edited)
    return target.write(
        ResumeOrder(
            source=read_content(source),
            path=[Item(tree[node].block, tree[node].place) for node in nodes],
            sent=sent_blocks,
            ids=_new_ids(),
            session=edited.session.about.id,
            now=datetime.now(UTC).timestamp(),
            until=_find_end_line(edited),
            end=end,
            input_tokens=size,
            answer_tokens=answer_tokens,
            beside=_read_beside(source, target, edited.session.about.id),
        )
    )


def _token_counts(edited: EditedContext) -> tuple[int | None, int]:
    """Tokens before the last recorded answer under the edits, and from it on. (None, 0) if unknown."""
    if edited.size is None or edited.count is None:
        return None, 0
    items = edited.applied.items
    start = next(
        (n for n in reversed(range(len(items))) if items[n].node >= 0 and items[n].item.place.role in ASSISTANT), -1
    )
    while start > 0 and items[start - 1].item.place.role in ASSISTANT:
        start -= 1
    if start < 0:
        return None, 0
    answer_tokens = sum(edited.count(item.item.block) for item in items[start:] if item.item.block.kind != HEADER)
    return max(1, edited.size - answer_tokens), answer_tokens


_FILE_ID: Final = re.compile(r"[\w.-]{1,200}", re.ASCII)
"""A session's id that may be part of a file's name."""


def _read_beside(source: Path, target: ResumeTarget, session: str) -> dict[str, bytes]:
    is_named = _FILE_ID.fullmatch(session) is not None
    names = [name.format(id=session) for name in target.reads if is_named or "{id}" not in name]
    paths = (path for name in names for path in (source.parent / name).parent.glob(Path(name).name))
    return {str(path.relative_to(source.parent)): read_content(path) for path in paths if path.is_file()}


def _new_ids() -> Iterator[str]:
    while True:
        yield str(uuid.UUID(bytes=secrets.token_bytes(16), version=4))


def _find_end_line(edited: EditedContext) -> int:
    """The line of the recording before which the copy ends; 0 for all of it."""
    chosen = edited.chosen
    calls = edited.session.thread_calls(chosen.thread)
    return calls[chosen.number].line if chosen.number < len(calls) else 0
