"""`ctxtui report`: one document that runs nothing and loads nothing, says what the other commands say, and keeps
secrets to itself.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
from msgspec.structs import replace

from ctxtui.curation.mask_rules import Level
from ctxtui.curation.masking import Masker
from ctxtui.services.config.package_data import mask_rules
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.counting import Counter
from ctxtui.services.library.report import draft_report, mask_report
from ctxtui.services.recordings.recording import Loaded
from tests.cases.claude_code import generate
from tests.cases.sessions import every_category
from tests.cli.conftest import Run

KEY = "sk-ant-api03-" + "q1W2" * 10
VOID = {"meta", "br"}


class Page(HTMLParser):
    """The tags of a document; each but the void ones must be closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def parsed(text: str) -> Page:
    page = Page()
    page.feed(text)
    return page


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "one.jsonl"
    path.write_bytes(generate(60, 3))
    return path


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A recording that says a key wherever one can: in a question, a tool's result, its arguments, a phase."""
    path = tmp_path / "secret.jsonl"
    path.write_bytes(generate(30, 5))
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for row in rows:
        message = row.get("message") or {}
        if isinstance(message.get("content"), str):
            message["content"] = f"look at {KEY} in /home/ada/shop " + message["content"]
        for part in message["content"] if isinstance(message.get("content"), list) else ():
            if part.get("type") == "text":
                part["text"] = f"{KEY} {part['text']}"
            if part.get("type") == "tool_result":
                part["content"] = f"{KEY} /home/ada/shop.txt\n" * 80
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_it_is_one_document_that_runs_and_loads_nothing(ctxtui: Run, recording: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    ran = ctxtui("report", recording, "--html", out)
    assert ran.code == 0 and "masked (personal)" in ran.err
    text = out.read_text(encoding="utf-8")
    page = parsed(text)
    assert page.open == []
    assert not {"script", "link", "iframe", "object", "embed", "foreignobject", "use"} & set(page.tags)
    assert not [value for name, value in page.attributes if name in ("src", "href") and not str(value).startswith("#")]
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert not re.search(r"https?://|url\(|@import", text)
    assert {"svg", "table", "h2"} <= set(page.tags) and "prefers-color-scheme:light" in text and "@media print" in text
    assert (out.stat().st_mode & 0o777) == 0o600


def test_its_figures_are_those_of_the_other_commands(ctxtui: Run, recording: Path) -> None:
    words = " ".join(" ".join(parsed(ctxtui("report", recording, "--html").out).words).split())
    found = ctxtui("findings", recording, "--json").json
    assert found["findings"] and all(one["says"] in words for one in found["findings"])
    grown, cost = ctxtui("growth", recording, "--json").json, ctxtui("cost", recording, "--json").json
    assert f"{grown['sent_again']['share'] * 100:.1f} %" in words
    assert f"${cost['total_usd']:.2f}" in words or f"${cost['total_usd']:.3f}" in words
    for call in grown["calls"]:
        assert f"call {call['call']:,}:" in words, "each column says what it is"


def test_columns_are_as_high_as_their_tokens(ctxtui: Run, recording: Path) -> None:
    text = ctxtui("report", recording, "--html").out
    chart = text[text.index('<svg class="chart"') :]
    chart = chart[: chart.index("</svg>")]
    tall: dict[str, float] = {}
    for path in re.findall(r'<path class="f[^"]*" d="([^"]+)"', chart):
        for x, _, height in re.findall(r"M([\d.]+),([\d.]+)h[\d.]+v([\d.]+)", path):
            tall[x] = tall.get(x, 0.0) + float(height)
    sizes = [call["context_tokens"] for call in ctxtui("growth", recording, "--json").json["calls"]]
    drawn = [tall[x] for x in sorted(tall, key=float)]
    assert len(drawn) == len(sizes)
    scale = max(drawn) / max(sizes)
    assert all(abs(one - size * scale) < 3 for one, size in zip(drawn, sizes, strict=True))


def test_no_secret_is_in_it(ctxtui: Run, secret: Path) -> None:
    for more in ((), ("--call", "3")):
        text = ctxtui("report", secret, "--html", *more).out
        assert KEY not in text and KEY[:24] not in text and "/home/ada" not in text
        assert "api key" in text, "what was masked is said"


@pytest.mark.parametrize("before", range(0, 30, 6))
def test_a_title_that_a_memory_file_begins_shows_no_half_of_a_secret(ctxtui: Run, tmp_path: Path, before: int) -> None:
    key = "sk-ant-api03-" + "q1W2" * 20
    words = f"# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>\n{'x' * before} {key}\n</INSTRUCTIONS>"
    said = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": one}]} for one in (words,)]
    path = tmp_path / "body.json"
    path.write_text(json.dumps({"model": "gpt-5", "input": said}), encoding="utf-8")
    shown = ctxtui("show", path, "--json").json
    assert "memory" in shown["categories"] and shown["session"]["title"].startswith("# AGENTS.md")
    (one,) = ctxtui("report", path, "--json").json["sessions"]
    assert "q1W2" not in one["title"] and "sk-ant" not in one["title"], one["title"]


def test_of_a_folder_every_session_has_its_row_and_the_dearest_are_told(ctxtui: Run, tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for seed in (1, 2, 3):
        (folder / f"{seed}.jsonl").write_bytes(generate(20 * seed, seed))
    shutil.copy(folder / "3.jsonl", folder / "copy.jsonl")
    text = ctxtui("report", folder, "--html", "--most", "2").out
    assert "4 sessions" in text and text.count("<section") == 2 and text.count('class="spark"') == 4
    total = ctxtui("cost", folder, "--json").json["total_usd"]
    assert f"${total:.2f} in all" in text or f"${total:.3f} in all" in text, "a copied call counts once"


def test_one_call(ctxtui: Run, recording: Path) -> None:
    text = ctxtui("report", recording, "--call", "5", "--html").out
    shown = ctxtui("show", recording, "--call", "5", "--json").json
    assert "Call 5" in text and f"{shown['context_tokens']:,} tokens" in text


def test_as_json_it_is_masked_too(ctxtui: Run, secret: Path) -> None:
    ran = ctxtui("report", secret, "--json")
    (one,) = ran.json["sessions"]
    assert KEY not in ran.out and "/home/ada" not in ran.out
    assert one["growth"]["calls"] == ctxtui("growth", secret, "--json").json["calls"]
    assert one["cost_usd_at_least"] == pytest.approx(ctxtui("cost", secret, "--json").json["total_usd"])


def test_a_file_is_not_overwritten_unasked(ctxtui: Run, recording: Path, tmp_path: Path) -> None:
    ran = ctxtui("report", "--html", recording, recording)
    assert ran.code == 2 and "write PATH before --html" in ran.err and recording.read_bytes().startswith(b"{")


def test_as_text_and_of_one_call_only(ctxtui: Run, recording: Path, tmp_path: Path) -> None:
    ran = ctxtui("report", recording)
    assert ran.code == 0 and "findings" in ran.out and "context" in ran.out
    path = tmp_path / "body.json"
    value = {"model": "nobody-knows-1", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
    path.write_text(json.dumps(value), encoding="utf-8")
    text = ctxtui("report", path, "--html").out
    assert "No usage is recorded." in text and "one call" in text and parsed(text).tags


@pytest.mark.slow
def test_a_real_browser_draws_it(ctxtui: Run, recording: Path, tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no browser on this machine")
    out = tmp_path / "report.html"
    ctxtui("report", recording, "--html", out)
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"]
    flags.append(f"--user-data-dir={tmp_path}/profile")
    picture = tmp_path / "seen.png"
    wanted = [f"--screenshot={picture}", "--window-size=1000,1600", f"file://{out}"]
    ran = subprocess.run([browser, *flags, *wanted], capture_output=True, timeout=120, check=False)
    assert picture.stat().st_size > 40_000, "it is not blank"
    assert b"Content Security Policy" not in ran.stderr and b"Refused" not in ran.stderr


def test_in_a_narrow_window_names_of_sessions_stay_readable(ctxtui: Run, tmp_path: Path) -> None:
    """Each first cell of a row that holds words is wide enough for words, and no chart's letters shrink away."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no browser on this machine")
    folder, out = tmp_path / "folder", tmp_path / "report.html"
    folder.mkdir()
    for number in (1, 2):
        (folder / f"{number}.jsonl").write_bytes(generate(20, number))
    ctxtui("report", folder, "--html", out)
    measure = (
        "document.body.setAttribute('data-narrowest',Math.min(...[...document.querySelectorAll('td.left:first-child')]"
        ".map(one=>one.getBoundingClientRect().width)));"
        "document.body.setAttribute('data-wide',document.documentElement.scrollWidth-innerWidth);"
        "const chart=document.querySelector('svg.chart');"
        "document.body.setAttribute('data-letters',parseFloat(getComputedStyle(chart.querySelector('text')).fontSize)"
        "*chart.getBoundingClientRect().width/chart.viewBox.baseVal.width);"
    )
    text = re.sub(r"<meta http-equiv[^>]*>", "", out.read_text(encoding="utf-8"))
    out.write_text(f"{text}<script>{measure}</script>", encoding="utf-8")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/profile"]
    wanted = ["--window-size=700,1600", "--dump-dom", f"file://{out}"]
    ran = subprocess.run([browser, *flags, *wanted], capture_output=True, timeout=120, check=False)
    found = dict(re.findall(rb'data-(narrowest|wide|letters)="([-.0-9]+)"', ran.stdout))
    assert float(found[b"narrowest"]) >= 120, "pixels"
    assert float(found[b"wide"]) <= 0, "nothing stands beside the window"
    assert float(found[b"letters"]) >= 9, "pixels"


@pytest.mark.parametrize("level", Level)
def test_all_that_a_report_names_is_masked(level: Level) -> None:
    """Models, threads, phases and their rule, what findings name."""
    draft = draft_report(Loaded(every_category(), "x"), Counter(), Settings())
    growth, findings = draft.growth.growth, draft.findings.priced
    assert growth.phases and findings
    growth = replace(growth, thread=KEY, rule=KEY, phases=tuple(replace(one, name=KEY) for one in growth.phases))
    found = tuple(replace(one, finding=replace(one.finding, names=(KEY,))) for one in findings)
    draft = draft._replace(
        session=replace(draft.session, title=KEY, facts=(KEY,)),
        growth=replace(draft.growth, growth=growth),
        findings=replace(draft.findings, priced=found),
    )
    made = mask_report(draft, Masker(mask_rules(), level))
    assert KEY not in repr([made.title, made.facts, made.growth, [one.finding.names for one in made.findings.priced]])


def test_commands_name_the_recording_also_beside_one_that_cannot_be_read(
    ctxtui: Run, recording: Path, tmp_path: Path
) -> None:
    ran = ctxtui("report", recording, tmp_path / "gone.jsonl", "--json", "--mask", "secrets")
    assert ran.code == 5
    commands = [finding["command"] for finding in ran.json["sessions"][0]["findings"]["findings"]]
    assert any(commands) and all(str(recording) in command for command in commands if command)
