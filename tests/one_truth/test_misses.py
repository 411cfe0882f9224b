"""Which calls missed the cache, what each lost and where it parted is the same in every command, list and pane."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxtui.analysis.session_events import format_thousands
from ctxtui.core.session import Session
from ctxtui.services.config.config import load as load_settings
from ctxtui.services.counting.books import book_for
from ctxtui.services.counting.count_cache import cached_counter
from ctxtui.services.counting.pricing import local_pricer, prices_for
from ctxtui.services.recordings.open import load
from ctxtui.services.study.study import Study
from ctxtui.views.inspector.this_call import this_call
from ctxtui.views.text import numbers
from tests.cases import claude_code, claude_code_requests, codex, dated_system
from tests.corpus import every_recording
from tests.faults.fuzzing import ran
from tests.one_truth.commands import said
from tests.sampling import few

SAMPLES = sorted((Path(__file__).parents[2] / "sessions").glob("*.jsonl"))
PARTED = ("thinking stripped", "content changed", "system changed", "tools changed")
"""Causes that say that the requests part: there the diff must part, too."""
_DIFFS = 4
"""Misses of a session whose diff is looked at."""
Key = tuple[str, int]


def by_call(rows: list[dict[str, Any]]) -> dict[Key, dict[str, Any]]:
    return {(one["thread"], one["call"]): one for one in rows}


def agrees(path: Path) -> int:
    """Asks every command; how many misses there are."""
    name = str(path)
    cache, why, audit = (said(command, name) for command in ("cache", "why", "audit"))
    missed, paid = by_call(cache["misses"]), by_call(why["rewrites"])
    assert missed.keys() == paid.keys(), "the same calls"
    for key, one in missed.items():
        assert one["written_again_tokens"] == paid[key]["tokens"] > 0
        assert one["lost_usd"] == paid[key]["usd"] and one["paid_usd"] == paid[key]["paid_usd"]
        assert (one["tested"], one["foreseen"], one["partial"]) == tuple(
            paid[key][name] for name in ("tested", "foreseen", "partial")
        )
        assert one["tested"] or not one["foreseen"]
    checked = ran(["check", name, "--max-rewrites", str(len(missed)), "--json"])
    assert checked.code == 0, checked.out
    if missed:
        assert ran(["check", name, "--max-rewrites", str(len(missed) - 1)]).code == 8
    _sums(cache, why)
    _audited(missed, cache, audit)
    _painted(cache, ran(["cache", name]).out)
    for (thread, number), one in list(missed.items())[:_DIFFS]:
        _parts(name, thread, number, one)
    return len(missed)


def _sums(cache: dict[str, Any], why: dict[str, Any]) -> None:
    tokens = sum(one["written_again_tokens"] for one in cache["misses"])
    known = [one["lost_usd"] for one in cache["misses"] if one["lost_usd"] is not None]
    assert cache["written_again_tokens"] == tokens
    assert cache["tested"] == sum(one["tested"] for one in cache["misses"])
    assert cache["foreseen"] == sum(one["foreseen"] for one in cache["misses"]) <= cache["tested"]
    if known:
        assert cache["lost_usd"] == pytest.approx(sum(known))
    for part in why["parts"]:
        if part["name"] == "rewrites":
            assert part["tokens"] == tokens and part["usd"] == pytest.approx(sum(known))


def _audited(missed: dict[Key, dict[str, Any]], cache: dict[str, Any], audit: dict[str, Any]) -> None:
    rows = by_call([one for one in audit["cache_misses"] if one["missed"]])
    assert rows.keys() == missed.keys()
    for key, one in rows.items():
        assert one["written_again_tokens"] == missed[key]["written_again_tokens"]
        assert (one["tested"], one["missed"] and one["foretold"]) == (missed[key]["tested"], missed[key]["foreseen"])
        assert (one["cause"] == "not in the record") == (missed[key]["cause"] == "not in the record")
    told = [provider["misses"] for provider in audit["cache_read"].values()]
    assert sum(one["reported"] for one in told) == cache["tested"]
    assert sum(one["foreseen"] for one in told) == cache["foreseen"]
    assert sum(one["foreseen"] + one["not_in_record"] for one in told) <= cache["tested"]
    assert sum(one["false_alarms"] for one in told) == cache["false_alarms"]


def _painted(cache: dict[str, Any], text: str) -> None:
    head = text.splitlines()[0]
    count = len(cache["misses"])
    assert head.startswith(f"{count:,} miss")
    assert f"{numbers.tokens(cache['written_again_tokens'])} written again" in head
    if count:
        assert f"{numbers.money(cache['lost_usd'])} lost" in head
        rows = [line for line in text.splitlines() if line.lstrip().startswith("#")]
        assert len(rows) == count
        for line, one in zip(rows, cache["misses"], strict=True):
            assert line.split()[0] == f"#{one['call']}" and numbers.tokens(one["written_again_tokens"]) in line


def _parts(name: str, thread: str, number: int, one: dict[str, Any]) -> None:
    if number < 2 or "@" in thread or ":" in thread:
        return
    found = said_of_diff(f"{name}@{thread}:{number - 1}", f"@{thread}:{number}")
    if one["cause"] not in PARTED or found is None:
        return
    assert not found["same"]
    assert found["shared"]["parts_at_token"] == pytest.approx(one["shared_tokens"], abs=2), (
        "the diff parts where the miss does"
    )
    if one["cause"] == "thinking stripped":
        assert found["first"]["kind"] == "left" and found["first"]["why"]


def said_of_diff(a: str, b: str) -> dict[str, Any] | None:
    import json

    ended = ran(["diff", a, b, "--json"])
    return json.loads(ended.out) if ended.code in (0, 1) else None


def in_the_inspector(path: Path, cache: dict[str, Any]) -> None:
    """What the open session says of each call, when all of it is worked out."""
    settings = load_settings().settings
    with cached_counter(settings) as counter:
        session: Session = load(path).session
        study = Study(session, book_for(session, counter, settings), counter, local_pricer(prices_for(settings)))
        threads = [study.thread(name) for name in session.order]
        while study.work():
            pass
        missed = by_call(cache["misses"])
        shown = {(one.thread, number): what for one in threads for number, what in one.missed.items()}
        assert shown.keys() == missed.keys()
        for key, what in shown.items():
            assert (what.tokens, what.cause) == (missed[key]["written_again_tokens"], missed[key]["cause"])
            pane = this_call(study.scene(key[0], key[1] - 1))
            assert pane.missed.startswith(f"{format_thousands(what.tokens)} rewritten")
        for one in threads:
            marked = [event.number for event in one.events if event.kind == "miss"]
            assert marked == sorted(number for thread, number in missed if thread == one.thread)


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CTXTUI_HOME", str(tmp_path / "ctxtui"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("sample", few(SAMPLES), ids=lambda path: path.stem)
def test_a_samples_misses_are_the_same_everywhere(sample: Path) -> None:
    agrees(sample)
    in_the_inspector(sample, said("cache", str(sample)))


WRITTEN = {
    "claude code": lambda: claude_code.generate(n_messages=60, seed=3),
    "claude code, compacted": lambda: claude_code_requests.compacted().dump(),
    "codex": lambda: codex.generate(40, 2),
    **{f"dated, {name}": lambda name=name: dated_system.bodies(name) for name in dated_system.DIALECTS},
}


@pytest.mark.parametrize("name", few(WRITTEN, 2))
def test_the_misses_of_look_alikes_are_the_same_everywhere(name: str, alone: Path) -> None:
    path = alone / "session.jsonl"
    path.write_bytes(WRITTEN[name]())
    count = agrees(path)
    in_the_inspector(path, said("cache", str(path)))
    if name.startswith("dated"):
        assert count == dated_system.CALLS - 1


def test_a_system_prompt_that_begins_with_its_date_is_the_cause_also_where_caches_need_no_markers(alone: Path) -> None:
    talk, lines = list[dict[str, str]](), []
    for n in range(3):
        talk.append({"role": "user", "content": f"Question {n} about part {n}."})
        system = {"role": "system", "content": f"Today is 2026-11-{10 + n}. " + "You are careful. " * 900}
        usage = {
            "prompt_tokens": 3_700 + 40 * n,
            "completion_tokens": 30,
            "prompt_tokens_details": {"cached_tokens": 0},
        }
        said_ = {"role": "assistant", "content": f"Answer {n}."}
        choice = {"index": 0, "message": said_, "finish_reason": "stop"}
        answer = {"id": f"c{n}", "object": "chat.completion", "model": "gpt-5.2", "choices": [choice], "usage": usage}
        request = {"model": "gpt-5.2", "messages": [system, *talk]}
        lines.append({"timestamp": f"2026-11-20T10:0{n}:00Z", "request": request, "response": answer})
        talk.append(said_)
    path = alone / "dated.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert [one["cause"] for one in said("cache", str(path))["misses"]] == ["system changed"] * 2


@pytest.mark.slow
@pytest.mark.parametrize("path", every_recording())
def test_a_recorded_sessions_misses_are_the_same_everywhere(path: Path) -> None:
    if ran(["show", str(path)]).code != 0:
        pytest.skip("not a session")
    agrees(path)
    in_the_inspector(path, said("cache", str(path)))
