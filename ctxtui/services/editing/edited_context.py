"""Write a context under edits as a request body, in ctxtui's own format, or as a file that a tool resumes."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from ctxtui.analysis.call_choice import ChosenCall
from ctxtui.core import canonical
from ctxtui.core.block import HEADER, Block, Item
from ctxtui.core.call import Fidelity
from ctxtui.core.errors import CtxtuiError, NotFound
from ctxtui.core.session import MAIN, Described, Session, TipMoved
from ctxtui.core.tree import ROOT
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.context import Context, skeleton_of
from ctxtui.curation.legality.legality import check
from ctxtui.curation.legality.request_check import Outgoing, RequestRefused, encode_outgoing
from ctxtui.curation.legality.violation import Violation
from ctxtui.services.editing.session_end import answer_end, is_answer, session_end
from ctxtui.services.recordings.open import read_content
from ctxtui.tokens.models import RequestLimits
from ctxtui.transcripts.formats.ctxtui import sniff, write
from ctxtui.transcripts.kit.file_head import HEAD_BYTES
from ctxtui.transcripts.kit.resume import UNANSWERED, ResumedFile, ResumeOrder, SentBlock, TranslatedOrder
from ctxtui.transcripts.targets import TARGETS, find_target, load_translation
from ctxtui.wire.translate.encode import build_body
from ctxtui.wire.translate.turns import Losses

OWN: Final = "ctxtui"
BODIES: Final = ("anthropic", "openai-chat", "openai-responses", "ollama-chat", "google")
RESUMED: Final = tuple(TARGETS)
FORMS: Final = (*BODIES, OWN, *RESUMED)
"""Output forms of a curated context: request bodies, ctxtui's own format, files that tools resume."""


@dataclass(frozen=True, kw_only=True)
class Ready:
    """A context under edits. `chosen` is its call; `after`: it is the context after that call's answer; `limits` are
    the limits of the model's requests.
    """

    session: Session
    chosen: ChosenCall
    context: Context
    applied: Applied
    limits: RequestLimits
    after: bool = False
    size: int | None = None
    """Tokens of the next request's context under the edits; None if unknown."""
    count: Callable[[Block], int] | None = None
    """Counts the tokens of a block, on the same scale as `size`."""

    @property
    def form(self) -> str:
        """The request body form in which the context was recorded."""
        return self.context.dialect.replace("_", "-")

    @property
    def whole(self) -> bool:
        """Whether system prompt and tools are recorded."""
        transcript = self.chosen.call.fidelity == Fidelity.TRANSCRIPT
        return not transcript or any(item.place.section in ("system", "tools") for item in self.context.items)

    @property
    def resumed(self) -> str:
        """The form that the recording tool resumes; "" if none."""
        target = find_target(self.session.about.source)
        return target.name if target is not None else ""


@dataclass(frozen=True, slots=True)
class Written:
    """The written bytes, with what is `lost` in them and what the provider would refuse. `name`: required file name
    ("": any). `folder`: folder below the tool's ``sessions`` where it looks for the file ("": any). `id`: id of the
    session ("": none).
    """

    data: bytes
    lost: tuple[str, ...] = ()
    violations: tuple[Violation, ...] = ()
    name: str = ""
    id: str = ""
    folder: str = ""


def write_context(ready: Ready, form: str, source: Path | None) -> Written:
    """Write `ready` in `form` ("": the recorded body form); `source` is the recording. Raises `Refused` if the edits
    cannot be applied, `CtxtuiError` if the recording is another tool's or no file.
    """
    if is_translation(ready, form, source):
        return translate_context(ready, form)
    if form in RESUMED:
        if source is None:
            raise NotFound("only a recording in a file can be resumed", place=ready.session.about.id)
        made = copy_to_resume(ready, source, form)
        return Written(made.data, made.lost, (), made.name, made.id, made.folder)
    if form == OWN:
        return Written(own_format(ready))
    out = build_request_body(ready, form)
    lost = [] if ready.whole else ["not recorded: system prompt and tools"]
    return Written(out.body, tuple(dict.fromkeys([*lost, *out.lost])), tuple(out.violations))


def resumed_by(ready: Ready, source: Path | None) -> str:
    """The form resumed by the tool that made the recording `source`; "" if none."""
    return ready.resumed if source is not None and not is_copy(source) else ""


TRANSLATED: Final = tuple(name for name, target in TARGETS.items() if target.key)
"""Forms that any recording's context can be translated to."""


def is_translation(ready: Ready, form: str, source: Path | None) -> bool:
    """Whether `form` is a translatable form of another tool than that of the recording `source`."""
    return form in TRANSLATED and form != resumed_by(ready, source)


def translate_context(ready: Ready, form: str) -> Written:
    """Write the context as a new session of another tool, in that tool's dialect. It ends after an answer: a following
    user message is left out. Raises `Refused` if the edits cannot be applied.
    """
    if ready.applied.refused:
        raise RequestRefused(ready.applied.refused, way_out="revert the edit")
    target, about = load_translation(form), ready.session.about
    end = answer_end(ready.session.tree, ready.context.nodes)
    items = [
        one.item for one in ready.applied.items if end is None or one.node < 0 or ready.context.position(one.node) < end
    ]
    model = ready.chosen.call.model or ready.session.model
    raw, lost = build_body(target.dialect, items, model=model)
    losses = Losses()
    body = target.reduce(canonical.loads(raw), losses)
    if not any(is_answer(item.place.role) and item.place.section == "messages" for item in items):
        return Written(b"", violations=(Violation("$", "no answer is in it yet"),))
    violations = tuple(check(target.dialect, body))
    made = target.write(TranslatedOrder(body=body, ids=_ids(), now=datetime.now(UTC).timestamp(), cwd=about.cwd or ""))
    told = [one for one in lost if not one.startswith("not recorded")]
    told += losses.lines() + ([UNANSWERED] if end is not None else [])
    return Written(made.data, tuple(dict.fromkeys(told)), violations, made.name, made.id, made.folder)


def unfit_reason(ready: Ready, form: str, source: Path | None) -> str:
    """The reason why the context cannot continue in the tool of `form`; "" if it can."""
    if not is_translation(ready, form, source):
        return "a subagent's thread" if ready.chosen.thread != MAIN else ""
    found = translate_context(ready, form).violations
    return found[0].message if found else ""


def is_copy(source: Path) -> bool:
    """Whether the file is a session in ctxtui's own format, from whichever tool."""
    try:
        with source.open("rb") as file:
            return sniff(file.read(HEAD_BYTES), source.name) > 0
    except OSError:  # a session of a database, or of several files
        return False


def build_request_body(ready: Ready, form: str = "") -> Outgoing:
    """Build the request body in `form` ("": as recorded). Raises `Refused` if the edits cannot be applied."""
    call = ready.chosen.call
    model = call.model or ready.session.model
    dialect = (form or ready.form).replace("-", "_")
    takes = ready.limits._replace(prefill=ready.limits.prefill or ready.after)
    spelled = skeleton_of(ready.session.tree, call, ready.context.head)
    return encode_outgoing(ready.applied, spelled, dialect=dialect, model=model, limits=takes)


def own_format(ready: Ready) -> bytes:
    """Write the context as a session in ctxtui's own format."""
    about = ready.session.about
    session = Session()
    head = session.tree.extend(ROOT, ready.applied.sent)
    title = f"{about.title or about.id or 'context'} (curated)"
    session.fold([Described(title=title, source=OWN, cwd=about.cwd, client=about.client), TipMoved(MAIN, head)])
    return write(session)


def copy_to_resume(ready: Ready, source: Path, form: str) -> ResumedFile:
    """Copy the recording `source` with the curated context, as a new session of the same tool. It ends after an answer:
    a following user message is left out.

    Raises `CtxtuiError` if the recording is another tool's, or for a subagent's context.
    """
    target = TARGETS[form]
    made_by = OWN if is_copy(source) else ready.session.about.source
    if made_by != target.source:
        raise CtxtuiError(
            f"the recording is {made_by or 'of another kind'}, not {target.source}",
            place=str(source),
            way_out="only a tool's own recording can be resumed by it; --to ctxtui keeps the context",
        )
    if ready.chosen.thread != MAIN:
        raise CtxtuiError(
            f"{ready.chosen.thread} is a subagent's thread, which no tool resumes",
            place=str(source),
            way_out="only the main thread can be resumed; --to ctxtui keeps the context",
        )
    tree = ready.session.tree
    nodes, end = session_end(ready.session, ready.chosen)
    if list(ready.context.nodes) != nodes[: len(ready.context)]:
        nodes, end = list(ready.context.nodes), answer_end(tree, ready.context.nodes)
    kept = [
        SentBlock(one.item, ready.context.position(one.node) if one.node >= 0 else None) for one in ready.applied.items
    ]
    size, behind = _size(ready)
    return target.write(
        ResumeOrder(
            source=read_content(source),
            path=[Item(tree[node].block, tree[node].place) for node in nodes],
            sent=kept,
            ids=_ids(),
            session=ready.session.about.id,
            now=datetime.now(UTC).timestamp(),
            until=_until(ready),
            end=end,
            input_tokens=size,
            answer_tokens=behind,
        )
    )


def _size(ready: Ready) -> tuple[int | None, int]:
    """Tokens of the last recorded answer's request under the edits (None: unknown), and of that answer and what
    follows.
    """
    if ready.size is None or ready.count is None:
        return None, 0
    items = ready.applied.items
    start = next(
        (n for n in reversed(range(len(items))) if items[n].node >= 0 and is_answer(items[n].item.place.role)), -1
    )
    while start > 0 and is_answer(items[start - 1].item.place.role):
        start -= 1
    if start < 0:
        return None, 0
    behind = sum(ready.count(one.item.block) for one in items[start:] if one.item.block.kind != HEADER)
    return max(1, ready.size - behind), behind


def _ids() -> Iterator[str]:
    while True:
        yield str(uuid.UUID(bytes=secrets.token_bytes(16), version=4))


def _until(ready: Ready) -> int:
    """The line of the recording before which the copy ends; 0 for all of it."""
    chosen = ready.chosen
    calls = ready.session.thread_calls(chosen.thread)
    return calls[chosen.number].line if chosen.number < len(calls) else 0
