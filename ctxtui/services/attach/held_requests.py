"""What runs of `ctxtui exec` tell of themselves: which requests wait there, whether the next one will, and deciding
about them. For worker threads: each asks over loopback."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from msgspec import Struct

from ctxtui.attach.tape import file_name
from ctxtui.core.errors import CtxtuiError, NotFound
from ctxtui.services.attach.control import ask_all
from ctxtui.services.attach.hold_rules import told_of


class HeldElsewhere(Struct, frozen=True, kw_only=True):
    """A request that waits in a run: `until` (monotonic seconds) it is let go by itself. `tokens` is about its size."""

    id: str
    thread: str
    model: str
    why: str
    tokens: int
    until: float
    can_wait: bool = False
    """Whether its program can be kept waiting by pings: more time can be had."""
    pinged: bool = False
    """Whether it was: its answer has begun, and an error comes inside it."""

    def left(self, now: float) -> int:
        """Whole seconds until then."""
        return max(0, int(self.until - now))


class AttachedProgram(Struct, frozen=True, kw_only=True):
    """How it stands with a session: whether a program is attached to it now (`runs`), whether its `next` request will
    be held, `each` one, by which `rules` (in words), those that are `held`, the oldest first, and what its run could
    not record (`troubles`)."""

    runs: bool = False
    next: bool = False
    each: bool = False
    rules: tuple[str, ...] = ()
    held: tuple[HeldElsewhere, ...] = ()
    troubles: tuple[str, ...] = ()


def look(recording: Path, now: float | None = None) -> AttachedProgram:
    """How it stands with the session that is recorded in this file."""
    now = time.monotonic() if now is None else now
    runs, next_, each = False, False, False
    held: list[HeldElsewhere] = []
    rules: list[str] = []
    troubles: list[str] = []
    for _, told in ask_all(recording.parent, {"do": "list"}):
        mine = [one for one in told.get("held", ()) if file_name(str(one.get("session"))) == recording.name]
        if recording.name not in told.get("files", ()) and not mine:
            continue
        runs, each = True, each or bool(told.get("each"))
        rules += [str(one) for one in told.get("rules", ()) if one not in rules]
        troubles += [str(one) for one in told.get("troubles", ())]
        next_ = next_ or any(file_name(str(one)) == recording.name for one in told.get("next", ()))
        held += [_held(one, now) for one in mine]
    return AttachedProgram(
        runs=runs,
        next=next_,
        each=each,
        rules=tuple(rules),
        held=tuple(sorted(held, key=lambda one: one.until)),
        troubles=tuple(troubles),
    )


def held_in(folder: Path) -> dict[str, str]:
    """Why a request of a session is held, by the path of its recording in this folder: the first that would leave."""
    found: dict[str, tuple[float, str]] = {}
    for _, told in ask_all(folder, {"do": "list"}):
        for one in told.get("held", ()):
            path = str(folder / file_name(str(one.get("session"))))
            left, why = float(one.get("seconds_left") or 0), str(one.get("why"))
            if path not in found or left < found[path][0]:
                found[path] = left, why
    return {path: why for path, (_, why) in found.items()}


def _held(told: dict[str, Any], now: float) -> HeldElsewhere:
    return HeldElsewhere(
        id=str(told.get("id")),
        thread=str(told.get("thread")),
        model=str(told.get("model")),
        why=str(told.get("why")),
        tokens=int(told.get("about_tokens") or 0),
        until=now + float(told.get("seconds_left") or 0),
        can_wait=bool(told.get("can_wait")),
        pinged=bool(told.get("pinged")),
    )


def hold_next(recording: Path, session: str, *, hold: bool) -> None:
    """Have the next request of a session held, or not."""
    for _ in ask_all(recording.parent, {"do": "next" if hold else "not next", "session": session}):
        pass


def set_rules(recording: Path, text: str) -> tuple[str, ...]:
    """Hold requests of the session that is recorded in this file by the rules that `text` names, none for "" and
    ``off``; those that are on then. Raises `BadConfig`, `NotFound` where no program is attached to it."""
    rules = told_of(text)
    asked = {"do": "on" if rules else "off", "file": recording.name, **({"rules": rules} if rules else {})}
    on = [told.get("rules", ()) for _, told in ask_all(recording.parent, asked) if recording.name in told["files"]]
    if not on:
        raise NotFound("no program is attached to this session now")
    return tuple(dict.fromkeys(str(one) for some in on for one in some))


def decide(folder: Path, id_: str, how: str, text: str = "") -> str:
    """What becomes of the held request `id_`: one of `holding.HOWS`, or `holding.MORE`; the run that held it. Raises
    `NotFound` where it is not held any more, `CtxtuiError` where that cannot be done."""
    for run, told in ask_all(folder, {"do": how, "id": id_, "text": text}):
        if told.get("id") == id_:
            return run
        if told.get("error") and not told.get("none"):
            raise CtxtuiError(str(told["error"]))
    raise NotFound(f"{id_} is not held any more")
