"""`ctxtui lab`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ctxtui.analysis.lab.report import SessionLab
from ctxtui.analysis.lab.solve import KeepWarm, Pauses
from ctxtui.cli.lab.lab import solved_lines
from ctxtui.services.lab.solve import BestCandidates, SolvedSession
from ctxtui.services.lab.variants import make_variants
from ctxtui.views.text import cells
from tests.cases.claude_code import Script, text, usage
from tests.cases.long_runs import long_run
from tests.cli.conftest import Run

KEYS = {
    "policy", "settings", "cache", "model", "calls", "peak_context", "final_context", "total_input",
    "reported_total_input", "read", "write", "fresh", "output", "cost_usd", "rewrites", "first_overflow", "dependence",
}  # fmt: skip
"""The contract of `--json`."""


def script(calls: int, model: str = "claude-opus-4-5") -> bytes:
    made = Script(cwd="/home/ada/shop")
    size = 20_000
    for n in range(calls):
        made.user(f"question {n}: " + "look at src/shop/basket.py:42 and tell me " * 40, seconds=5.0)
        use = usage(fresh=4, read=size if n else 0, write=600 if n else size, output=50)
        made.assistant(text(f"answer {n} " * 60), id=f"msg_{n}", model=model, stop="end_turn", use=use)
        size += 600
    return made.dump()


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "one.jsonl"
    path.write_bytes(script(14))
    return path


def test_the_contract(ctxtui: Run, recording: Path) -> None:
    told = ctxtui("lab", recording, "--json").json
    assert told["schema_version"] == 1
    (session,) = told["sessions"]
    assert session["session"]
    variants = session["variants"]
    assert next(one["policy"] for one in variants) == "as_recorded" and len(variants) == 10
    for one in variants:
        assert one.keys() >= KEYS
        assert one["read"] + one["write"] + one["fresh"] == one["total_input"]
        assert one["peak_context"] == max(one["contexts"]) and one["final_context"] == one["contexts"][-1]
        assert one["cost_usd"] > 0 and one["calls"] == 14
    window = next(one for one in variants if one["policy"] == "sliding_window")
    assert window["settings"] == {"n": 9, "keep_first": 1, "slack": 4}
    assert window["total_input"] < variants[0]["total_input"] and window["rewrites"] > 0


def test_two_runs_give_the_same(ctxtui: Run, recording: Path) -> None:
    first, second = (ctxtui("lab", recording, "--json").out for _ in range(2))
    assert first == second


def test_as_recorded_is_near_the_reports_or_says_why(ctxtui: Run, tmp_path: Path) -> None:
    long, short = tmp_path / "long.jsonl", tmp_path / "short.jsonl"
    long.write_bytes(script(90))
    short.write_bytes(script(2))
    told = ctxtui("lab", long, short, "--policy", "as_recorded", "--json").json["sessions"]
    near, off = told
    (one,) = near["variants"]
    assert abs(one["total_input"] - one["reported_total_input"]) <= 0.02 * one["reported_total_input"]
    assert not any("off by" in note for note in near["notes"])
    assert abs(off["off"]) > 0.02 and any("no earlier report" in note for note in off["notes"])


def test_variants_are_each_policy_with_each_cache_and_model(ctxtui: Run, recording: Path) -> None:
    asked = ["--policy", "sliding_window n=4", "--cache", "5m", "--cache", "1h", "--model", "claude-haiku-4-5"]
    (session,) = ctxtui("lab", recording, *asked, "--json").json["sessions"]
    found = [(one["policy"], one["cache"], one["model"]) for one in session["variants"]]
    haiku = "claude-haiku-4-5"
    assert found == [
        ("as_recorded", "recorded", "claude-opus-4-5"),
        *[(policy, cache, haiku) for policy in ("as_recorded", "sliding_window") for cache in ("5m", "1h")],
    ]
    five, hour = (one for one in session["variants"] if one["policy"] == "as_recorded" and one["model"] == haiku)
    assert five["write"] == hour["write"] and five["cost_usd"] < hour["cost_usd"]


def test_a_profile_is_a_policy(ctxtui: Run, recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    profile = tmp_path / "mine.toml"
    profile.write_text('name = "mine"\n[[policy]]\nuse = "sliding_window"\nn = 5\n[[policy]]\nuse = "strip_thinking"\n')
    (session,) = ctxtui("lab", recording, "--policy", "~/mine.toml", "--json").json["sessions"]
    mine = session["variants"][1]
    assert mine["policy"] == "mine" and mine["settings"]["sliding_window"]["n"] == 5


def test_for_people(ctxtui: Run, recording: Path) -> None:
    out = ctxtui("lab", recording).out
    assert "as_recorded" in out and "quoted" in out and "saves" in out and "$" in out
    assert "no model was called" in out


def test_without_usage_what_can_be_said_is(ctxtui: Run, tmp_path: Path) -> None:
    path = tmp_path / "plain.jsonl"
    records = [json.loads(line) for line in script(14).splitlines()]
    for record in records:
        record.get("message", {}).pop("usage", None)
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    (session,) = ctxtui("lab", path, "--policy", "sliding_window", "--json").json["sessions"]
    own, window = session["variants"]
    assert own["reported_total_input"] is None and min(own["output"], own["cost_usd"], window["cost_usd"]) > 0
    assert 0 < window["total_input"] < own["total_input"]
    notes = " ".join(session["notes"])
    assert "no usage is reported" in notes and "answers are counted by their recorded text" in notes


def test_without_a_price_the_rest_is_said(ctxtui: Run, tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_bytes(script(14, model="my-own-model"))
    (session,) = ctxtui("lab", path, "--policy", "sliding_window", "--json").json["sessions"]
    assert all(one["cost_usd"] is None and one["total_input"] for one in session["variants"])
    assert any("cost is not known" in note for note in session["notes"])


def test_where_all_times_are_of_a_copy_that_is_why_no_read_is_told(ctxtui: Run, tmp_path: Path) -> None:
    path = tmp_path / "copied.jsonl"
    records = [json.loads(line) for line in script(14).splitlines()]
    path.write_text("".join(f"{json.dumps({**one, 'timestamp': '2026-01-02T03:04:05.000Z'})}\n" for one in records))
    (session,) = ctxtui("lab", path, "--policy", "sliding_window", "--json").json["sessions"]
    own, window = session["variants"]
    assert own["read"] is not None and window["read"] is None, "what was read is reported, what would be is not known"
    assert "read, write and fresh are not known: the times of the calls are not recorded" in session["notes"]


def test_one_call(ctxtui: Run, tmp_path: Path) -> None:
    path = tmp_path / "one-call.json"
    path.write_text(json.dumps(long_run(1, turns=2)))
    (session,) = ctxtui("lab", path, "--policy", "keep_rounds", "--json").json["sessions"]
    assert len(session["variants"]) == 2 and session["variants"][0]["calls"] == 1
    assert any("one call" in note for note in session["notes"])


def test_what_is_wrong_is_named(ctxtui: Run, recording: Path) -> None:
    for words, code, what in (
        (("--policy", "keep_round"), 5, "no policy"),
        (("--cache", "forever"), 5, "no cache strategy"),
        (("--policy", "budget tarjet=1"), 2, "has no setting"),
    ):
        ran = ctxtui("lab", recording, *words)
        assert (ran.code, what in ran.err) == (code, True), ran.err


def test_a_path_that_is_named_like_the_command(ctxtui: Run, recording: Path) -> None:
    Path("lab").write_bytes(recording.read_bytes())
    (session,) = ctxtui("lab", "./lab", "--policy", "none", "--json").json["sessions"]
    assert session["variants"][0]["calls"] == 14


def test_stand_ins_of_one_length_are_no_range(ctxtui: Run, recording: Path) -> None:
    ran = ctxtui("lab", recording, "--policy", "keep_rounds")
    words = " ".join(ran.out.split())
    assert re.search(r"from the recording, [0-9,]+ tokens each (on average )?\(keep_rounds", words), words


def test_the_solver_holds_each_session_out(ctxtui: Run, tmp_path: Path) -> None:
    paths = []
    for calls in (10, 14):
        paths.append(tmp_path / f"{calls}.jsonl")
        paths[-1].write_bytes(script(calls))
    told = ctxtui("lab", *paths, "--solve", "--json").json["solved"]
    assert len(told["policy"]["folds"]) == len(told["cache"]["folds"]) == 2
    assert told["policy"]["saves"] >= 0 and told["keep_warm"][0]["break_even_seconds"] == 3600.0
    out = ctxtui("lab", paths[0], "--solve").out
    assert "best policy of" in out and "unknown; give several" in out and "break-even" in out
    assert ctxtui("lab", paths[0], "--solve", "--cache", "5m").code == 2
    both = ctxtui("lab", *paths, "--solve").out
    assert "cross-validated: for each of the 2 sessions, the best variant of the other" in both
    assert "✦ no other variant is cheaper at no more risk" in both and "own best variant each session" in both
    at = both.index("best variants")
    assert all(cells.width(line) <= 100 for line in both[at:].splitlines())


def test_the_page_names_other_models_and_explains_its_columns(ctxtui: Run, recording: Path, tmp_path: Path) -> None:
    page = tmp_path / "lab.html"
    models = ["--model", "claude-haiku-4-5", "--model", "claude-sonnet-4-5"]
    assert ctxtui("lab", recording, *models, "--html", page).code == 0
    text = page.read_text()
    for model in ("claude-haiku-4-5", "claude-sonnet-4-5"):
        assert f'<td class="left">as_recorded {model}</td>' in text
        assert f"<title>as_recorded {model}</title>" in text, "so are the curves"
        assert re.search(rf"<figcaption>[^<]* as_recorded {model}[ <]", text), "and the legend"
    assert "over: calls above the usable window" in text


def test_the_page_loads_nothing_from_elsewhere(ctxtui: Run, recording: Path, tmp_path: Path) -> None:
    page = tmp_path / "lab.html"
    assert ctxtui("lab", recording, "--policy", "sliding_window", "--html", page).code == 0
    text = page.read_text()
    assert (
        "default-src 'none'" in text
        and "<svg" in text
        and "sliding_window" in text
        and "http:" not in text
        and "https:" not in text
    )
    again = ctxtui("lab", recording, "--policy", "sliding_window", "--html", page)
    assert again.code != 0 and "force" in again.err
    assert ctxtui("lab", recording, "--policy", "sliding_window", "--html", page, "--force").code == 0
    for more in ((), ("--json",), ("--solve",)):
        alone = ctxtui("lab", recording, "--force", *more)
        assert alone.code == 2 and "--force needs --html" in alone.err, "--force is not ignored"


def test_a_model_of_which_nothing_is_known_is_refused(ctxtui: Run) -> None:
    Path("one.jsonl").write_bytes(script(3))
    ran = ctxtui("lab", "one.jsonl", "--model", "nosuch")
    assert ran.code == 5 and "no model 'nosuch' is known" in ran.err and "config.toml" in ran.err
    for name in ("claude-opus-4-6", "eu.anthropic.claude-opus-4-6-v1:0", "openrouter/openai/gpt-5.4"):
        assert ctxtui("lab", "one.jsonl", "--model", name, "--json").code == 0, name
    assert [one.model for one in make_variants((), (), ["nosuch"], {"nosuch"})] == ["", "nosuch"]


def test_pauses_that_never_paid_save_nothing() -> None:
    warm = KeepWarm(life=300.0, requests=3, seconds=1200.0, read=0.1, write=1.0)
    lab = SessionLab(session="abcdefgh", title="t", calls=1, numbers=(), usable=0, rows=(), off=None)
    told = {}
    for longer, cheaper, saved in ((2, 0, 0.0), (1, 1, 0.5), (3, 2, 0.5)):
        one = SolvedSession(lab, (warm,), (Pauses(longer, cheaper, saved),), True)
        told[longer] = list(solved_lines(BestCandidates((one,), None, None)))[-1].strip()
    kept = "keeping the entry alive would have"
    long = f"2 pauses were longer than 5 minutes, but too long: {kept} cost more than writing it"
    assert told == {
        2: f"{long} again",
        1: f"1 pause was longer than 5 minutes; {kept} paid off in it and saved $0.500",
        3: f"3 pauses were longer than 5 minutes; {kept} paid off in 2 of them and saved $0.500",
    }
