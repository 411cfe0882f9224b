"""Continues a recorded session.

A chat of ctxtui continues itself at the end of its main thread; any other point or session is continued by a branch.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Final

from msgspec import Struct

from ctxtui.analysis.call_choice import choose_call
from ctxtui.analysis.growth.forks import ForkOrigin
from ctxtui.core.block import HEADER, Item
from ctxtui.core.block_content import read
from ctxtui.core.call import Call
from ctxtui.core.errors import CtxtuiError, InUse
from ctxtui.core.session import MAIN, Session
from ctxtui.services.config.paths import database
from ctxtui.services.config.settings import Settings
from ctxtui.services.recordings.identity import stored_id
from ctxtui.services.recordings.open_by_name import locate, open_named
from ctxtui.services.recordings.recording import Loaded
from ctxtui.store import leases
from ctxtui.store.host_process import HostProcess, begin_hosting, end_hosting
from ctxtui.store.store import Store
from ctxtui.wire.translate.client_fields import without_client_fields
from ctxtui.wire.translate.turns import SYSTEM, THINKING, to_part

CLAIM_SECONDS: Final = 2.0
"""The wait for another chat of this process that is being closed."""
CHAT: Final = "ctxtui chat"
"""The client of sessions that ctxtui hosted."""


class Continuation(Struct, frozen=True, kw_only=True):
    """The starting point of a chat.

    If the same stored session continues, `stored` is its id and `last` its last call, whose dialect is used. Otherwise
    `before` is the earlier conversation for a new session, and `title` and `origin` name its source.
    """

    session: Session
    stored: str = ""
    last: Call | None = None
    before: tuple[Item, ...] = ()
    system: str = ""
    title: str = ""
    model: str = ""
    origin: ForkOrigin | None = None


def find_continuation(
    name: str,
    thread: str,
    number: int,
    settings: Settings,
    cwd: Path,
    hold: Callable[[str], object] = lambda id_: None,
) -> Continuation:
    """Find what is recorded under `name`, up to call `number` of `thread` (0: its end).

    `hold` is called with the id of a stored session that itself continues, before it is read. Raises the errors of
    opening and of `hold`, and `NotFound` for an unknown call or thread.
    """
    location = locate(name, cwd, settings)
    continues_itself = (
        bool(location.stored) and not number and thread in ("", MAIN) and is_chat(location.stored, settings)
    )
    if continues_itself:
        hold(location.stored)
    loaded = open_named(location, settings)
    session = loaded.session
    chosen = choose_call(session, thread, number)
    if continues_itself:
        last = next(reversed(session.calls.values()), None)
        return Continuation(session=session, stored=location.stored, last=last, model=chosen.call.model)
    head = _end_of_answer(session, chosen.thread, chosen.call, number)
    items = session.tree.items(head)
    title = session.about.title or session.about.id or name
    title_ = f"{title} @{chosen.number}" if number else title
    source = os.path.abspath(loaded.path) if loaded.path is not None else location.stored
    system, messages = split_system(items)
    origin = ForkOrigin(_stored_id(loaded, settings), source, chosen.thread, chosen.number)
    return Continuation(
        session=session,
        before=_conversation_items(messages),
        system=system,
        title=title_,
        model=chosen.call.model,
        origin=origin,
    )


def _stored_id(loaded: Loaded, settings: Settings) -> str:
    path = database(settings.data_dir)
    if not path.exists():
        return stored_id(loaded, None)
    with Store.open(path, readonly=True) as store:
        return stored_id(loaded, store)


def current_host(name: str, settings: Settings, cwd: Path) -> InUse | None:
    """The process that hosts the session recorded under `name`; None if it is not hosted."""
    location = locate(name, cwd, settings)
    if not location.stored:
        return None
    with Store.open(database(settings.data_dir)) as store:
        return store.host_error(location.stored)


def is_chat(stored: str, settings: Settings) -> bool:
    with Store.open(database(settings.data_dir)) as store:
        return store.session(stored).client == CHAT


def _end_of_answer(session: Session, thread: str, call: Call, number: int) -> int:
    if number:
        return call.response_head or call.raw_head
    tip = session.threads[thread].tip if thread in session.threads else 0
    return tip or call.response_head or call.raw_head


def _conversation_items(messages: Iterable[Item]) -> tuple[Item, ...]:
    """The conversation without thinking, which is bound to its system text and tools (facts §1)."""
    items = map(without_client_fields, messages)
    return tuple(item for item in items if to_part(item.block).category != THINKING or item.block.kind == HEADER)


def split_system(items: Sequence[Item]) -> tuple[str, tuple[Item, ...]]:
    """The system text of a context, and its messages without that (OpenAI Chat: the first ones)."""
    system = [item for item in items if item.place.section == "system"]
    messages = [item for item in items if item.place.section == "messages"]
    lead = [] if system else list(takewhile(lambda item: item.place.role in SYSTEM, messages))
    texts = (read(item.block).text for item in (*system, *lead) if item.block.kind != HEADER)
    return "\n\n".join(texts), tuple(messages[len(lead) :])


def claim_session(path: Path, id_: str) -> HostProcess:
    """Become the host of the session `id_` in the database `path`; for a worker thread.

    Raises `InUse` if another process hosts it.
    """
    process = begin_hosting(time.time())
    deadline = time.monotonic() + CLAIM_SECONDS
    while True:
        try:
            leases.claim(path, id_, process)
            return process
        except InUse as error:
            if error.pid != os.getpid() or time.monotonic() > deadline:
                end_hosting(process)
                raise
            time.sleep(0.05)
        except CtxtuiError:
            return process  # the database cannot be written now: the writer reports it and claims the session later
