"""What an open session's source says of it."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from ctxtui.services import session_source
from ctxtui.services.config import package_data
from ctxtui.services.config.settings import Settings
from ctxtui.services.recordings.databases.address import address_of
from ctxtui.services.recordings.open import load
from ctxtui.services.session_source import SessionSource
from tests.services.recordings.test_database import database, opencode
from tests.services.recordings.test_follow_databases import say


def test_a_sample_is_not_live_though_a_clone_has_just_written_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample, other = tmp_path / "sample.jsonl", tmp_path / "other.jsonl"
    for path in (sample, other):
        shutil.copyfile(package_data.sample_paths()[0], path)
        os.utime(path)
    monkeypatch.setattr(session_source, "sample_paths", lambda: (sample,))
    live = [SessionSource(str(path), Settings()).is_live(load(path)) for path in (sample, other)]
    assert live == [False, True]


def test_a_session_in_a_database_is_live_while_its_client_writes_it(tmp_path: Path) -> None:
    path = database(tmp_path / "opencode.db", opencode())
    address = address_of(path, "ses_1")
    source = SessionSource(str(address), Settings())
    assert not source.is_live(load(address)), "its calls are old, though the file is new"
    say(path, int(time.time() * 1000), "one more")
    assert source.is_live(load(address))


def _pid(_: object) -> int:
    return os.getpid()


def test_closing_the_source_ends_its_child_processes() -> None:
    source = SessionSource("-", Settings())
    services = source._services
    workers = [services.counting._worker, services.prices._worker]
    pids = {worker.call(_pid) for worker in workers}  # type: ignore[attr-defined]
    assert len(pids) == 2 and os.getpid() not in pids
    source.close()
    assert [worker.attempt(_pid) for worker in workers] == [None, None]  # type: ignore[attr-defined]
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_source_without_services_is_closed_without_starting_any() -> None:
    source = SessionSource("-", Settings())
    source.close()
    assert "_services" not in source.__dict__
