"""`make seeds`: docs/seeds.md names every claim, every row a command that runs and a session that opens, and a figure
moves when what it is made of does."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ctxtui.services.sandbox.confinement import find_confinement
from scripts import seeds
from tests.cli.conftest import Run, ctxtui, home
from tests.pty_app import environment
from tests.sampling import few, few_rows
from tests.test_examples import Quick, quick

__all__ = ["ctxtui", "home", "quick"]

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "seeds.md").read_text(encoding="utf-8")
CLAIMS = [f"N{n}" for n in range(1, 36) if n != 10]
"""Of systems-claims.md, which has no N10."""
UNCONFINED = [] if find_confinement() else ["--unconfined"]


def rows() -> list[dict[str, str]]:
    """The rows of the page."""
    found = []
    for line in PAGE.splitlines():
        cells = [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == len(seeds.COLUMNS) and cells[0] not in ("claim", "---"):
            found.append(dict(zip(seeds.COLUMNS, cells, strict=True)))
    return found


def test_every_claim_has_its_row() -> None:
    named = " ".join(row["names"] for row in rows())
    assert [claim for claim in CLAIMS if not re.search(rf"\b{claim}\b", named)] == []


def test_every_row_has_a_command_and_a_session_that_it_opens() -> None:
    assert len(rows()) > 120
    for row in rows():
        assert re.match(r"`(ctxtui|python -m examples\.\w+) ?", row["command"]), row
        assert not re.search(r"\b(ID|HERE)\b|chat-\d{8}", row["command"] + row["session"]), row
        assert row["session"].startswith(("`seeds/", "`sessions/", "`examples/")), row
        assert row["ours"], row


def test_every_row_is_a_claim_of_its_example() -> None:
    claimed = set()
    for name in seeds.SYSTEMS:
        for line in (ROOT / "examples" / name / "claims.md").read_text(encoding="utf-8").splitlines():
            claimed.add(tuple(cell.strip() for cell in line.strip("|").split("|"))[:3])
    assert [row["claim"] for row in rows() if (row["claim"], row["names"], row["theirs"]) not in claimed] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options"),
    few_rows(
        [
            ("evolve", ["--generations", "2", "--children", "2", "--under", "new", *UNCONFINED]),
            ("bridge", ["--rounds", "3", "--servers", "memory", "--under", "plain", "--no-edges"]),
            ("musume", ["--turns", "2", "--long", "2", "--under", "plain"]),
            ("pedroceli", ["--windows", "16384", "--entities", "2"]),
        ]
    ),
)
def test_what_rows_say_is_run_and_opens(
    name: str, options: list[str], quick: Quick, ctxtui: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Once for each command and its options; `make seeds ARGS=--check` runs all."""
    found = quick(name, *options)
    made = {row["session"] for row in found["figures"]}
    assert made
    kinds: dict[str, seeds.Row] = {}
    for row in found["figures"]:
        if row["command"].startswith("ctxtui "):
            kinds.setdefault(" ".join(re.findall(r"^ctxtui \w+| --[\w-]+", row["command"])), row)
    work = tmp_path / f"work-{name}"
    monkeypatch.chdir(ROOT)
    for row in kinds.values():
        words = seeds.argv_of(row["command"])[3:]
        ran = ctxtui(*(work / word if (work / word).exists() else word for word in words))
        assert ran.code in seeds.FINE and ran.out + ran.err, (row["command"], ran.err[-500:])


CHANGES: dict[str, tuple[str, Callable[[str], str], list[str], str]] = {
    "evolve": (
        "sessions/1-pineapple-evolve.jsonl",
        lambda text: text.replace("Before generation 2 I want to weigh", "Before generation 2 I really want to weigh"),
        ["--generations", "1", "--children", "2", "--under", "new", *UNCONFINED],
        "sizes of the messages of five generations",
    ),
    "bridge": (
        "examples/bridge/tools/memory.json",
        lambda text: text.replace('"description": "', '"description": "Changed, and longer than before: ', 1),
        ["--rounds", "2", "--servers", "memory", "--under", "plain", "--no-edges"],
        "schemas of memory",
    ),
    "musume": (
        "examples/musume/prompts.py",
        lambda text: text.replace('"trainer: Ada', '"# One line more, which nobody needs.\\ntrainer: Ada', 1),
        ["--turns", "1", "--long", "1", "--under", "plain"],
        "memory files",
    ),
    "pedroceli": (
        "examples/pedroceli/job.py",
        lambda text: text.replace(
            'TASK = f"Add rate limiting', 'TASK = f"Be careful with everything that you do. Add rate limiting'
        ),
        ["--windows", "16384", "--entities", "2"],
        "16k: task",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", list(CHANGES))
def test_a_sample_that_changes_moves_its_figure(name: str, tmp_path: Path) -> None:
    path, changed, options, claim = CHANGES[name]
    copy = tmp_path / "copy"
    for part in ("examples", "sessions"):
        shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))

    def ours() -> str:
        folder = tmp_path / f"work-{len(list(tmp_path.iterdir()))}"
        told = [sys.executable, "-m", f"examples.{name}", "--json", "--folder", str(folder), *options]
        env = {**environment(tmp_path / "home"), "PYTHONPATH": os.pathsep.join([str(copy), str(ROOT)])}
        done = subprocess.run(told, cwd=copy, capture_output=True, text=True, env=env, timeout=300)
        assert done.returncode == 0, done.stderr[-2000:]
        found: list[seeds.Row] = json.loads(done.stdout)["figures"]
        return next(row["ours"] for row in found if row["claim"] == claim)

    before = ours()
    text = (copy / path).read_text(encoding="utf-8")
    (copy / path).write_text(changed(text), encoding="utf-8")
    assert (copy / path).read_text(encoding="utf-8") != text
    assert ours() != before


def test_only_its_own_folder_is_emptied(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").touch()
    with pytest.raises(seeds.Refused, match="holds something else"):
        seeds.emptied(tmp_path)
    seeds.emptied(tmp_path / "seeds")
    (tmp_path / "seeds" / "old").touch()
    seeds.emptied(tmp_path / "seeds")
    assert [path.name for path in (tmp_path / "seeds").iterdir()] == [seeds.MARK]


def test_an_example_that_cannot_run_says_why_in_one_line_and_the_table_has_the_rest(tmp_path: Path) -> None:
    failed = seeds.run("pedroceli", tmp_path, ["--windows", "many"])
    assert failed["figures"] == [] and "invalid int value: 'many'" in failed["failed"]
    row = dict.fromkeys(seeds.COLUMNS, "a")
    told = seeds.page({"evolve": failed, "claims": {"figures": [row], "sessions": {}}})
    assert f"could not run: {failed['failed']}" in told and "| a | a |" in told and "\n" not in failed["failed"]


def test_where_nothing_confines_programs_the_search_says_what_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    failed = seeds.run("evolve", tmp_path / "work", ["--generations", "1", "--children", "1", "--under", "new"])
    assert "install bubblewrap, or give --unconfined" in failed["failed"]


@pytest.mark.parametrize(
    ("printed", "words", "is_shown"),
    [
        ("context 192.4k -> 30.6k", "192.4k -> 30.6k", True),
        ("sent 1,234,567 tokens", "1.2M", True),
        ("26 tools 3,754", "26 tools", True),
        ("26 tools 3,754", "3,884", False),
        ('{"read_share": 0.4567}', "46 % read", True),
        ('{"read_share": 0.4467}', "46 % read", False),
        ("trial_5_0 of v2.5", "2.5", False),
        ("$0.583 list price", "$0.58", True),
        ("strategy  by task", "by task", True),
        ("strategy  everything", "by task", False),
    ],
)
def test_a_figure_is_shown_as_it_is_or_rounded(printed: str, words: str, is_shown: bool) -> None:
    assert seeds.shows(printed, words) == is_shown


def test_a_row_keeps_of_its_figure_what_its_command_prints() -> None:
    row = dict.fromkeys(seeds.COLUMNS, "") | {"command": "ctxtui cost a", "ours": "$1.60, 80 % less"}
    text, data = seeds.Ran(0, "$1.60  total"), seeds.Ran(0, '{"usd": 1.6, "saves": 0.8}')
    kept = seeds.told_by(row, {"ctxtui cost a": text})
    assert kept is not None and (kept["ours"], kept["command"]) == ("$1.60", "ctxtui cost a")
    kept = seeds.told_by(row, {"ctxtui cost a": text, "ctxtui cost a --json": data})
    assert kept is not None and (kept["ours"], kept["command"]) == (row["ours"], "ctxtui cost a --json")
    assert seeds.told_by(row, {"ctxtui cost a": seeds.Ran(0, "unknown")}) is None


@pytest.mark.parametrize("number", few(range(len(seeds.WALKS)), 1))
def test_the_page_begins_with_the_walks_as_their_commands_print_them(
    number: int, ctxtui: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    walk, first = seeds.WALKS[number], PAGE.partition("## Claim by claim")[0]
    assert walk.question in first
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "100")
    for what, command, _ in walk.steps:
        block = first.partition(f"{what}:")[2].partition("```console\n")[2].partition("\n```")[0]
        told, *lines = block.splitlines()
        ran = ctxtui(*seeds.argv_of(command)[3:])
        printed = {line.rstrip() for line in (ran.out + ran.err).splitlines()}
        assert told == f"$ {command}" and lines
        assert [line for line in lines if line not in printed] == []
