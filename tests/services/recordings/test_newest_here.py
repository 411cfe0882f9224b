"""The newest session of a directory, of recordings and of what only the database holds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ctxtui.offline import offline
from ctxtui.services.chat.chat_model import ModelChoice
from ctxtui.services.chat.host import Host
from ctxtui.services.config.projects import folder_name
from ctxtui.services.recordings.open_by_name import find_last
from tests.cases.client_homes import MOVERS
from tests.services.chat.test_host_offline import desk, held
from tests.services.chatting import config, hosted
from tests.services.lookalike import claude_code


async def test_a_chat_in_which_nothing_was_said_comes_after_all_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in MOVERS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    own, work = config(tmp_path), desk(tmp_path)
    with offline() as running:
        wish = ModelChoice("anthropic", "offline", running.url)
        async with hosted(Host(wish, own, work)) as silent:
            pass
        silent_id = silent.host.session.about.id
        assert find_last(work, own.settings).name == silent_id
        path = tmp_path / ".claude/projects" / folder_name(work) / "old.jsonl"
        path.parent.mkdir(parents=True)
        path.write_bytes(claude_code(1))
        os.utime(path, (1000, 1000))
        assert find_last(work, own.settings).name == str(path)
        said = (await held(Host(wish, own, work), "say something")).host.session.about.id
        async with hosted(Host(wish, own, work)):
            assert find_last(work, own.settings).name == said
