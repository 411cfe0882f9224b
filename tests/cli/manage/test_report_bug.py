"""`ctxtui report-bug`: what the file holds, and that nothing planted anywhere gets into it."""

from __future__ import annotations

import json
import os
import random
import stat
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from ctxtui.core.session import Described, Happened
from ctxtui.services.bug_report import make_report
from ctxtui.services.config.config import load
from ctxtui.services.config.crash_log import write_crash
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.counting import Counter
from ctxtui.services.opened_session import OpenedSession
from ctxtui.services.recordings.recording import Loaded
from ctxtui.store.store import Store
from tests.cases.sessions import Story
from tests.cli.conftest import Run
from tests.conftest import THOROUGH
from tests.corpus import ROOT
from tests.store.builders import FILE, talk

SMALL = ROOT / "tests" / "store" / "old" / "small.jsonl"
SAMPLE = ROOT / "sessions" / "2-lluma-musume.jsonl"
SECRET = "Zq7harbour{}Xw"
"""Planted texts; none of their parts is a word of the program."""
MARK = SECRET.partition("{")[0].lower()


def leaks(report: Any, *more: str) -> list[str]:
    text = json.dumps(report, ensure_ascii=False).lower()
    return [word for word in (MARK, *more) if word.lower() in text]


def plant(value: Any, chance: random.Random, share: float) -> Any:
    """Put a secret into or in place of some of the texts, keys of objects included."""
    if isinstance(value, dict):
        return {plant(key, chance, share / 20): plant(inner, chance, share) for key, inner in value.items()}
    if isinstance(value, list):
        return [plant(inner, chance, share) for inner in value]
    if isinstance(value, str) and chance.random() < share:
        secret = SECRET.format(chance.randrange(1000))
        return chance.choice([secret, f"{value} {secret}", f"{secret}\n{value}"])
    return value


def bodies() -> list[Any]:
    """Two requests, the second longer, with every kind of part."""
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    call = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a.py"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "x = 1"}]}
    first = [{"role": "user", "content": [picture, {"type": "text", "text": "dredge it"}]}]
    more = [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    tool = {"name": "read", "description": "Reads.", "input_schema": {"type": "object", "properties": {"path": {}}}}
    fields = {"model": "claude-sonnet-4-5", "max_tokens": 99, "system": "Be brief.", "tools": [tool]}
    return [{**fields, "messages": first}, {**fields, "messages": [*first, *more]}]


def claude_code() -> list[Any]:
    return [json.loads(line) for line in SMALL.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("share", [0.03, 0.2, 1.0])
@pytest.mark.parametrize("records", [bodies, claude_code])
def test_nothing_of_a_made_up_session_gets_in(
    home: Path, tmp_path: Path, records: Callable[[], list[Any]], share: float
) -> None:
    """Texts, names, ids, kinds and keys are replaced at random; what cannot be read any more leaks nothing either."""
    folder = tmp_path / SECRET.format("")
    folder.mkdir()
    env = {**os.environ, "TERM": f"xterm-{SECRET.format(2)}"}
    blocks = secrets = 0
    for seed in range(30 if THOROUGH else 4):
        recording = folder / f"{SECRET.format(seed)}.jsonl"
        planted = plant(records(), random.Random(seed), share)
        recording.write_text("".join(json.dumps(record) + "\n" for record in planted), encoding="utf-8")
        secrets += recording.read_text(encoding="utf-8").lower().count(MARK)
        report = make_report(load(), folder, env, str(recording))
        assert not leaks(report, str(tmp_path), "dredg", "toolu_", "msg_01")
        blocks += sum(len(thread["last_context"]) for thread in report["session"].get("threads", ()))
    assert secrets and (blocks or share > 0.5), "nothing was planted, or nothing could be read"


def test_settings_variables_crashes_and_stored_sessions_leave_nothing(
    ctxtui: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "ctxtui"
    (folder / "readers").mkdir(parents=True)
    word = SECRET.format(3)
    (folder / "readers" / f"{word}.py").write_text(f"raise ValueError('{word}')\n")
    (folder / "config.toml").write_text(
        f'theme = "{word}"\nhorizon = 33\nglyphs = "ascii"\n[themes.{word}]\nprimary = "#123456"\n'
        f'[windows]\n"{word}" = 12345\n[prices."{word}"]\ninput = 7.5\noutput = 1\n'
    )
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "CTXTUI_DATA_DIR_" + word.upper(), "TERM_PROGRAM", "LANG"):
        monkeypatch.setenv(name, f"sk-ant-api03-{word}")
    with Store.open(folder / "ctxtui.db") as store:
        store.import_session(talk(4, id_=word), FILE)
        store.tag(word, [word])
    crash_with(word, tmp_path)
    ran = ctxtui("report-bug", word, "-o", "bug.json")
    assert ran.code == 0, ran.err
    report = json.loads(Path("bug.json").read_text())
    assert not leaks(report, str(tmp_path), str(home), "#123456", "12345")
    settings = {row["name"]: row["value"] for row in report["settings"]}
    assert settings == {
        "theme": f"text of {len(word)}", "horizon": 33, "glyphs": "ascii", "themes": "table of 1",
        "windows": "table of 1", "prices": "table of 1",
    }  # fmt: skip
    assert report["database"]["rows"]["calls"] == 4 and report["plugins"]["readers"] == 1
    assert [len(thread["calls"]) for thread in report["session"]["threads"]] == [4]


def crash_with(word: str, folder: Path) -> None:
    """Log a crash with `word` in its messages, types, files and functions, and in the arguments."""
    fake = f'{word}\n  File "/{word}.py", line 3, in {word}\nplaces: ["{word}"]\n{word}: {word}'
    code = f"class {word}(Exception): pass\ndef {word}(x):\n    raise {word}(x)\n"
    module: dict[str, Any] = {}
    exec(compile(code, str(folder / f"{word}.py"), "exec"), module)
    try:
        try:
            module[word](fake)
        except Exception as error:
            raise ValueError(fake) from error
    except ValueError as error:
        write_crash(error, ["show", f"/home/{word}", fake], session=fake)


def test_a_crash_is_told_by_types_and_places(ctxtui: Run, tmp_path: Path) -> None:
    try:
        json.loads("{")
    except ValueError as error:
        write_crash(error, ["show"])
    ctxtui("report-bug", "-o", "bug.json")
    crash = json.loads(Path("bug.json").read_text())["crash"]
    (error_,) = crash["errors"]
    assert error_["type"] == "JSONDecodeError"
    files = [frame["file"] for frame in error_["frames"]]
    assert (
        files[0] == "elsewhere"
        and files[1:]
        and set(files[1:]) <= {"python/json/__init__.py", "python/json/decoder.py"}
    )
    assert error_["frames"][1].keys() == {"file", "line", "function"}


def test_it_tells_what_is_in_the_file_and_where_it_is(ctxtui: Run) -> None:
    ran = ctxtui("report-bug", SAMPLE, "-o", "bug.json")
    assert ran.code == 0 and ran.out.startswith("bug.json: without texts of sessions, paths and keys")
    file = Path("bug.json")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    report = json.loads(file.read_text())
    assert [line.split()[0] for line in ran.out.splitlines()[1:]] == [
        "versions", "platform", "settings", "clients", "database", "crash", "session"
    ]  # fmt: skip
    assert report["versions"]["python"] == ".".join(map(str, sys.version_info[:3]))
    shown = ctxtui("show", SAMPLE, "--json").json
    (thread,) = report["session"]["threads"]
    last = thread["calls"][-1]
    assert (last["number"], last["context_tokens"], last["residual"]) == (
        shown["call"], shown["context_tokens"], shown["residual"]
    )  # fmt: skip
    assert len(thread["last_context"]) == len(shown["blocks"])
    assert ctxtui("report-bug", "-o", "bug.json").code == 7, "nothing is overwritten"
    assert ctxtui("report-bug", "-o", "bug.json", "--force", "--json").json["path"] == "bug.json"


def test_equal_ids_are_equal_in_one_file_and_differ_in_the_next(ctxtui: Run) -> None:
    ids = []
    for name in ("a.json", "b.json"):
        ctxtui("report-bug", SAMPLE, "-o", name)
        report = json.loads(Path(name).read_text())
        ids.append([row["id"] for row in report["session"]["threads"][0]["last_context"]])
    digests = [row["digest"] for row in ctxtui("show", SAMPLE, "--json").json["blocks"]]
    assert [ids[0].index(one) for one in ids[0]] == [digests.index(one) for one in digests]
    assert not {*ids[0]} & {*ids[1]}


def test_faulty_settings_an_unknown_session_and_a_newer_database_are_reported(ctxtui: Run, tmp_path: Path) -> None:
    folder = tmp_path / "ctxtui"
    with Store.open(folder / "ctxtui.db") as store:
        store._conn.execute("PRAGMA user_version=99")
    (folder / "config.toml").write_text("horizon = 'x'\n")
    ran = ctxtui("report-bug", "no-such-session", "-o", "bug.json")
    assert ran.code == 0 and "the settings are left out: horizon must be" in ran.err
    report = json.loads(Path("bug.json").read_text())
    assert report["settings"] is None
    assert report["database"] == {"exists": True, "schema": 99, "error": "Unreadable"}


def test_a_session_that_crashes_is_told_by_the_type_alone(ctxtui: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object, **__: object) -> None:
        raise ValueError(SECRET.format(1))

    monkeypatch.setattr("ctxtui.services.bug_report.open_session", crash)
    ran = ctxtui("report-bug", SAMPLE, "-o", "bug.json")
    assert ran.code == 0 and "  session   it cannot be read: ValueError\n" in ran.out
    report = json.loads(Path("bug.json").read_text())
    assert report["session"]["error"] == "ValueError" and not leaks(report) and MARK not in ran.out.lower()


def test_the_shape_of_a_session_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story().user("look").call("yes").user("go on").call("so")
    story.session.fold([Described(source=SECRET.format(2)), Happened("note", SECRET.format(3))])
    opened = OpenedSession(Loaded(story.session, "story"), Settings(), Counter())
    monkeypatch.setattr("ctxtui.services.bug_report.open_session", lambda *_, **__: nullcontext(opened))
    shape = make_report(load(), Path.cwd(), os.environ, "story")["session"]
    assert not leaks(shape) and shape["format"] == "other" and shape["happenings"] == 1 == len(story.session.happenings)
    # The second call sends the header and the text of the first again.
    assert [(call["blocks"], call["blocks_as_before"]) for call in shape["threads"][0]["calls"]] == [(2, 0), (6, 2)]


def test_a_damaged_database_is_reported(ctxtui: Run, tmp_path: Path) -> None:
    folder = tmp_path / "ctxtui"
    folder.mkdir(exist_ok=True)
    for damaged in (b"SQLite format 3\0garbage", bytes(range(256)) * 20):
        (folder / "ctxtui.db").write_bytes(damaged)
        ran = ctxtui("report-bug", "-o", "bug.json", "--force")
        assert ran.code == 0 and "  database  it cannot be read: Unreadable\n" in ran.out
        report = json.loads(Path("bug.json").read_text())
        assert report["database"] == {"exists": True, "schema": None, "error": "Unreadable"}
        assert (folder / "ctxtui.db").read_bytes() == damaged


def test_a_target_that_cannot_be_written_is_refused_in_one_line(ctxtui: Run, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for target, message in (
        (pipe, "this is not a regular file"),
        (tmp_path / "missing" / "bug.json", "cannot be written: No such file or directory"),
    ):
        ran = ctxtui("report-bug", "-o", target, "--force")
        assert ran.code == 7 and ran.err.startswith(f"ctxtui: {message} @ {target}") and not ran.out
    assert stat.S_ISFIFO(pipe.stat().st_mode), "it is not replaced"


def test_a_crash_message_names_the_command(ctxtui: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr("ctxtui.cli.manage.report_bug.make_report", crash)
    ran = ctxtui("report-bug")
    assert ran.code == 1 and "please report it: `ctxtui report-bug` writes a file without content" in ran.err
