"""Status of running relays, and decisions on the requests that they hold.

For worker threads: each function asks the relays over loopback.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from msgspec import Struct

from ctxtui.analysis.cache.keep_warm import KeepWarmStatus
from ctxtui.attach.tape import file_name
from ctxtui.core.errors import CtxtuiError, NotFound
from ctxtui.services.attach.control import ask_all
from ctxtui.services.attach.hold_rules import parse_rules


class RemoteHeldRequest(Struct, frozen=True, kw_only=True):
    """A request held by a run, until `until` (monotonic seconds). `tokens` is a rough size."""

    id: str
    thread: str
    model: str
    why: str
    tokens: int
    until: float
    can_wait: bool = False
    """Whether its program can be kept waiting by pings, so that the time can be extended."""
    pinged: bool = False
    """Whether a ping was sent: the answer has begun, so an error must be sent inside it."""
    summary: str | None = None
    """The summary of a client's compaction, if its answer is held; None if the request is held."""
    pins: int = 0
    """Number of pinned blocks that will be added to the summary."""

    def seconds_left(self, now: float) -> int:
        return max(0, int(self.until - now))


class AttachedProgram(Struct, frozen=True, kw_only=True):
    """Status of a session's program.

    - `runs`: it is attached now.
    - `next`, `each`: its next request, or every request, will be held.
    - `held`: requests held now, the one that is released first at the beginning.
    - `troubles`: recording problems of its run.
    """

    runs: bool = False
    next: bool = False
    each: bool = False
    rules: tuple[str, ...] = ()
    held: tuple[RemoteHeldRequest, ...] = ()
    troubles: tuple[str, ...] = ()
    keep_warm: KeepWarmStatus | None = None


def read_status(recording: Path, now: float | None = None) -> AttachedProgram:
    """Read the status of the program whose session is recorded in the file `recording`.

    `now` is in monotonic seconds (None: the present time).
    """
    now = time.monotonic() if now is None else now
    runs, is_next, each = False, False, False
    requests: list[RemoteHeldRequest] = []
    rules: list[str] = []
    troubles: list[str] = []
    keep_warm: KeepWarmStatus | None = None
    for _, answer in ask_all(recording.parent, {"do": "list"}):
        own_requests = [
            item for item in answer.get("held", ()) if file_name(str(item.get("session"))) == recording.name
        ]
        if recording.name not in answer.get("files", ()) and not own_requests:
            continue
        runs, each = True, each or bool(answer.get("each"))
        rules += [str(item) for item in answer.get("rules", ()) if item not in rules]
        troubles += [str(item) for item in answer.get("troubles", ())]
        is_next = is_next or any(file_name(str(item)) == recording.name for item in answer.get("next", ()))
        requests += [_remote_request(item, now) for item in own_requests]
        keep_warm = keep_warm or _keep_warm_status(answer.get("keep_warm"), recording)
    return AttachedProgram(
        runs=runs,
        next=is_next,
        each=each,
        rules=tuple(rules),
        held=tuple(sorted(requests, key=lambda request: request.until)),
        troubles=tuple(troubles),
        keep_warm=keep_warm,
    )


def _keep_warm_status(warm: Any, recording: Path) -> KeepWarmStatus | None:
    if not isinstance(warm, dict):
        return None
    reasons = warm.get("why") or {}
    why = next((str(why) for session, why in reasons.items() if file_name(session) == recording.name), "")
    return KeepWarmStatus(cap_usd=float(warm["cap_usd"]), usd=float(warm["usd"]), count=int(warm["count"]), why=why)


def hold_reasons(folder: Path) -> dict[str, str]:
    """Reasons for held requests, by the path of their recording in `folder`.

    Of several at one path, the one released first.
    """
    held: list[tuple[float, str, str]] = []
    for _, answer in ask_all(folder, {"do": "list"}):
        for request in answer.get("held", ()):
            path = str(folder / file_name(str(request.get("session"))))
            held.append((float(request.get("seconds_left") or 0), path, str(request.get("why"))))
    return {path: why for _, path, why in sorted(held, reverse=True)}


def _remote_request(request: dict[str, Any], now: float) -> RemoteHeldRequest:
    return RemoteHeldRequest(
        id=str(request.get("id")),
        thread=str(request.get("thread")),
        model=str(request.get("model")),
        why=str(request.get("why")),
        tokens=int(request.get("about_tokens") or 0),
        until=now + float(request.get("seconds_left") or 0),
        can_wait=bool(request.get("can_wait")),
        pinged=bool(request.get("pinged")),
        summary=summary if isinstance(summary := request.get("summary"), str) else None,
        pins=int(request.get("pins") or 0),
    )


def hold_next(recording: Path, session: str, *, hold: bool) -> None:
    """Have the next request of a session held, or not."""
    list(ask_all(recording.parent, {"do": "next" if hold else "not next", "session": session}))


def set_rules(recording: Path, text: str) -> tuple[str, ...]:
    """Hold requests of the run that writes `recording` by the rules in `text`.

    "" or ``off`` brings back the rules that the run was started with, except "each request". Returns the rules in
    force. Raises `BadConfig`, and `NotFound` if no program is attached to the session.
    """
    rules = parse_rules(text)
    request = {"do": "on" if rules else "off", "file": recording.name, **({"rules": rules} if rules else {})}
    in_force = [
        answer.get("rules", ()) for _, answer in ask_all(recording.parent, request) if recording.name in answer["files"]
    ]
    if not in_force:
        raise NotFound("no program is attached to this session now")
    return tuple(dict.fromkeys(str(rule) for run_rules in in_force for rule in run_rules))


def decide(folder: Path, id_: str, how: str, text: str = "") -> str:
    """Decide on the held request `id_` by one of `holding.HOWS` or `holding.MORE`.

    `text` is the user's answer. Returns the run that held it. Raises `NotFound` if it is no longer held, `CtxtuiError`
    if the decision is not possible.
    """
    for run, answer in ask_all(folder, {"do": how, "id": id_, "text": text}):
        if answer.get("id") == id_:
            return run
        if answer.get("error") and not answer.get("none"):
            raise CtxtuiError(str(answer["error"]))
    raise NotFound(f"{id_} is no longer held")
