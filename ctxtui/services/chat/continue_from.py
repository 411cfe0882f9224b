"""Going on from what is on record: the same session where it is a chat of ours at its end, else a branch of it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from ctxtui.analysis.call_choice import choose
from ctxtui.analysis.growth.forks import ForkOrigin
from ctxtui.core.block import Item
from ctxtui.core.call import Call
from ctxtui.core.errors import CtxtuiError, InUse
from ctxtui.core.session import Session
from ctxtui.services.config.paths import database
from ctxtui.services.config.settings import Settings
from ctxtui.services.recordings.identity import stored_name
from ctxtui.services.recordings.open_by_name import locate, open_named
from ctxtui.store import leases
from ctxtui.store.host_process import HostProcess, begin_hosting, end_hosting
from ctxtui.store.store import Store
from ctxtui.wire.translate.client_fields import without_client_fields
from ctxtui.wire.translate.turns import THINKING, to_part

_PATIENCE: Final = 2.0
"""Seconds for which a chat of this program that is being left may take to be over."""
CHAT: str = "ctxtui chat"
"""The client of sessions that ctxtui hosted."""


class Continuation(Struct, frozen=True, kw_only=True):
    """What a chat goes on from. `stored` is set where the same stored session goes on, in the dialect of its `last`
    call; otherwise `before` is what was said, for a session of its own that says in `title` and
    `origin` where it comes from."""

    session: Session
    stored: str = ""
    last: Call | None = None
    before: tuple[Item, ...] = ()
    system: str = ""
    title: str = ""
    model: str = ""
    origin: ForkOrigin | None = None


def past_of(
    name: str,
    thread: str,
    number: int,
    settings: Settings,
    cwd: Path,
    hold: Callable[[str], object] = lambda id_: None,
) -> Continuation:
    """What is on record under `name`: call `number` of `thread` (0: its end). `hold` is called with the id of a stored
    session that itself goes on, before it is read. Raises what opening and `hold` raise, `NotFound` for a call or
    thread that is not there."""
    found = locate(name, cwd, settings)
    goes_on = bool(found.stored) and not number and is_chat(found.stored, settings)
    if goes_on:
        hold(found.stored)
    loaded = open_named(found, settings)
    session = loaded.session
    chosen = choose(session, thread, number)
    if goes_on:
        last = next(reversed(session.calls.values()), None)
        return Continuation(session=session, stored=found.stored, last=last, model=chosen.call.model)
    head = _end(session, chosen.thread, chosen.call, number)
    items = session.tree.items(head)
    title = session.about.title or session.about.id or name
    where = f"{title} @{chosen.number}" if number else title
    opens = os.path.abspath(loaded.path) if loaded.path is not None else found.stored
    origin = ForkOrigin(stored_name(loaded), opens, chosen.thread, chosen.number)
    return Continuation(
        session=session,
        before=_talk(items),
        system=_system(items),
        title=where,
        model=chosen.call.model,
        origin=origin,
    )


def host_of_named(name: str, settings: Settings, cwd: Path) -> InUse | None:
    """Who hosts the chat on record under `name`, which then cannot go on itself; None where nobody does. Raises what
    `locate` and opening the database raise."""
    found = locate(name, cwd, settings)
    if not found.stored:
        return None
    with Store.open(database(settings.data_dir)) as store:
        return store.host_error(found.stored)


def is_chat(stored: str, settings: Settings) -> bool:
    """Whether the stored session is one that ctxtui hosted. Raises what opening the database raises."""
    with Store.open(database(settings.data_dir)) as store:
        return store.session(stored).client == CHAT


def _end(session: Session, thread: str, call: Call, number: int) -> int:
    """The context to go on from: just after the chosen call's answer, or all that is on record."""
    if number:
        return call.response_head or call.raw_head
    tip = session.threads[thread].tip if thread in session.threads else 0
    return tip or call.response_head or call.raw_head


def _talk(items: Sequence[Item]) -> tuple[Item, ...]:
    """What was said, without thinking: it is bound to a system prompt and tools that are others now (facts §1)."""
    said = [without_client_fields(item) for item in items if item.place.section == "messages"]
    return tuple(item for item in said if to_part(item.block).category != THINKING or item.block.kind == "header")


def _system(items: Sequence[Item]) -> str:
    texts = [item.block.value() for item in items if item.place.section == "system"]
    return "\n\n".join(str(text.get("text", "")) for text in texts if isinstance(text, dict))


def claimed(path: Path, id_: str) -> HostProcess:
    """Become the host of the session `id_` in the database `path`; for a worker thread. Raises `InUse` where another
    process is."""
    process = begin_hosting(time.time())
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            leases.claim(path, id_, process)
            return process
        except InUse as error:
            if error.pid != os.getpid() or time.monotonic() > until:
                end_hosting(process)
                raise
            time.sleep(0.05)
        except CtxtuiError:
            return process  # nothing can be written now: the writer says so, and takes the session when it can be
