"""Reading a long recording behind the screen."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest
from textual.message import Message

from ctxtui.services.config.settings import Settings
from ctxtui.services.recordings.recording import Loaded
from ctxtui.services.session_source import SessionSource
from ctxtui.tui.inspector.loader import Began, Brought, Complete, SessionLoader
from tests.cases.claude_code import generate


class _Screen:
    """Takes what is read, and goes when all of it is."""

    def __init__(self, path: Path) -> None:
        settings = Settings(data_dir=str(path.parent / "data"))
        self.loader = SessionLoader(SessionSource(str(path), settings), self.post)
        self.loaded: Loaded | None = None
        self.spared = 0
        """Objects that the collector did not look at any more when all was read."""

    def post(self, message: Message) -> None:
        if isinstance(message, Began):
            self.loaded = message.loaded
        elif isinstance(message, Brought) and self.loaded is not None:
            self.loaded.add_news(message.news)
            self.loader.on_displayed()
        elif isinstance(message, Complete):
            self.spared = gc.get_freeze_count()
            self.loader.stop()


def _read(path: Path, messages: int) -> _Screen:
    path.write_bytes(generate(n_messages=messages, bytes_per_message=200, seed=3))
    screen = _Screen(path)
    screen.loader.read()
    assert screen.loaded is not None
    return screen


@pytest.mark.slow
def test_the_collector_is_spared_a_long_session_until_its_screen_goes(tmp_path: Path) -> None:
    gc.unfreeze()
    short = _read(tmp_path / "short.jsonl", 100)
    assert short.spared == 0
    long = _read(tmp_path / "long.jsonl", 6_000)
    assert long.loaded is not None and long.spared > len(long.loaded.session.tree) > 10_000
    assert gc.get_freeze_count() == 0, "what the closed screen held may be collected"
