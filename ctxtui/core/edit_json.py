"""Edits as JSON: the format that `--edits FILE` reads and in which the edit log is exported."""

from __future__ import annotations

from collections.abc import Iterable

from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.core.edit import APPLY, LEAVE, REVERT, USER, WAIT, Edit, Target, make, payload
from ctxtui.core.edit_kinds import KINDS
from ctxtui.core.errors import Malformed


def to_json(edit: Edit) -> dict[str, Json]:
    """Encode one entry (docs/json.md)."""
    entry: dict[str, Json] = {
        "id": edit.id,
        "kind": edit.kind,
        "targets": [_target_json(target) for target in edit.targets],
        "author": edit.author,
        "at": edit.at,
        "payload": dict(edit.params),
    }
    return entry | {key: value for key, value in (("batch", edit.batch), ("reverts", edit.reverts)) if value}


def _target_json(target: Target) -> dict[str, Json]:
    return {"digest": target.digest, "occurrence": target.occurrence} | ({"id": target.id} if target.id else {})


def dumps(log: Iterable[Edit]) -> bytes:
    return b"".join(canonical.dumps(to_json(edit)) + b"\n" for edit in log)


def loads(data: bytes, place: str = "") -> list[Edit]:
    """Decode the entries in `data`.

    `data` is a JSON list, one entry, an object with a list ``edits``, or JSON Lines. An entry needs only its ``kind``,
    and ``targets`` if it is an edit. A target is an object or its digest as a string, ``digest#1`` for the second
    occurrence. Raises `Malformed`, whose place begins with `place` (the file).
    """
    values = _list_entries(data, place)
    return [from_json(value, f"{place}$[{n}]") for n, value in enumerate(values)]


def _list_entries(data: bytes, place: str) -> list[Json]:
    text = data.decode("utf-8", "replace").strip()
    try:
        document = canonical.loads(text)
    except (ValueError, RecursionError):
        return [
            _parse_line(line, f"{place.rstrip(':')}:{n}") for n, line in enumerate(text.splitlines(), 1) if line.strip()
        ]
    if isinstance(document, dict) and isinstance(document.get("edits"), list):
        document = document["edits"]
    return document if isinstance(document, list) else [document]


def _parse_line(line: str, place: str) -> Json:
    try:
        return canonical.loads(line)
    except (ValueError, RecursionError) as error:
        raise Malformed(
            f"not JSON: {error}", place=place, way_out="give a JSON list of edits, or one per line"
        ) from None


def from_json(value: Json, place: str = "$") -> Edit:
    """Decode one entry. Raises `Malformed`, at a position below `place`."""
    if not isinstance(value, dict):
        raise Malformed("an edit must be an object", place=place)
    kind = value.get("kind")
    if kind not in (*KINDS, APPLY, WAIT, LEAVE, REVERT):
        raise Malformed(f"no edit of kind {kind!r}", place=f"{place}.kind", way_out=f"kinds: {', '.join(KINDS)}")
    params = _typed_member(value, "payload", dict, place) or {}
    if kind in (APPLY, WAIT) and not isinstance(params.get("ids", []), list):
        raise Malformed("ids has the wrong type", place=f"{place}.payload.ids")
    listed = _typed_member(value, "targets", list, place) or []
    targets = tuple(_parse_target(target, f"{place}.targets[{n}]") for n, target in enumerate(listed))
    texts = {key: _typed_member(value, key, str, place) or "" for key in ("id", "author", "batch", "reverts")}
    at = _typed_member(value, "at", (int, float), place) or 0.0
    author = texts["author"] or USER
    if kind in (APPLY, WAIT, LEAVE, REVERT):
        return Edit(
            texts["id"],
            kind,
            targets,
            author=author,
            at=at,
            payload=payload(params),
            batch=texts["batch"],
            reverts=texts["reverts"],
        )
    if not targets:
        raise Malformed("an edit must name its targets", place=f"{place}.targets")
    return make(kind, targets, params, author=author, at=at, id=texts["id"], batch=texts["batch"])


def _typed_member(value: dict[str, Json], key: str, kind: type | tuple[type, ...], place: str) -> Json:
    member = value.get(key)
    if member is not None and (not isinstance(member, kind) or isinstance(member, bool)):
        raise Malformed(f"{key} has the wrong type", place=f"{place}.{key}")
    return member


def _parse_target(value: Json, place: str) -> Target:
    if isinstance(value, str):
        digest, _, number = value.partition("#")
        value = {"digest": digest, "occurrence": int(number[:9]) if number.isdecimal() else 0}
    if not isinstance(value, dict) or not isinstance(value.get("digest"), str):
        raise Malformed("a target needs the digest of its block", place=place)
    occurrence, id_ = value.get("occurrence", 0), value.get("id", "")
    if isinstance(occurrence, bool) or not isinstance(occurrence, int) or occurrence < 0:
        raise Malformed("a target's occurrence must be a whole number from 0 on", place=place)
    if not isinstance(id_, str):
        raise Malformed("a target's id must be a text", place=place)
    return Target(value["digest"], occurrence, id_)
