"""docs/recording.svg and .cast, the README's recording, and the script that makes it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytest.importorskip("PIL.Image")
REPO = Path(__file__).parent.parent
sys.path.insert(0, str(REPO / "scripts"))
import readme_recording  # noqa: E402

RECORDING = REPO / "docs" / "recording.svg"
CAST = REPO / "docs" / "recording.cast"
MOST = 1_500_000
"""Bytes that a README's first picture may have."""
SVG = "{http://www.w3.org/2000/svg}"


def test_the_readme_opens_with_it_and_it_is_small() -> None:
    first = re.search(r"!\[[^]]*\]\(([^)]*)\)", (REPO / "README.md").read_text())
    assert first is not None and first[1] == "docs/recording.svg"
    assert RECORDING.stat().st_size <= MOST


def test_it_shows_every_step_in_twenty_seconds_and_nothing_of_the_machine_it_was_made_on() -> None:
    text = RECORDING.read_text(encoding="utf-8")
    tree = ElementTree.fromstring(text)
    frames = [group for group in tree.iter(f"{SVG}g") if group.get("class", "").startswith("f ")]
    assert len(frames) == len(readme_recording.STEPS)
    known = {group.get("id") for group in tree.iter(f"{SVG}g")}
    used = {use.get("href", "").removeprefix("#") for use in tree.iter(f"{SVG}use")}
    assert used and used <= known, "every line that a frame has is defined"
    told = {" ".join(found.itertext()) for found in tree.iter(f"{SVG}text") if found.get("class") == "q"}
    assert told == {step.question for step in readme_recording.STEPS}
    assert 18 <= sum(step.seconds for step in readme_recording.STEPS) <= 22
    assert not re.search(r"/(tmp|work|home|Users)/", text)


def test_a_line_is_drawn_once_with_exact_shapes_and_text_that_stays_text() -> None:
    from rich.segment import Segment
    from rich.style import Style

    drawing = readme_recording.Drawing()
    line = [Segment("a ██ <b>", Style.parse("bold #ff0000"))]
    assert drawing.line(line) == drawing.line(line) == "l0"
    body = drawing.definitions()
    assert 'd="M16 0h16v17h-16z"' in body and "&lt;b&gt;</text>" in body and body.count("<g ") == 1
    assert ".c0{fill:#f00}" in drawing.styles()


def test_a_terminal_shows_every_step_of_the_asciicast() -> None:
    pyte = pytest.importorskip("pyte")
    text = CAST.read_text(encoding="utf-8")
    head, *events = map(json.loads, text.splitlines())
    assert head["version"] == 2 and CAST.stat().st_size <= MOST and not re.search(r"/(tmp|work|root|Users)/", text)
    screen = pyte.Screen(head["width"], head["height"])
    stream = pyte.Stream(screen)
    seconds = 0.0
    for step, (at, kind, output) in zip(readme_recording.STEPS, events[:-1], strict=True):
        stream.feed(output)
        shown = "\n".join(screen.display)
        assert kind == "o" and at == pytest.approx(seconds)
        assert all(part in shown for part in (step.words, step.question, step.shown.split("  ")[-1])), shown
        seconds += step.seconds
    assert events[-1][0] == pytest.approx(seconds)


@pytest.mark.slow
def test_the_script_makes_the_same_recording_again(tmp_path: Path) -> None:
    made = []
    for name in ("a.svg", "b.svg"):
        script = [sys.executable, str(REPO / "scripts" / "readme_recording.py"), str(tmp_path / name), "--steps", "3"]
        done = subprocess.run(script, capture_output=True, text=True, timeout=120, env=dict(os.environ), check=False)
        assert done.returncode == 0, done.stderr
        made.append((tmp_path / name).read_bytes())
    assert made[0] == made[1] and b"pineapple" in made[0]
