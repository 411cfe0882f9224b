"""Exports: one call's context as a request body, or a whole session in ctxtui's own format; what is lost is named."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ctxtui.analysis.call_choice import Chosen
from ctxtui.core.call import Fidelity
from ctxtui.core.errors import CtxtuiError, NotFound
from ctxtui.core.session import Session

OWN: Final = "ctxtui"
CURL: Final = "curl"
FORMS: Final = (OWN, "anthropic", "openai-chat", "openai-responses", CURL)
"""What can be exported to: a session to the first, one call's context to the others (curl: as a shell command)."""


@dataclass(frozen=True, slots=True)
class Exported:
    """The bytes of an export, and a line for each kind of thing that it could not carry."""

    data: bytes
    lost: tuple[str, ...] = ()


def exported(session: Session, form: str, chosen: Chosen) -> Exported:
    """`session` in ctxtui's own format, or the context of the `chosen` call as a body of another dialect.

    Where the recording holds the request itself and `form` is its dialect, the body is byte for byte what was sent.
    Raises `NotFound` for a form that there is not.
    """
    if form not in FORMS:
        raise NotFound(f"no format {form!r}", way_out=f"formats: {', '.join(FORMS)}")
    if form == OWN:
        from ctxtui.transcripts.formats.ctxtui import write

        return Exported(write(session))
    if form == CURL:
        from ctxtui.runtime.curl import command

        own = own_form(chosen)
        body = exported(session, own, chosen)
        return Exported(command(own, body.data), body.lost)
    from ctxtui.wire.translate.encode import export

    call, tree = chosen.call, session.tree
    recorded = tree.items(call.raw_head)
    items = recorded if call.sent_head == call.raw_head else tree.items(call.sent_head)
    data, lost = export(
        form.replace("-", "_"), items, call.skeleton, model=call.model or session.model, recorded=recorded
    )
    lacking = call.fidelity == Fidelity.TRANSCRIPT and not any(i.place.section in ("system", "tools") for i in items)
    missing = ["not recorded: system prompt and tools"] if lacking else []
    return Exported(data, tuple(dict.fromkeys([*missing, *lost])))


def own_form(chosen: Chosen) -> str:
    """The form that is the call's own dialect; where none is recorded, the one that its model's maker speaks."""
    call = chosen.call
    dialect = call.skeleton.dialect.replace("_", "-") if call.skeleton else ""
    if dialect in FORMS:
        return dialect
    return "anthropic" if call.provider == "anthropic" or "claude" in call.model else "openai-chat"


def write_private(path: Path, data: bytes, *, replace: bool = False) -> None:
    """Write the file `path` with mode 0600. Raises `CtxtuiError` where none can be made, or there is one already and
    it is not to be replaced. What stood there is not written into but left behind: a link to it keeps it."""
    if not replace and os.path.lexists(path):
        raise CtxtuiError("the file exists", place=str(path), way_out="choose another name, or add --force")
    if path.is_dir():
        raise CtxtuiError("this is a folder", place=str(path), way_out="name a file in it")
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(beside, path)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise CtxtuiError(f"cannot be written: {error.strerror}", place=str(path)) from error
