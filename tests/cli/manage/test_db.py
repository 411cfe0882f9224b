"""`ctxtui db`: the database from the command line."""

from __future__ import annotations

import json
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from ctxtui.cli.run import run
from ctxtui.store.rows import SourceInfo
from ctxtui.store.schema.connect import SCHEMA_VERSION
from ctxtui.store.store import Store
from tests.store.builders import talk

DAY = 86_400


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CTXTUI_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CTXTUI_DB", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


@pytest.fixture
def filled(home: Path) -> Path:
    path = home / "ctxtui.db"
    with Store.open(path) as store:
        for seed in (1, 2):
            store.import_session(talk(5, seed=seed), SourceInfo(f"/{seed}"))
    return path


def answer(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[str, Any]:
    assert run([*arguments, "--json"]) == code
    value: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert value["schema_version"] == 1
    return value


def test_path_makes_nothing(home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(["db", "path"]) == 0
    assert capsys.readouterr().out == f"{home / 'ctxtui.db'}\n"
    assert answer(capsys, "db", "path")["exists"] is False
    assert answer(capsys, "db", "info") == {"schema_version": 1, "path": str(home / "ctxtui.db"), "exists": False}
    assert answer(capsys, "db", "prune", "--older-than", "30d")["pruned"] == []
    assert not home.exists()
    monkeypatch.setenv("CTXTUI_DB", "/elsewhere/x.db")
    assert answer(capsys, "db", "path")["path"] == "/elsewhere/x.db"


def test_info_says_how_large_and_how_full(filled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "db", "info")
    assert (found["path"], found["exists"], found["database_schema"]) == (str(filled), True, SCHEMA_VERSION)
    assert (found["rows"]["sessions"], found["rows"]["calls"], found["calls_once"]) == (2, 10, 10)
    assert 0 < found["ratio"] < 1
    assert found["size"] == filled.stat().st_size
    assert run(["db", "info"]) == 0
    assert "each counted once" in capsys.readouterr().out


def test_backup_goes_beside_the_database_or_where_it_is_told(
    filled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    beside = Path(answer(capsys, "db", "backup")["backup"])
    assert beside.parent == filled.parent
    named = answer(capsys, "db", "backup", "copy.db")
    assert named["backup"] == str(tmp_path / "copy.db")
    assert stat.S_IMODE((tmp_path / "copy.db").stat().st_mode) == 0o600
    with Store.open(tmp_path / "copy.db") as store:
        assert len(store.sessions()) == 2
    missing = answer(capsys, "db", "backup", "missing/copy.db", code=7)["error"]
    assert "No such file" in missing["message"] and missing["place"] == "missing/copy.db"
    refused = answer(capsys, "db", "backup", "copy.db", code=7)
    assert "already" in refused["error"]["message"]


def test_without_a_database_there_is_nothing_to_copy(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("backup", "vacuum"):
        assert answer(capsys, "db", command, code=5)["error"]["kind"] == "not found"


def test_vacuum_says_what_it_gained(filled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Store.open(filled) as store:
        big = store.import_session(talk(400, seed=3), SourceInfo("/3"))
        store.delete(big)
    sizes = answer(capsys, "db", "vacuum")
    assert sizes["after"] < sizes["before"]
    assert sizes["after"] == filled.stat().st_size


def test_prune_deletes_by_age(filled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    years = f"{int((time.time() - 1.7e9) / DAY) + 2}d"
    assert answer(capsys, "db", "prune", "--older-than", years)["pruned"] == []
    would = answer(capsys, "db", "prune", "--older-than", "30d", "--dry-run")
    assert (sorted(would["pruned"]), would["dry_run"]) == (["session-1", "session-2"], True)
    assert answer(capsys, "db", "info")["rows"]["sessions"] == 2
    assert run(["db", "prune", "--older-than", "4w"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "2 sessions deleted"
    assert answer(capsys, "db", "info")["rows"]["blocks"] == 0


@pytest.mark.parametrize("age", ["30", "d", "-3d", "3 years", "1e3d", ""])
def test_an_age_needs_a_unit(age: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["db", "prune", "--older-than", age]) == 2
    assert "such as 30d" in capsys.readouterr().err


def run_doctor(capsys: pytest.CaptureFixture[str]) -> str:
    """What `doctor` finds wrong with the database."""
    checks = {check["name"]: check for check in answer(capsys, "doctor", code=8)["checks"]}
    assert checks["database"]["state"] == "failed"
    return str(checks["database"]["text"])


def test_a_folder_with_the_name_of_the_database(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "ctxtui.db").mkdir(parents=True)
    assert "path is a folder" in run_doctor(capsys)
    assert answer(capsys, "db", "info", code=4)["error"]["place"] == str(home / "ctxtui.db")


def test_a_damaged_database_ends_with_4_and_a_way_out(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home.mkdir()
    (home / "ctxtui.db").write_bytes(b"no database" * 999)
    assert "no SQLite file" in run_doctor(capsys)
    error = answer(capsys, "db", "info", code=4)["error"]
    assert "restore a backup" in error["way_out"]
    assert error["place"] == str(home / "ctxtui.db")
