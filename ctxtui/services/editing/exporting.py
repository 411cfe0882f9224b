"""Exports: a call's context as a request body or shell command, a whole session in ctxtui's own format.

What the target's dialect has no place for is named. A command takes the key from the environment, never from here.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import Struct

from ctxtui.analysis.call_choice import ChosenCall
from ctxtui.core.call import Fidelity, provider_id
from ctxtui.core.canonical import Json
from ctxtui.core.edit import Edit
from ctxtui.core.edit_json import dumps
from ctxtui.core.errors import CtxtuiError, NotFound
from ctxtui.core.session import Session
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.context import Context
from ctxtui.services.config.clients import client_of
from ctxtui.services.config.projects import LONGEST_NAME, folder_name
from ctxtui.services.editing.edited_context import OWN, RESUMED, Ready, Written, resumed_by, translates, written
from ctxtui.services.editing.session_end import session_end
from ctxtui.services.recordings.open import load
from ctxtui.services.recordings.recording import Loaded
from ctxtui.tokens.models import RequestLimits
from ctxtui.transcripts.formats.ctxtui import write
from ctxtui.transcripts.targets import TARGETS
from ctxtui.wire.translate.encode import export_request

CURL: Final = "curl"
FORMS: Final = (OWN, "anthropic", "openai-chat", "openai-responses", CURL, *RESUMED)
"""What can be exported to: a session to the first, one call's context to dialects (curl: as a shell command), a session
that its tool resumes to the others."""


class Exported(Struct, frozen=True):
    """The bytes of an export, and a line for each kind of thing that it could not carry."""

    data: bytes
    lost: tuple[str, ...] = ()


def exported(session: Session, form: str, chosen: ChosenCall) -> Exported:
    """`session` in ctxtui's own format, or the context of the `chosen` call as a body of another dialect.

    Where the recording holds the request itself and `form` is its dialect, the body is byte for byte what was sent.
    Raises `NotFound` for a form that there is not.
    """
    if form not in FORMS or form in RESUMED:
        raise NotFound(f"no format {form!r}", way_out=f"formats: {', '.join(FORMS)}")
    if form == OWN:
        return Exported(write(session))
    if form == CURL:
        own = own_form(chosen)
        body = exported(session, own, chosen)
        return Exported(command(own, body.data, chosen.call.extra.get("betas")), body.lost)

    call = chosen.call
    items = session.tree.items(call.sent_head)
    data, lost = export_request(form.replace("-", "_"), items, call.skeleton, model=call.model or session.model)
    lacking = call.fidelity == Fidelity.TRANSCRIPT and not any(i.place.section in ("system", "tools") for i in items)
    missing = ["not recorded: system prompt and tools"] if lacking else []
    return Exported(data, tuple(dict.fromkeys([*missing, *lost])))


def own_form(chosen: ChosenCall) -> str:
    """The form that is the call's own dialect; where none is recorded, the one that its model's maker speaks."""
    call = chosen.call
    dialect = call.skeleton.dialect.replace("_", "-") if call.skeleton else ""
    if dialect in FORMS:
        return dialect
    return "anthropic" if call.provider == "anthropic" or "claude" in call.model else "openai-chat"


_SESSIONS: Final = "sessions"


_CHECKPOINTS: Final = "file-history"
"""Where Claude Code keeps the files that its rewind restores, beside ``projects``: a folder for each session."""


def placed(path: Path, made: Written, source: Path | None) -> Path:
    """Where `made` goes that is to be written to `path`: in a folder under the name that it must have, in the home of
    the tool or its folder of sessions where the tool looks for it; what the tool keeps beside the recording `source` to
    rewind it is copied for the new session. Raises `CtxtuiError` where a folder cannot be made."""
    if made.name and path.is_dir():
        sessions = path / _SESSIONS if (path / _SESSIONS).is_dir() else path
        if made.folder and sessions.name == _SESSIONS:
            sessions /= made.folder
            _made_folder(sessions)
        path = sessions / made.name
    if made.id and source is not None and path.absolute().parent.parent.name == "projects":
        own, new = (one.absolute().parent.parent.with_name(_CHECKPOINTS) / one.stem for one in (source, path))
        if own.is_dir() and not new.exists():
            try:
                shutil.copytree(own, new)
            except OSError as error:
                raise CtxtuiError(f"cannot be made: {error.strerror}", place=str(new)) from error
    return path


def _made_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise CtxtuiError(f"cannot be made: {error.strerror}", place=str(folder)) from error


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


class _Endpoint(NamedTuple):
    url: str
    headers: tuple[str, ...]


VERSION: Final = "2026-10-21"
"""The version of Anthropic's API that requests are written for (facts §1)."""

_OPENAI: Final = ("Authorization: Bearer $OPENAI_API_KEY",)
_ENDPOINTS: Final = {
    "anthropic": _Endpoint(
        "https://api.anthropic.com/v1/messages",
        ("x-api-key: $ANTHROPIC_API_KEY", f"anthropic-version: {VERSION}"),
    ),
    "openai-chat": _Endpoint("https://api.openai.com/v1/chat/completions", _OPENAI),
    "openai-responses": _Endpoint("https://api.openai.com/v1/responses", _OPENAI),
}
_MARK: Final = "CTXTUI_BODY"
_BETA: Final = re.compile(r"[\w.:-]{1,80}", re.ASCII)


def command(form: str, body: bytes, betas: Json = None) -> bytes:
    """The curl command that posts `body`, a request in the dialect `form`; `betas` are those that a recording names.

    The body stands in a here-document, byte for byte; the shell expands nothing in it.
    """
    endpoint = _ENDPOINTS[form]
    lines = [f"curl -sS {endpoint.url} \\"]
    names = (
        [name for name in betas if isinstance(name, str) and _BETA.fullmatch(name)] if isinstance(betas, list) else []
    )
    headers = (*endpoint.headers, *((f"anthropic-beta: {','.join(names)}",) if names and form == "anthropic" else ()))
    lines += [f'  -H "{header}" \\' for header in ("content-type: application/json", *headers)]
    mark = _MARK
    while mark.encode() in body:
        mark += "_"
    lines.append(f"  --data-binary @- <<'{mark}'")
    return "\n".join(lines).encode() + b"\n" + body.rstrip(b"\n") + f"\n{mark}\n".encode()


EDITS: Final = "edits"
"""The applied edits themselves, for ``ctxtui curate --edits``."""
_KEYS: Final = {"a": "anthropic", "o": "openai-chat", "r": "openai-responses", "l": "ollama-chat"}


def offers(ready: Ready, source: Path | None, edits: Sequence[Edit]) -> dict[str, str]:
    """What the context can be written as, by key: its own dialect among the bodies, and a file that the tool which
    recorded it resumes."""
    found = {key: form for key, form in _KEYS.items() if form != "ollama-chat" or form == ready.form}
    found["c"] = OWN
    if resumed := resumed_by(ready, source):
        found["s"] = resumed
    if edits:
        found["e"] = EDITS
    return found if ready.form == "ollama-chat" else {**found, "u": CURL}


def place_for(ready: Ready, form: str, source: Path | None, env: Mapping[str, str] | None = None) -> str:
    """A file to begin with; the folder of the recording where the tool resumes only files beside it, and of another
    tool than its own the one where that tool looks in the environment `env` ("/" at its end: it is made)."""
    if env is not None and translates(ready, form, source):
        return _home(form, ready.session.about.cwd or "", env)
    if form in RESUMED and TARGETS[form].beside and source is not None:
        return str(source.parent)
    stem = source.name.partition(".")[0] if source is not None else ready.session.about.id or "context"
    ends = {OWN: "curated.ctxtui.jsonl", EDITS: "edits.jsonl", CURL: "curated.sh"}
    return f"{stem}.{ends.get(form, f'curated.{form}.json')}"


def _home(form: str, cwd: str, env: Mapping[str, str]) -> str:
    client = client_of(TARGETS[form].source)
    assert client is not None
    folder = next(iter(client.places(env))).folder
    name = folder_name(Path(cwd or env.get("HOME", "/")))
    # The client cuts a longer name and adds a hash.
    return f"{folder / name if client.by_project and len(name) <= LONGEST_NAME else folder}/"


class Saved(Struct, frozen=True):
    """What was written: `size` bytes at `path`, the `command` that goes on with it ("": none), what it went `without`,
    and the name that the file must have where it was given another ("": none)."""

    path: Path
    size: int
    command: str = ""
    without: tuple[str, ...] = ()
    name: str = ""

    @property
    def told(self) -> str:
        """What to tell the user."""
        told = f"{self.size:,} bytes written to {self.path}"
        if self.name:
            return f"{told}; its name must be {self.name} for the tool to find it"
        # First: it is what the user types next, and lines are cut at their end.
        told = "; ".join(filter(None, (self.command, told)))
        return told + (f"; without {', '.join(self.without)}" if self.without else "")


def save(ready: Ready, form: str, source: Path | None, edits: Sequence[Edit], place: str) -> Saved:
    """Write it to the new file `place` (a folder, for a file that has its own name).

    Raises `CtxtuiError`: the edits are refused, the provider would refuse the request, the file cannot be made."""
    made = data_of(ready, form, source, edits)
    if place.endswith("/"):
        _made_folder(Path(place).expanduser())
    path = placed(Path(place).expanduser(), made, source)
    write_private(path, made.data)
    astray = bool(made.name) and path.name != made.name and TARGETS[form].beside
    command = "" if astray else command_for(form, made, path)
    return Saved(path, len(made.data), command, without(made), made.name if astray else "")


def without(made: Written) -> tuple[str, ...]:
    """What is not carried, in words."""
    return tuple(one.removeprefix("not recorded: ") for one in made.lost)


def looked_for(form: str, source: Path | None, env: Mapping[str, str]) -> bool:
    """Whether the tool of `form` looks for sessions where the recording `source` stands."""
    client = client_of(TARGETS[form].source) if form in TARGETS else None
    if client is None or source is None:
        return False
    return any(source.resolve().is_relative_to(place.root.resolve()) for place in client.places(env))


def command_for(form: str, made: Written, path: Path) -> str:
    """What a user types so that its tool resumes what was written at `path`; "" for what is no session of a tool."""
    return TARGETS[form].command.format(id=made.id, file=shlex.quote(str(path))) if form in TARGETS else ""


def place_of(made: Written, output: Path | None) -> Path:
    """Where a session that is to be resumed will be: at `output`, or under the name that it must have."""
    return output if output is not None and output != Path("-") else Path(made.name or "FILE")


def resume_of(form: str, made: Written, output: Path | None) -> dict[str, str] | None:
    """What is to be known of a session that its tool resumes: its id, its file's name, what a user types; None for any
    other form."""
    if form not in TARGETS or not made.data:
        return None
    return {"id": made.id, "file": made.name, "command": command_for(form, made, place_of(made, output))}


def resumed(loaded: Loaded, chosen: ChosenCall, form: str) -> Written:
    """As `resumable`; where the tool's own transcript is joined with what ctxtui recorded and has the call, that is
    what is copied."""
    if loaded.transcript is not None:
        own, thread = load(loaded.transcript, own=""), chosen.thread
        numbered = enumerate(own.session.thread_calls(thread), 1)
        same = next((ChosenCall(thread, n, one) for n, one in numbered if provider_id(one) == chosen.call.id), None)
        if same is not None and TARGETS[form].source == own.source:
            loaded, chosen = own, same
    return resumable(loaded.session, chosen, form, loaded.path)


def resumable(session: Session, chosen: ChosenCall, form: str, source: Path | None) -> Written:
    """`session` up to the answer of the `chosen` call as a new session that its tool resumes. Raises as `written`."""
    context = Context.of_call(session.tree, chosen.call, session_end(session, chosen).head)
    applied = Applied(context, length=len(context))
    ready = Ready(
        session=session, chosen=chosen, context=context, applied=applied, takes=RequestLimits(prefill=False), after=True
    )
    return written(ready, form, source)


def data_of(ready: Ready, form: str, source: Path | None, edits: Sequence[Edit]) -> Written:
    """What is written. Raises as `save` does."""
    if form == EDITS:
        return Written(dumps(edits))
    body = ready.form if form == CURL else form
    made = written(ready, body, source)
    if made.violations:
        first = made.violations[0]
        raise CtxtuiError(f"the provider would refuse it: {first.message}", place=first.path, way_out="ctxtui repair")
    return made if form != CURL else replace(made, data=command(body, made.data, ready.chosen.call.extra.get("betas")))
