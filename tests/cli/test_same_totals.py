"""One sum: Home, the header, `cost`, `show` and `sessions` say the same calls and the same money, with subagents and
without."""

from __future__ import annotations

import json
from pathlib import Path
from threading import Event

import pytest
from msgspec.structs import replace

from ctxtui.analysis.money.totals import main_thread
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import book_for
from ctxtui.services.counting.counting import Counter
from ctxtui.services.counting.pricing import local_pricer, prices_for
from ctxtui.services.library.library import SessionLibrary
from ctxtui.services.library.totals.spending import session_totals_of
from ctxtui.services.recordings.open import load
from ctxtui.services.study.study import Study
from ctxtui.views.home.collection import Collection
from ctxtui.views.home.columns import row
from ctxtui.views.inspector import header
from ctxtui.views.lists.costs.bill import describe_spending
from ctxtui.views.text import numbers
from ctxtui.views.text.span import plain
from tests.cases.summaries import summarise
from tests.cli.conftest import Run
from tests.corpus import ROOT, need_corpus
from tests.sampling import few
from tests.services.lookalike import ClaudeCode, claude_code, codex, lines, subagent

SAMPLES = sorted((ROOT / "sessions").glob("*.jsonl"))
UNKNOWN = "homemade-7"


def with_subagents(folder: Path, own: str = "", model: str = "claude-opus-4-20250514") -> Path:
    """A session of six calls whose two subagents made four more; those of the second are of another model."""
    client = ClaudeCode(model=model)
    path = folder / f"{client.session}.jsonl"
    path.write_bytes(lines(client.turns(3)))
    below = folder / client.session / "subagents"
    below.mkdir(parents=True)
    (below / "agent-abc123.jsonl").write_bytes(subagent(client))
    other = ClaudeCode(1, own or model, client.cwd)
    other.session = client.session
    (below / "agent-def456.jsonl").write_bytes(subagent(other, "def456"))
    return path


def said_alike(ctxtui: Run, path: Path) -> dict[str, object]:
    """Every place's sums of the session in `path`, which must be equal."""
    shown = ctxtui("show", path, "--json").json["session"]
    totals = shown["totals"]
    assert shown["calls"] == totals["calls"]
    cost = ctxtui("cost", path, "--json").json
    assert cost["totals"] == totals
    assert (cost["calls"], cost["unpriced_calls"]) == (totals["calls"], totals["unpriced_calls"])
    assert cost["total_usd"] == pytest.approx(totals["cost_usd_at_least"])
    home = summarise(path, Settings())
    remembered = session_totals_of(home).as_fields()
    assert flat(remembered) == pytest.approx(flat(totals))
    assert (home.calls, home.subagents) == (totals["calls"], totals["subagents"]["threads"])
    words = describe_spending(session_totals_of(home))
    assert words in ctxtui("show", path).out
    listed = json.loads(ctxtui("sessions", path.parent, "--figures", "--json").out)["sessions"]
    (mine,) = [one for one in listed if one["path"] == str(path)]
    assert flat(mine["totals"]) == pytest.approx(flat(totals))
    assert mine["calls"] == totals["calls"] and mine["cost_usd"] == pytest.approx(totals["cost_usd"])
    assert (
        cost["partial_calls"]
        == totals["partial_calls"]
        == ctxtui("cost", "--why", path, "--json").json["partial_calls"]
    )
    said_by_the_header(path, totals, plain(row(home, 160, 0.0)))
    return totals


def flat(found: dict[str, object]) -> dict[str, float]:
    """All figures of a sum; None is -1."""
    out: dict[str, float] = {}
    for name, value in found.items():
        if isinstance(value, dict):
            out |= {f"{name}.{key}": own for key, own in flat(value).items()}
        else:
            out[name] = -1.0 if value is None else float(value)  # type: ignore[arg-type]
    return out


def said_by_the_header(path: Path, totals: dict[str, object], home: str) -> None:
    """The header at the last call of the main thread, as the inspector draws it, beside Home's row."""
    settings = Settings()
    session = load(path).session
    book = book_for(session, Counter(), settings)
    study = Study(session, book, Counter(), local_pricer(prices_for(settings)))
    known = study.thread(main_thread(session))
    while study.work():
        pass
    assert study.totals is not None and flat(study.totals.as_fields()) == pytest.approx(flat(totals))
    scene = study.scene(known.thread, len(known.calls) - 1)
    made = header.header(scene, "recorded", known.spent[-1], True)
    made = replace(made, partial=known.lacking[-1] > 0, totals=study.totals)
    text = plain(header.draw_header(made, 160))
    for figure in figures_of(totals):
        assert figure in text, text
    # Home's row has the whole in its narrow column.
    assert figures_of(totals)[-1].replace(" ", "") in home, home


def figures_of(totals: dict[str, object]) -> list[str]:
    """The money as a screen says it: the main thread's, then the whole where there is more."""
    parts = [totals["main"], *([totals] if totals["subagents"]["calls"] else [])]  # type: ignore[index]
    return [
        numbers.least(one["cost_usd_at_least"], one["unpriced_calls"] + one["partial_calls"] > 0)  # type: ignore[index]
        for one in parts
    ]


def test_a_session_with_subagents_says_both_sums_everywhere(ctxtui: Run, tmp_path: Path) -> None:
    found = said_alike(ctxtui, with_subagents(tmp_path))
    assert found["calls"] == 10 and found["main"]["calls"] == 6  # type: ignore[index]
    assert found["subagents"]["threads"] == 2 and found["subagents"]["calls"] == 4  # type: ignore[index]


def test_where_a_price_is_missing_the_least_is_said_everywhere(ctxtui: Run, tmp_path: Path) -> None:
    path = with_subagents(tmp_path, own=UNKNOWN)
    found = said_alike(ctxtui, path)
    assert found["cost_usd"] is None and found["cost_usd_at_least"] > 0 and found["unpriced_calls"] == 2  # type: ignore[operator]
    assert found["main"]["cost_usd"] is not None  # type: ignore[index]
    listed = ctxtui("sessions", path.parent, "--figures").out
    assert "≥$" in listed and "unknown" not in listed


def test_where_answers_are_reported_in_part_the_least_is_said_everywhere(ctxtui: Run, tmp_path: Path) -> None:
    path = tmp_path / "part.jsonl"
    # As Claude Code wrote them down for months: the report of a message's start, and no stop reason.
    records = [json.loads(line) for line in lines(ClaudeCode().turns(3)).splitlines()]
    answers = [one["message"] for one in records if one["type"] == "assistant"]
    for one in answers[:-1]:
        one["stop_reason"], one["usage"]["output_tokens"] = None, 1
    path.write_bytes(b"".join(json.dumps(one).encode() + b"\n" for one in records))
    found = said_alike(ctxtui, path)
    calls = load(path).session.calls.values()
    assert found["partial_calls"] == sum(call.is_partial for call in calls) == len(calls) - 1
    assert found["cost_usd"] is None and found["cost_usd_at_least"] > 0 and found["unpriced_calls"] == 0  # type: ignore[operator]
    assert found["tokens"] == sum(call.usage.input + call.output for call in calls if call.usage)
    assert all(call.output > 1 for call in calls)
    assert "≥$" in ctxtui("sessions", path.parent, "--figures").out
    for words in (["cost", path], ["why", path], ["show", path], ["report", path], ["stats", path.parent]):
        assert "≥ $" in ctxtui(*words).out, words
    told = ctxtui("cost", "--why", path).out
    assert f"{found['partial_calls']} answers in part; by ctxtui's count" in told
    checked = ctxtui("check", path, "--max-cost", "99", "--json")
    (figures,) = (one["figures"] for one in checked.json["files"])
    assert checked.code == 0 and ctxtui("check", path, "--max-cost", "1").code == 9
    assert figures["cost_usd"] is None and figures["partial_calls"] == found["partial_calls"]
    threads = ctxtui("show", path, "--json", "--threads", "--phases").json
    assert threads["threads"][0]["cost_usd"] is None and threads["threads"][0]["cost_usd_at_least"] > 0
    assert sum(one["partial_calls"] for one in threads["phases"]["phases"]) == found["partial_calls"]
    stored = ctxtui("import", path)
    assert stored.code == 0, stored.err
    assert shelf_partials() == found["partial_calls"]


def shelf_partials() -> int:
    """The calls with an answer in part, by the database's own rows."""
    shelf = SessionLibrary(Settings(), Path.cwd())
    return max(one.partial for one in shelf.figures(shelf.all_sessions(), Event()))


def test_a_session_without_any_price_is_unknown_and_not_nothing(ctxtui: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines(ClaudeCode(model=UNKNOWN).turns(2)))
    found = said_alike(ctxtui, path)
    assert found["cost_usd"] is None and found["cost_usd_at_least"] is None and found["unpriced_calls"] == 4


def test_free_calls_cost_nothing_and_are_not_unknown(ctxtui: Run, tmp_path: Path) -> None:
    path = tmp_path / "free.jsonl"
    path.write_bytes(lines(ClaudeCode(model="offline").turns(2)))
    found = said_alike(ctxtui, path)
    assert (found["cost_usd"], found["unpriced_calls"]) == (0.0, 0)
    assert "$0.000" in ctxtui("cost", path).out


@pytest.mark.parametrize("path", few(SAMPLES), ids=lambda path: path.stem)
def test_samples_say_the_same_sums_everywhere(ctxtui: Run, path: Path) -> None:
    said_alike(ctxtui, path)


def test_codex_sessions_say_the_same_sums_everywhere(ctxtui: Run, tmp_path: Path) -> None:
    path = tmp_path / "rollout-2026-01-01T00-00-00-00000000-0000-7000-8000-000000000001.jsonl"
    path.write_bytes(codex(4))
    said_alike(ctxtui, path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "claude_code/happy-cli__400429ba.jsonl",
        "claude_code/entire-cli__d0_161e0df1cb_0.jsonl",
        "codex/agentv__3c_162d1d8ad4_1.rollout.jsonl",
    ],
)
def test_recorded_sessions_say_the_same_sums_everywhere(ctxtui: Run, tmp_path: Path, name: str) -> None:
    (path,) = need_corpus(*name.rsplit("/", 1))
    # Alone in a folder: `sessions FOLDER` reads all that is there.
    copy = tmp_path / "one" / path.name
    copy.parent.mkdir()
    copy.write_bytes(path.read_bytes())
    found = said_alike(ctxtui, copy)
    if "happy" in name:
        # 334 of its answers are reported at their beginning alone.
        assert (found["calls"], found["partial_calls"], found["cost_usd"]) == (406, 334, None)
        main = found["main"]
        assert (main["calls"], round(main["cost_usd_at_least"], 2)) == (320, 55.76)  # type: ignore[index]
        assert round(found["cost_usd_at_least"], 2) == 62.43  # type: ignore[call-overload]
        assert found["subagents"]["threads"] == 7  # type: ignore[index]


# Copies


def test_a_masked_copy_and_exported_files_add_nothing(ctxtui: Run, home: Path, tmp_path: Path) -> None:
    projects = home / ".claude" / "projects" / "-tmp-project"
    projects.mkdir(parents=True)
    name = "00000000-1111-4222-8333-444444444444"
    path = projects / f"{name}.jsonl"
    path.write_bytes(claude_code(3))
    before = ctxtui("cost", "--all", "--json").json["totals"]
    assert before["calls"] == 6 and shelf_totals() == (before["tokens"], pytest.approx(before["cost_usd"]), 0)

    assert ctxtui("session", "scrub", path, "--as", "masked").code == 0
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / path.name).write_bytes(path.read_bytes())
    for form in ("ctxtui", "claude-code"):
        assert ctxtui("export", path, "--to", form, "-o", folder / f"copy-{form}.jsonl").code == 0
    assert ctxtui("export", "masked", "--to", "ctxtui", "-o", folder / "masked.jsonl").code == 0
    assert ctxtui("cost", "--all", "--json").json["totals"] == before
    assert flat(ctxtui("cost", folder, "--json").json["totals"]) == pytest.approx(flat(before))
    assert shelf_totals() == (before["tokens"], pytest.approx(before["cost_usd"]), 0)
    rows = ctxtui("sessions", "--figures", "--json").json["sessions"]
    stored = next(one for one in rows if one["stored"] == "masked")
    assert flat(stored["totals"]) == pytest.approx(flat(before))


def test_a_stored_session_that_is_priced_in_part_says_the_least(ctxtui: Run, tmp_path: Path) -> None:
    path = with_subagents(tmp_path, own=UNKNOWN)
    assert ctxtui("session", "scrub", path, "--as", "masked").code == 0
    rows = ctxtui("sessions", "--figures", "--json").json["sessions"]
    stored = next(one for one in rows if one["stored"] == "masked")
    assert stored["cost_usd"] is None and stored["totals"]["cost_usd_at_least"] > 0
    assert stored["totals"]["subagents"]["threads"] == 2


def shelf_totals() -> tuple[int, float, int]:
    """Tokens, USD and unpriced calls as Home's header adds them up."""
    shelf = SessionLibrary(Settings(), Path.cwd())
    found = [one for one in shelf.all_sessions() if one.group != "samples"]
    collection = Collection(str(Path.cwd()), "~")
    collection.update(found)
    for one in shelf.figures(found, Event()):
        collection.add_figures(one)
    sums = collection.totals()
    return sums.tokens, sums.cost, sums.unpriced
