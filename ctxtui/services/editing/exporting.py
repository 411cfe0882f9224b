"""Write a context: request body, shell command, ctxtui's format, session to resume.

In all functions `source` is the recording's file (None: a stream, or a session that is only in the database).
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
from urllib.parse import quote

from msgspec import Struct

from ctxtui.analysis.call_choice import ChosenCall
from ctxtui.core.call import Fidelity
from ctxtui.core.canonical import Json
from ctxtui.core.edit import Edit
from ctxtui.core.edit_json import dumps
from ctxtui.core.errors import CtxtuiError, NotFound
from ctxtui.core.session import Session
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.context import Context
from ctxtui.services.config.clients import find_client
from ctxtui.services.config.file_writing import replace_file
from ctxtui.services.config.projects import MAX_FOLDER_NAME, folder_name
from ctxtui.services.editing.edited_context import (
    BODIES,
    OWN,
    RESUMED,
    EditedContext,
    WrittenContext,
    is_translation,
    resumed_by,
    write_context,
)
from ctxtui.services.editing.session_end import session_end
from ctxtui.services.recordings.open import load
from ctxtui.services.recordings.recording import Loaded
from ctxtui.tokens.models import RequestLimits
from ctxtui.transcripts.formats.ctxtui import write
from ctxtui.transcripts.joined import pair_calls
from ctxtui.transcripts.targets import TARGETS
from ctxtui.wire.translate.encode import export_request

CURL: Final = "curl"
EXPORT_FORMS: Final = (OWN, *BODIES, CURL, *RESUMED)


def export_session(session: Session, form: str, chosen: ChosenCall) -> WrittenContext:
    """Export `session` in ctxtui's own format, or the `chosen` call's context.

    The context becomes a body or a curl command. If the request is recorded in the dialect `form`, the body is byte for
    byte what was sent. Raises `NotFound` for any other form, also for those in `RESUMED`.
    """
    if form not in (OWN, *BODIES, CURL):
        raise NotFound(f"no format {form!r}", way_out=f"formats: {', '.join((OWN, *BODIES, CURL))}")
    if form == OWN:
        return WrittenContext(write(session))
    call = chosen.call
    if form == CURL:
        own_dialect = own_form(chosen)
        body = export_session(session, own_dialect, chosen)
        return WrittenContext(curl_command(own_dialect, body.data, call.extra.get("betas"), call.model), body.lost)
    items = session.tree.items(call.sent_head)
    data, lost = export_request(form.replace("-", "_"), items, call.skeleton, model=call.model or session.model)
    lacking = call.fidelity == Fidelity.TRANSCRIPT and not any(i.place.section in ("system", "tools") for i in items)
    missing = ["not recorded: system prompt and tools"] if lacking else []
    return WrittenContext(data, tuple(dict.fromkeys([*missing, *lost])))


def own_form(chosen: ChosenCall) -> str:
    """The form of the call's dialect.

    If that is not recorded, guessed from its provider and model.
    """
    call = chosen.call
    dialect = call.skeleton.dialect.replace("_", "-") if call.skeleton else ""
    if dialect in BODIES:
        return dialect
    if call.provider == "anthropic" or "claude" in call.model:
        return "anthropic"
    if call.provider == "google" or "gemini" in call.model:
        return "google"
    return "ollama-chat" if call.provider == "ollama" else "openai-chat"


_SESSIONS: Final = "sessions"
_CHECKPOINTS: Final = "file-history"
"""Claude Code's folder of files for its rewind, a sibling of ``projects``: a folder for each session."""


def prepare_path(path: Path, written: WrittenContext, *, create: bool = True) -> Path:
    """The path for writing `written` to `path`; if that is a folder, the tool's place in it.

    With `create`, its folder is created. Raises `CtxtuiError` if that is impossible, or if a session of several files
    would not get its required name.
    """
    if written.name and os.path.isdir(path):
        sessions = path / _SESSIONS if (path / _SESSIONS).is_dir() else path
        if written.folder and sessions.name == _SESSIONS:
            sessions /= written.folder
        path = sessions / written.name
        if create:
            create_folder(path.parent)
    elif written.beside and not path.absolute().match(written.name):
        raise CtxtuiError(
            "the session has several files, which cannot be written as one",
            place=str(path),
            way_out="name a folder that exists",
        )
    return path


def write_beside(path: Path, written: WrittenContext, source: Path | None) -> None:
    """Write the further files of the session that was written to `path`.

    Claude Code's rewind files are copied. Raises `CtxtuiError`, also if one of the files exists.
    """
    for name, data in written.beside.items():
        place = path.parent / name
        create_folder(place.parent)
        write_private(place, data)
    if written.id and source is not None and path.absolute().parent.parent.name == "projects":
        old, new = (file.absolute().parent.parent.with_name(_CHECKPOINTS) / file.stem for file in (source, path))
        if old.is_dir() and not new.exists():
            try:
                shutil.copytree(old, new)
            except OSError as error:
                raise CtxtuiError(f"cannot be created: {error.strerror}", place=str(new)) from error


def create_folder(folder: Path) -> None:
    """Create `folder` with mode 0700, and missing ones above it. Raises `CtxtuiError`."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise CtxtuiError(f"cannot be created: {error.strerror}", place=str(folder)) from error


def write_private(path: Path, data: bytes, *, replace: bool | None = None) -> None:
    """Write the file `path` with mode 0600.

    With `replace`, an existing file is replaced (hard links to it keep the old content); else it is an error, which for
    False mentions ``--force``. Raises `CtxtuiError`.
    """
    if os.path.isdir(path):
        raise CtxtuiError("this is a folder", place=str(path), way_out="name a file in it")
    if not replace and os.path.lexists(path):
        way_out = "choose another name" + (", or add --force" if replace is not None else "")
        raise CtxtuiError("the file exists", place=str(path), way_out=way_out)
    if os.path.exists(path) and not os.path.isfile(path):
        # Replacing would remove a device or pipe: for root, /dev/null of the whole machine.
        raise CtxtuiError("this is not a regular file", place=str(path), way_out="name a new file")
    try:
        replace_file(path, data)
    except OSError as error:
        raise CtxtuiError(f"cannot be written: {error.strerror}", place=str(path)) from error


class _Endpoint(NamedTuple):
    url: str
    headers: tuple[str, ...]


_API_VERSION: Final = "2026-10-21"
"""The version of Anthropic's API for which requests are written (facts §1)."""

_OPENAI: Final = ("Authorization: Bearer $OPENAI_API_KEY",)
_ENDPOINTS: Final = {
    "anthropic": _Endpoint(
        "https://api.anthropic.com/v1/messages",
        ("x-api-key: $ANTHROPIC_API_KEY", f"anthropic-version: {_API_VERSION}"),
    ),
    "openai-chat": _Endpoint("https://api.openai.com/v1/chat/completions", _OPENAI),
    "openai-responses": _Endpoint("https://api.openai.com/v1/responses", _OPENAI),
    "google": _Endpoint(
        "https://generativelanguage.googleapis.com/v1beta/models/{model}:generateContent",
        ("x-goog-api-key: $GEMINI_API_KEY",),
    ),
    "ollama-chat": _Endpoint("http://localhost:11434/api/chat", ()),
}
_HEREDOC_END: Final = "CTXTUI_BODY"
_BETA_NAME: Final = re.compile(r"[\w.:-]{1,80}", re.ASCII)
"""A beta's name that is safe in a shell command."""


def curl_command(form: str, body: bytes, betas: Json = None, model: str = "") -> bytes:
    """The curl command that posts the request `body` in dialect `form`.

    `model` is for a URL that names it ("": the variable ``MODEL``); `betas` are for Anthropic's header. The shell
    expands nothing in the body, which ends in one newline.
    """
    endpoint = _ENDPOINTS[form]
    url = endpoint.url.format(model=quote(model, safe="@.-") or "${MODEL}")
    lines = [f"curl -sS {url} \\"]
    names = (
        [name for name in betas if isinstance(name, str) and _BETA_NAME.fullmatch(name)]
        if isinstance(betas, list)
        else []
    )
    headers = (*endpoint.headers, *((f"anthropic-beta: {','.join(names)}",) if names and form == "anthropic" else ()))
    lines += [f'  -H "{header}" \\' for header in ("content-type: application/json", *headers)]
    mark = _HEREDOC_END
    while mark.encode() in body:
        mark += "_"
    lines.append(f"  --data-binary @- <<'{mark}'")
    return "\n".join(lines).encode() + b"\n" + body.rstrip(b"\n") + f"\n{mark}\n".encode()


EDITS_FORM: Final = "edits"
"""The form of the applied edits themselves, for ``ctxtui curate --edits``."""
_KEYS: Final = {"a": "anthropic", "o": "openai-chat", "r": "openai-responses", "l": "ollama-chat", "g": "google"}
_OWN_ONLY: Final = frozenset({"ollama-chat", "google"})
"""Dialects that are offered only for recordings of their own."""


def list_forms(edited: EditedContext, source: Path | None, edits: Sequence[Edit]) -> dict[str, str]:
    """The forms in which the context can be written, by key; `edits` are the applied ones."""
    by_key = {key: form for key, form in _KEYS.items() if form not in _OWN_ONLY or form == edited.form}
    by_key["c"] = OWN
    if resumed := resumed_by(edited.session, source):
        by_key["s"] = resumed
    if edits:
        by_key["e"] = EDITS_FORM
    return {**by_key, "u": CURL}


def default_path(edited: EditedContext, form: str, source: Path | None, env: Mapping[str, str] | None = None) -> str:
    """A default path for the exported file.

    - For the tool of the recording, if it searches only its own folders: the recording's folder, or one above it.
    - With `env`, for another tool: the folder that it searches, with "/" at the end; it may not exist yet.
    - Otherwise a file name derived from the recording's.
    """
    if env is not None and is_translation(edited, form, source):
        return _find_client_folder(form, edited.session.about.cwd or "", env)
    if form in RESUMED and TARGETS[form].beside and source is not None:
        return str(source.absolute().parents[TARGETS[form].own_folder] if TARGETS[form].own_folder else source.parent)
    stem = source.name.partition(".")[0] if source is not None else edited.session.about.id or "context"
    ends = {OWN: "curated.ctxtui.jsonl", EDITS_FORM: "edits.jsonl", CURL: "curated.sh"}
    return f"{stem}.{ends.get(form, f'curated.{form}.json')}"


def _find_client_folder(form: str, cwd: str, env: Mapping[str, str]) -> str:
    client = find_client(TARGETS[form].source)
    assert client is not None
    folder = next(iter(client.places(env))).folder
    name = folder_name(Path(cwd or env.get("HOME", "/")))
    # The client truncates a longer name and adds a hash.
    return f"{folder / name if client.by_project and len(name) <= MAX_FOLDER_NAME else folder}/"


class Saved(Struct, frozen=True):
    """A written file: `size` bytes at `path`.

    - `command`: resumes the session ("": none does).
    - `without`: what is left out.
    - `name`: the file name that the tool requires, if the file has another ("": none).
    """

    path: Path
    size: int
    command: str = ""
    without: tuple[str, ...] = ()
    name: str = ""

    @property
    def message(self) -> str:
        message = f"{self.size:,} bytes written to {self.path}"
        if self.name:
            return f"{message}; its name must be {self.name} for the tool to find it"
        # The command comes first: the user types it next, and long lines are truncated.
        message = "; ".join(filter(None, (self.command, message)))
        return message + (f"; without {', '.join(self.without)}" if self.without else "")


def save(edited: EditedContext, form: str, source: Path | None, edits: Sequence[Edit], place: str) -> Saved:
    """Write the context to the new file, or into the folder, `place`. Raises `CtxtuiError`."""
    result = write_form(edited, form, source, edits)
    if place.endswith("/"):
        create_folder(Path(os.path.expanduser(place)))
    path = prepare_path(Path(os.path.expanduser(place)), result)
    write_private(path, result.data)
    write_beside(path, result, source)
    is_misnamed = bool(result.name) and not path.match(result.name) and TARGETS[form].beside
    command = "" if is_misnamed else command_for(form, result, path)
    return Saved(path, len(result.data), command, left_out(result), result.name if is_misnamed else "")


def left_out(result: WrittenContext) -> tuple[str, ...]:
    return tuple(line.removeprefix("not recorded: ") for line in result.lost)


def is_searched(form: str, source: Path | None, env: Mapping[str, str]) -> bool:
    """Whether the tool of `form` searches the folder of the recording `source` for sessions."""
    client = find_client(TARGETS[form].source) if form in TARGETS else None
    if client is None or source is None:
        return False
    return any(source.resolve().is_relative_to(place.root.resolve()) for place in client.places(env))


def command_for(form: str, result: WrittenContext, path: Path) -> str:
    """The command with which a tool resumes the session at `path`; "" if no tool resumes `form`."""
    return (
        TARGETS[form].command.format(id=shlex.quote(result.id), file=shlex.quote(str(path))) if form in TARGETS else ""
    )


def session_path(result: WrittenContext, output: Path | None) -> Path:
    """The path of a session to resume.

    `output` unless it is ``-``, else the required name, else ``FILE``.
    """
    return output if output is not None and output != Path("-") else Path(result.name or "FILE")


def resume_info(form: str, result: WrittenContext, output: Path | None) -> dict[str, str] | None:
    """Id, file name and command for the tool to resume the session.

    None if `form` is not a tool's.
    """
    if form not in TARGETS or not result.data:
        return None
    return {"id": result.id, "file": result.name, "command": command_for(form, result, session_path(result, output))}


def copy_own_transcript(loaded: Loaded, chosen: ChosenCall, form: str) -> WrittenContext:
    """Like `copy_session`, from the tool's own transcript if that is joined and has the call."""
    loaded, chosen = find_own_call(loaded, chosen, form) or (loaded, chosen)
    return copy_session(loaded.session, chosen, form, loaded.path)


def find_own_call(loaded: Loaded, chosen: ChosenCall, form: str) -> tuple[Loaded, ChosenCall] | None:
    """The transcript that is joined with the recording, and the `chosen` call in it.

    None without such a transcript, if it is another tool's than `form`, or if it lacks the call.
    """
    if loaded.transcript is None or loaded.path is None:
        return None
    # `own` "": each file is read without the other.
    transcript = load(loaded.transcript, own="")
    if TARGETS[form].source != transcript.source:
        return None
    pairs = pair_calls(load(loaded.path, own="").session, transcript.session)
    call = pairs.own.get(chosen.call.id) or transcript.session.calls.get(chosen.call.id)
    numbered = enumerate(transcript.session.thread_calls(chosen.thread), 1)
    number = next((n for n, candidate in numbered if candidate is call), 0)
    return (transcript, ChosenCall(chosen.thread, number, call)) if call is not None and number else None


def copy_session(session: Session, chosen: ChosenCall, form: str, source: Path | None) -> WrittenContext:
    """Write `session` up to the answer of the `chosen` call in `form`. Raises what `write_context` raises."""
    context = Context.of_call(session.tree, chosen.call, session_end(session, chosen).head)
    applied = Applied(context, length=len(context))
    edited = EditedContext(
        session=session,
        chosen=chosen,
        context=context,
        applied=applied,
        limits=RequestLimits(prefill=False),
        after=True,
    )
    return write_context(edited, form, source)


def write_form(edited: EditedContext, form: str, source: Path | None, edits: Sequence[Edit]) -> WrittenContext:
    """Write the context in `form`. Raises `CtxtuiError`, also if the provider would refuse the request."""
    if form == EDITS_FORM:
        return WrittenContext(dumps(edits))
    body_form = edited.form if form == CURL else form
    result = write_context(edited, body_form, source)
    if result.violations:
        first = result.violations[0]
        raise CtxtuiError(f"the provider would refuse it: {first.message}", place=first.path, way_out="ctxtui repair")
    if form != CURL:
        return result
    call = edited.chosen.call
    return replace(result, data=curl_command(body_form, result.data, call.extra.get("betas"), call.model))
