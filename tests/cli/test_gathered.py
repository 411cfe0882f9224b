"""Commands take a folder that is one recording."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Run
from tests.services.recordings.test_gathering import logs


def test_commands_take_such_a_folder(ctxtui: Run, tmp_path: Path) -> None:
    folder = logs(tmp_path / "completions")
    found = ctxtui("show", folder, "--json").json
    assert (found["session"]["calls"], found["session"]["source"]) == (3, "llm log")
    assert ctxtui("import", folder, "--json").json["imported"][0]["calls"] == 3
    assert [one["path"] for one in ctxtui("sessions", folder, "--json").json["sessions"]] == [str(folder)]
