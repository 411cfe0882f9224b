"""Where things are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxtui.core.errors import BadConfig
from ctxtui.services.config import paths


def test_one_variable_moves_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    env = {"CTXTUI_HOME": str(tmp_path)}
    assert paths.data_dir(env=env) == tmp_path
    assert paths.database(env=env) == tmp_path / "ctxtui.db"
    assert paths.config_file(env).parent == tmp_path
    monkeypatch.setenv("CTXTUI_HOME", str(tmp_path))
    assert tmp_path in paths.log_dir().parents


def test_the_database_alone_can_be_elsewhere(tmp_path: Path) -> None:
    env = {"CTXTUI_HOME": str(tmp_path), "CTXTUI_DB": str(tmp_path / "other.sqlite")}
    assert paths.database(env=env) == tmp_path / "other.sqlite"
    assert paths.data_dir(env=env) == tmp_path


def test_a_setting_beats_the_home_but_not_the_named_file(tmp_path: Path) -> None:
    env = {"CTXTUI_HOME": "/elsewhere"}
    assert paths.database(str(tmp_path), env) == tmp_path / "ctxtui.db"
    assert paths.database(str(tmp_path), {"CTXTUI_DB": "/a/b.db"}) == Path("/a/b.db")


def test_empty_variables_are_absent_and_names_are_made_absolute(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert paths.database(env={"CTXTUI_DB": "x.db"}) == tmp_path / "x.db"
    assert paths.database(env={"CTXTUI_DB": "~/x.db"}) == tmp_path / "x.db"
    assert paths.data_dir(env={"CTXTUI_HOME": "", "CTXTUI_DB": ""}).name == "ctxtui"
    assert not any(path.exists() for path in (tmp_path / "x.db", tmp_path / ".local"))


def test_an_unknown_home_is_named() -> None:
    with pytest.raises(BadConfig, match=r"nobody-here.*CTXTUI_HOME"):
        paths.data_dir(env={"CTXTUI_HOME": "~nobody-here/x"})
