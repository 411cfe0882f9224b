"""Writing the context of an open session as the applied edits leave it: what it can be written as, and where."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ctxtui.core.edit import Edit
from ctxtui.core.errors import CtxtuiError
from ctxtui.runtime.exporting import CURL, write_private
from ctxtui.runtime.ready import OWN, RESUMED, Ready, written

EDITS: Final = "edits"
"""The applied edits themselves, for ``ctxtui curate --edits``."""
_RESUMING: Final = {"claude-code": "claude --resume {id}", "codex": "codex resume {id}"}
_KEYS: Final = {"a": "anthropic", "o": "openai-chat", "r": "openai-responses", "l": "ollama-chat"}


def offers(ready: Ready, source: Path | None, edits: Sequence[Edit]) -> dict[str, str]:
    """What the context can be written as, by key: its own dialect among the bodies, and a file that the tool which
    recorded it resumes."""
    found = {key: form for key, form in _KEYS.items() if form != "ollama-chat" or form == ready.form}
    found["c"] = OWN
    if ready.resumed and source is not None:
        found["s"] = ready.resumed
    if edits:
        found["e"] = EDITS
    return found if ready.form == "ollama-chat" else {**found, "u": CURL}


def place_for(ready: Ready, form: str, source: Path | None) -> str:
    """A file to begin with; the folder of the recording where the tool resumes only files beside it."""
    if form in RESUMED and source is not None:
        return str(source.parent)
    stem = source.name.partition(".")[0] if source is not None else ready.session.about.id or "context"
    ends = {OWN: "curated.ctxtui.jsonl", EDITS: "edits.jsonl", CURL: "curated.sh"}
    return f"{stem}.{ends.get(form, f'curated.{form}.json')}"


def save(ready: Ready, form: str, source: Path | None, edits: Sequence[Edit], place: str) -> str:
    """Write it to the new file `place` (a folder, for a file that has its own name); returns what to tell the user.

    Raises `CtxtuiError`: the edits are refused, the provider would refuse the request, the file cannot be made."""
    path = Path(place).expanduser()
    data, lost, name = data_of(ready, form, source, edits)
    path = path / name if name and path.is_dir() else path
    write_private(path, data)
    told = f"{len(data):,} bytes written to {path}"
    if name and path.name != name:
        return f"{told}; its name must be {name} for the tool to find it"
    if form in RESUMED:
        # First: it is what the user types next, and lines are cut at their end.
        told = f"{_RESUMING[form].format(id=_id_of(name))}; {told}"
    return told + (f"; without {', '.join(one.removeprefix('not recorded: ') for one in lost)}" if lost else "")


def data_of(ready: Ready, form: str, source: Path | None, edits: Sequence[Edit]) -> tuple[bytes, Sequence[str], str]:
    """Its bytes, what they do not carry, and the name that the file must have ("": any). Raises as `save` does."""
    if form == EDITS:
        from ctxtui.core.edit_json import dumps

        return dumps(edits), (), ""
    body = ready.form if form == CURL else form
    made = written(ready, body, source)
    if made.violations:
        first = made.violations[0]
        raise CtxtuiError(f"the provider would refuse it: {first.message}", place=first.path, way_out="ctxtui repair")
    if form != CURL:
        return made.data, made.lost, made.name
    from ctxtui.runtime.curl import command

    return command(body, made.data), made.lost, ""


def _id_of(name: str) -> str:
    """The session's id in the name of a file that is resumed: its last 36 characters, a UUID."""
    return name.removesuffix(".jsonl")[-36:]
