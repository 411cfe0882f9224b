"""The tree of forks, from chats that were really held."""

from __future__ import annotations

import shutil
from pathlib import Path

from ctxtui.analysis.growth.forks import list_lines
from ctxtui.offline import offline
from ctxtui.services.chat.chat_model import ModelChoice
from ctxtui.services.chat.host import Host
from ctxtui.services.config.package_data import sample_paths
from ctxtui.services.recordings.open_by_name import Named, open_named
from ctxtui.services.study.fork_tree import list_forks
from tests.analysis.growth.test_forks import branched
from tests.services.chat.test_host_offline import desk, held
from tests.services.chatting import config


async def test_chats_that_went_on_from_calls_stand_under_them_from_every_side(tmp_path: Path) -> None:
    sample = tmp_path / "sample.jsonl"
    shutil.copy(next(path for path in sample_paths() if "pedroceli" in path.name), sample)
    own, work = config(tmp_path), desk(tmp_path)
    with offline() as running:

        async def chat(name: str, call: int) -> str:
            wish = ModelChoice("anthropic", "offline", running.url, name, call)
            made = await held(Host(wish, own, work), "and now?")
            return made.host.session.about.id

        first = await chat(str(sample), 3)
        second = await chat(first, 1)
        third = await chat(str(sample), 5)
    settings = own.settings
    rows = list_forks(open_named(Named(sample), settings), "main", settings)
    assert [(row.depth, row.after, row.target) for row in rows] == [
        (0, 0, ""),
        (1, 3, first),
        (2, 1, second),
        (1, 5, third),
    ]
    assert rows[0].is_open and rows[1].name.startswith("branch of ") and rows[1].name.endswith("@3")
    assert [row.is_last for row in rows] == [True, False, True, True]
    # The same tree from inside of it: the file that all of it began with was never stored, and opens by its path.
    inside = list_forks(open_named(Named(stored=second), settings), "main", settings)
    assert [(row.depth, row.is_open) for row in inside] == [(0, False), (1, False), (2, True), (1, False)]
    assert inside[0].target == str(sample) and inside[1].target == first


def test_lines_of_the_open_session_stand_among_them(tmp_path: Path) -> None:
    from ctxtui.services.recordings.recording import Loaded

    session = branched()
    rows = list_forks(Loaded(session, "hand-made"), "main", config(tmp_path).settings)
    assert [(row.depth, row.after, row.calls, row.call) for row in rows] == [
        (0, 0, "6", 0),
        (1, 1, "4–5", 4),
        (1, 3, "6", 6),
    ]
    assert len(list_lines(session)) == 3
