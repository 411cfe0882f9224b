from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from msgspec.structs import replace

from ctxtui.core.call import Call
from ctxtui.core.session import Session
from ctxtui.core.usage import Usage
from ctxtui.services.config.projects import folder_name
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import book_for
from ctxtui.services.counting.counting import Counter
from ctxtui.services.editing.next_request import next_call_of
from ctxtui.services.library.glances import Glances
from ctxtui.services.library.library import SessionLibrary
from ctxtui.services.library.summarize import complete_summary
from ctxtui.services.recordings.open import load
from ctxtui.services.recordings.recording import Loaded
from ctxtui.services.workers.summary_worker import make, summarize
from ctxtui.transcripts.kit.dialogue import Ids, emit_sum
from ctxtui.views.model.session_summary import OVER, SessionSummary
from tests.cases import claude_code as claude_sessions
from tests.cases import codex as codex_sessions
from tests.cases.summaries import summarise
from tests.services.lookalike import ClaudeCode, claude_code, codex, lines


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CTXTUI_HOME", str(tmp_path / "ctxtui"))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "CTXTUI_DB"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def recording(home: Path, name: str, data: bytes, project: str = "-p") -> Path:
    path = home / ".claude/projects" / project / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def test_a_summary_says_what_the_session_says(home: Path) -> None:
    session = ClaudeCode()
    data = lines([*session.turns(2), *session.compaction("what was before"), *session.turns(1, "after")])
    path = recording(home, "a", data + b"{cut")
    found = summarise(path, Settings())
    loaded = load(path)
    calls = list(loaded.session.calls.values())
    inputs = [call.usage.input for call in calls if call.usage]
    assert (found.known, found.error, found.source) == (True, "", "claude code")
    assert (found.calls, found.model, found.cwd) == (6, "claude-opus-4-20250514", "/tmp/project")
    assert found.peak_tokens == max(inputs)
    assert inputs[found.peak_call - 1] == found.peak_tokens
    assert sum(tokens for _, tokens in found.composition_at_peak) == found.peak_tokens
    assert found.total_tokens == sum(inputs) + sum(call.usage.output for call in calls if call.usage)
    assert found.cost_usd is not None and found.cost_usd > 0
    assert found.read_share is not None and 0 < found.read_share < 1
    assert [column.tokens for column in found.growth] == inputs
    assert (found.compactions, found.skipped, found.lines) == (1, 1, data.count(b"\n"))
    assert found.window == 200_000 and found.usable == 150_000
    assert found.first_user_text.startswith("please do step 1")
    assert found.last_answer.startswith("Step 1 is done. after")
    assert found.models == (("claude-opus-4-20250514", 6),)
    assert [one.id for one in found.spent] == [call.id for call in calls]


def test_copied_calls_are_in_no_count_of_models(home: Path) -> None:
    session = ClaudeCode()
    copied = [{**record, "copiedBy": "ctxtui"} for record in session.turns(1)]
    found = summarise(recording(home, "a", lines([*copied, *session.turns(1, "after")])), Settings())
    assert found.copied and found.models == ((found.model, found.calls),)


def test_a_call_is_over_the_usable_part_of_its_own_window(tmp_path: Path) -> None:
    script = codex_sessions.Script()
    script.meta()
    for call, window in enumerate((100_000, 400_000, 100_000)):
        script.window = window
        script.event("task_started", turn_id="t", model_context_window=window)
        script.context()
        script.user(f"step {call}")
        script.says(f"done {call}")
        script.counts(90_000, 0, 20)
    path = tmp_path / "rollout-a.jsonl"
    path.write_bytes(script.dump())
    assert [OVER in call.marks for call in summarise(path, Settings()).spent] == [True, False, True]


def test_a_sum_of_calls_is_over_no_window() -> None:
    session = Session()
    usage = Usage(fresh=5_000_000)
    session.fold(emit_sum(session.tree, Ids(), Call("", "", model="claude-sonnet-5", usage=usage), ()))
    book = book_for(session, Counter(), Settings())
    found = complete_summary(
        SessionSummary(key="x"), Loaded(session, "x"), book, lambda call: None, lambda call: None, 0.75
    )
    assert [call.marks for call in found.spent] == [""]


def test_a_head_that_tells_no_title_is_read_once(tmp_path: Path) -> None:
    nameless = SessionSummary(key="a", id="a", title="a", source="llm", path=str(tmp_path / "logs.db#a"), size=3)
    assert Glances(Settings()).read_heads([nameless], 10.0)[1] == 0
    assert Glances(Settings()).read_heads([nameless], 0.0)[1] == 1


def test_an_unknown_model_has_no_price_rather_than_none(home: Path) -> None:
    session = ClaudeCode(model="homemade-7")
    found = summarise(recording(home, "a", lines(session.turns(1))), Settings())
    assert found.cost_usd is None
    priced = Settings(prices={"homemade-7": {"input": 1.0, "output": 2.0}})
    assert summarise(Path(found.path), priced).cost_usd is not None


def test_glimpses_come_from_names_and_figures_from_reading(home: Path) -> None:
    desk = home / "desk"
    desk.mkdir()
    mine = recording(home, "mine", claude_code(1), folder_name(desk))
    recording(home, "bad", b"\x7fELF\0\0")
    shelf = SessionLibrary(Settings(), desk)
    seen = [one for one in shelf.join_stored(shelf.list_fast()) if one.group != "samples"]
    assert {(one.key, one.group, one.known) for one in seen} == {
        (str(mine), "here", False),
        (str(home / ".claude/projects/-p/bad.jsonl"), "elsewhere", False),
    }
    assert all(one.live for one in seen)
    read = {Path(one.key).stem: one for one in shelf.figures(seen, threading.Event())}
    assert read["mine"].calls == 2
    assert "a program" in read["bad"].error
    assert shelf._children == []


def test_figures_take_what_is_wanted_next_and_stop_when_told(home: Path) -> None:
    for number in range(4):
        recording(home, str(number), claude_code(1, seed=number + 1))
    shelf = SessionLibrary(Settings(), home)
    asked = []
    stop = threading.Event()

    def wanted() -> object:
        for one in [s for s in shelf.list_fast() if s.group != "samples"]:
            asked.append(one.key)
            yield one

    figures = shelf.figures(wanted(), stop)  # type: ignore[arg-type]
    next(figures)
    assert len(asked) < 4
    stop.set()
    assert len(list(figures)) <= len(asked)


def test_a_session_of_the_store_alone_is_listed(home: Path) -> None:
    from ctxtui.services.config.paths import database
    from ctxtui.services.recordings.identity import source_info
    from ctxtui.store.store import Store

    path = recording(home, "gone", claude_code(2))
    loaded = load(path)
    with Store.open(database()) as store:
        id_ = store.import_session(loaded.session, source_info(loaded))
    shelf = SessionLibrary(Settings(), home)
    (one,) = [s for s in shelf.join_stored(shelf.list_fast()) if s.group != "samples"]
    assert (one.path, one.stored) == (str(path), id_)
    path.unlink()
    (one,) = [s for s in shelf.join_stored(shelf.list_fast()) if s.group != "samples"]
    assert (one.path, one.stored, one.known, one.size) == ("", id_, False, 4)
    assert [(s.calls, s.turns) for s in shelf.figures([one], threading.Event())] == [(4, 2)]
    assert [s.stored for s in shelf.refresh() if s.group != "samples"] == [id_]


def test_what_was_read_once_is_not_read_again(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = recording(home, "a", claude_code(1))
    status = path.stat()
    seen = SessionSummary(key=str(path), path=str(path), mtime=status.st_mtime, size=status.st_size)
    first = make()((seen, Settings()))
    monkeypatch.setattr("ctxtui.services.workers.summary_worker.load", lambda *_, **__: pytest.fail("read again"))
    assert make()((seen, Settings())) == first
    with pytest.raises(BaseException, match="read again"):
        make()((seen, Settings(usable_share=0.5)))


def test_the_newest_session_is_one_that_holds_a_context(home: Path) -> None:
    from ctxtui.services.recordings.discover import find_recordings
    from ctxtui.services.recordings.open import find_newest

    snapshot = b'{"type":"file-history-snapshot","messageId":"m","snapshot":{},"isSnapshotUpdate":false}\n'
    for age, name, data in ((3, "old", claude_code(1)), (2, "full", claude_code(2)), (1, "bare", snapshot)):
        os.utime(recording(home, name, data, folder_name(home)), (10_000 - age, 10_000 - age))
    here = find_newest(find_recordings(home), [home])
    assert here is not None and here.path.stem == "full"
    for one in find_recordings(home)[1:]:
        one.path.unlink()
    alone = find_newest(find_recordings(home), [home])
    assert alone is not None and alone.path.stem == "bare"


def test_a_session_of_codex_says_where_it_ran(home: Path) -> None:
    from ctxtui.services.recordings.discover import find_recordings, read_directories
    from ctxtui.services.recordings.open import find_newest

    path = home / ".codex/sessions/2026/01/02/rollout-x.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(codex(1, cwd='/data/my "app"/inner'))
    found = find_recordings(home)
    assert [one.cwd for one in read_directories(found, [])] == ['/data/my "app"/inner']
    here = find_newest(found, [Path('/data/my "app"')])
    assert here is not None and here.path == path
    assert find_newest(found, [Path("/data/my")]) is None


@pytest.mark.parametrize(("version", "advised"), [("2.1.62", True), ("2.1.300", False), ("3.0.0", False)])
def test_a_session_without_requests_says_how_its_client_keeps_them(home: Path, version: str, advised: bool) -> None:
    data = claude_code(1).replace(b"2.1.62", version.encode())
    found = summarise(recording(home, "a", data), Settings())
    assert found.client_version == version
    assert found.advice.startswith("OTEL_LOG_RAW_API_BODIES=file:DIR") is advised


@pytest.mark.parametrize("made", ["claude_code", "codex"])
def test_home_and_the_inspector_foretell_one_expiry_of_a_running_session(made: str, tmp_path: Path) -> None:
    name = "s.jsonl" if made == "claude_code" else "rollout-2026-01-01T00-00-00-0199.jsonl"
    data = claude_sessions.generate(n_messages=14, seed=1) if made == "claude_code" else codex_sessions.generate(12, 1)
    path = tmp_path / name
    path.write_bytes(data)
    settings, counter = Settings(), Counter()
    found = path.stat()
    seen = SessionSummary(key=str(path), path=str(path), mtime=found.st_mtime, size=found.st_size, live=True)
    told = summarize(seen, settings, counter)
    coming = next_call_of(load(path).session, counter, settings)
    assert coming is not None and told.expires == (coming.forecast.expires or 0.0)
    assert summarize(replace(seen, live=False), settings, counter).expires == 0.0
