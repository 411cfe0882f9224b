"""The status line goes into a client's settings and out of them again, and every other byte of the file stays."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctxtui.core.errors import BadConfig, CtxtuiError
from ctxtui.services.attach import status_install
from ctxtui.services.attach.status_install import MEMBER, install, is_ours, remove, remove_everywhere

OTHER = {"type": "command", "command": "sh ~/line.sh", "padding": 0}
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda own: st.lists(own) | st.dictionaries(st.text(), own)
)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CTXTUI_HOME", str(tmp_path / "ctxtui"))
    return tmp_path


# Each example writes files and takes them away again.
FILES = settings(
    max_examples=300 if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else 20,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.mark.slow
@given(
    members=st.dictionaries(st.text().filter(lambda name: name != MEMBER), values),
    indent=st.sampled_from([None, 0, 1, 2, 4, "\t"]),
    ascii_=st.booleans(),
    around=st.sampled_from(["", "\n", "\r\n", "  \n\n"]),
    line=st.sampled_from([None, OTHER]),
)
@FILES
def test_what_was_put_in_is_taken_out_to_the_byte(
    members: dict[str, Any], indent: int | str | None, ascii_: bool, around: str, line: Any, place: Path
) -> None:
    file = place / "settings.json"
    before = {**members, MEMBER: line} if line else members
    text = around + json.dumps(before, indent=indent, ensure_ascii=ascii_) + around
    data = text.encode("utf-8", "surrogatepass")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return  # no file holds half a character
    file.write_bytes(data)
    made = install(file, replace=True)
    assert made is not None and install(file, replace=True) is None
    after = json.loads(file.read_bytes())
    assert is_ours(after[MEMBER]) and {**after, MEMBER: line} == {**before, MEMBER: line}
    assert made.backup is not None and made.backup.read_bytes() == data
    assert remove(file) is not None and file.read_bytes() == data
    assert not made.backup.exists() and remove(file) is None


def test_the_line_of_an_installation_that_is_gone_is_replaced_and_the_one_before_comes_back(place: Path) -> None:
    file = place / "settings.json"
    file.write_text(json.dumps({MEMBER: OTHER}))
    assert install(file, replace=True) is not None
    file.write_text(file.read_text().replace(json.dumps(status_install.command())[1:-1], "/gone/bin/ctxtui statusline"))
    made = install(file, replace=False)
    assert made is not None and json.loads(file.read_text())[MEMBER]["command"] == status_install.command()
    assert install(file, replace=False) is None
    assert remove(file) is not None and json.loads(file.read_text()) == {MEMBER: OTHER}


@given(
    members=st.dictionaries(st.text(max_size=5).filter(lambda name: name != MEMBER), values, max_size=4), data=st.data()
)
@FILES
def test_what_somebody_else_wrote_since_stays(members: dict[str, Any], data: st.DataObject, place: Path) -> None:
    file = place / "settings.json"
    file.write_text(json.dumps(members))
    made = install(file, replace=False)
    assert made is not None
    # The client writes the file anew, with members of its own before and behind.
    held = {"theme": "dark", **json.loads(file.read_bytes())}
    names = data.draw(st.permutations(list(held)))
    file.write_text(json.dumps({name: held[name] for name in names}, indent=data.draw(st.sampled_from([None, 2]))))
    own = file.read_text()
    assert remove(file) is not None
    left = json.loads(file.read_bytes())
    assert left == {name: value for name, value in json.loads(own).items() if name != MEMBER}
    assert made.backup is not None and made.backup.exists()
    made.backup.unlink()


def test_a_file_that_was_not_there_goes_again(place: Path) -> None:
    file = place / "new" / "settings.json"
    made = install(file, replace=False)
    assert made is not None and made.backup is None and file.stat().st_mode & 0o777 == 0o600
    assert remove(file) is not None and not file.exists()


def test_another_line_is_not_replaced_unasked(place: Path) -> None:
    file = place / "settings.json"
    file.write_text(json.dumps({MEMBER: OTHER}))
    with pytest.raises(CtxtuiError, match="another status line"):
        install(file, replace=False)
    assert json.loads(file.read_text()) == {MEMBER: OTHER} and remove(file) is None


@pytest.mark.parametrize("text", ["{", "[]", "{// mine\n}", "\xff"])
def test_a_file_that_is_no_object_is_left_alone(place: Path, text: str) -> None:
    file = place / "settings.json"
    file.write_bytes(text.encode("latin-1"))
    for what in (lambda: install(file, replace=True), lambda: remove(file)):
        with pytest.raises(BadConfig):
            what()
    assert file.read_bytes() == text.encode("latin-1")


def test_a_link_stays_a_link_and_keeps_its_mode(place: Path) -> None:
    real, file = place / "dotfiles.json", place / "settings.json"
    real.write_text('{"a": 1}')
    real.chmod(0o640)
    file.symlink_to(real)
    assert install(file, replace=False) is not None
    assert file.is_symlink() and json.loads(real.read_text())["a"] == 1 and os.stat(file).st_mode & 0o777 == 0o640
    assert remove(file) is not None and file.is_symlink() and real.read_text() == '{"a": 1}'


def test_everything_that_was_put_in_is_taken_out(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [place / name / "settings.json" for name in ("one", "two")]
    for file in files:
        install(file, replace=False)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(place / "one"))
    assert status_install.settings_file() == files[0]
    assert remove_everywhere() == files and not any(file.exists() for file in files)
    assert remove_everywhere() == []
