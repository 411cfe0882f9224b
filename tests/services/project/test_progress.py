"""Who waits for a project to be read is told how far it is."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ctxtui.services.config.package_data import model_table
from ctxtui.services.project.progress import ReadingProgress, report_progress
from ctxtui.services.project.report import Meter, count_project


def test_reading_and_counting_are_told(tmp_path: Path) -> None:
    for number in range(250):
        (tmp_path / f"{number}.txt").write_text(f"file {number}\n")
    heard: list[str] = []
    count_project(tmp_path, Meter(model_table().card("gpt-4o")), ReadingProgress(heard.append))
    assert heard[-1] == "250 of 250 files counted" and "100 of 250 files counted" in heard
    assert any(words.endswith("files read") for words in heard)


async def test_only_what_takes_long_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    heard, progress = asyncio.Event(), ReadingProgress()
    progress.files_counted(3, 7)

    async def slow() -> str:
        # Not done before a line was said.
        await heard.wait()
        return "done"

    def say(words: str) -> None:
        said.append(words)
        heard.set()

    monkeypatch.setattr("ctxtui.services.project.progress.FIRST_REPORT_SECONDS", 0.0)
    assert await report_progress(slow(), progress, say) == "done"
    assert said == ["the project: 3 of 7 files counted"]

    async def quick() -> str:
        return "at once"

    monkeypatch.setattr("ctxtui.services.project.progress.FIRST_REPORT_SECONDS", 60.0)
    assert await report_progress(quick(), progress, say) == "at once" and len(said) == 1


async def test_a_fault_comes_through() -> None:
    async def wrong() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await report_progress(wrong(), ReadingProgress(), lambda words: None)
