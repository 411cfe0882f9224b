"""A chat as the inspector's source."""

from __future__ import annotations

import asyncio
from pathlib import Path

from ctxtui.offline import offline
from ctxtui.services.chat.chat_model import ModelChoice
from ctxtui.services.chat.chat_source import ChatSource
from ctxtui.services.chat.host import Host
from ctxtui.services.recordings.open_by_name import locate, open_named
from tests.services.chat.test_host_offline import desk, held
from tests.services.chatting import Chat, config


async def test_who_reads_a_chat_once_more_reads_this_one(tmp_path: Path) -> None:
    """As the lab does by the source's name: also where there are other chats, and where it is a branch of one."""
    own, work = config(tmp_path), desk(tmp_path)
    with offline() as running:
        first = await held(Host(ModelChoice("anthropic", "offline", running.url), own, work), "say something")
        goes_on = first.host.session.about.id
        for wish, calls in (
            (ModelChoice("anthropic", "offline", running.url), 1),
            (ModelChoice("anthropic", "offline", running.url, goes_on, 1), 1),
            (ModelChoice("anthropic", "offline", running.url, goes_on), 4),
        ):
            source = ChatSource(Host(wish, own, work))
            await asyncio.to_thread(source.open)
            made = Chat(source.host)
            await source.host.begin(made.heard, lambda call: None, lambda: None)
            await made.say("say more")
            assert await source.host.close()
            source.close()
            again = open_named(locate(source.name, work, own.settings), own.settings).session
            assert again.about.id == source.host.session.about.id
            assert again.calls.keys() == source.host.session.calls.keys() and len(again.calls) == calls
