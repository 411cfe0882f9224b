"""Makes docs/recording.svg and docs/recording.cast: the five things people do first, in 20 seconds, on a sample.

    python scripts/readme_recording.py [OUT.svg] [--steps N]

The real app is run without a terminal, keys are pressed, and each screen that comes to rest is a frame of one SVG:
letters stay text, blocks and lines are exact shapes, a line that several frames have stands in the file once. CSS shows
the frames one after the other; who asked for less motion sees the last one. The asciicast (version 2) has the same
frames, for `asciinema play` and its players.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

REPO = Path(__file__).parent.parent
sys.path[:0] = [str(REPO), str(REPO / "scripts")]

import picture  # noqa: E402
from rich.cells import cell_len  # noqa: E402

OUT = REPO / "docs" / "recording.svg"
COLUMNS, LINES = 110, 32
W, H = 8, 17
"""Pixels of a cell."""
PAD, CAPTION = 10, 44
FONT = "ui-monospace,'JetBrains Mono','Cascadia Mono',Menlo,Consolas,'DejaVu Sans Mono',monospace"
UNDER_WAY = ("counting", "reading", "searching")
PATIENCE = 90.0
"""Seconds within which a step's screen must be there."""


class Step(NamedTuple):
    """`keys` are pressed, the screen shows `words` then, and is looked at for `seconds`; `shown` is how the keys are
    written under the question."""

    question: str
    shown: str
    keys: tuple[str, ...]
    words: str
    seconds: float


DOING = "What has my agent been doing?"
FILLS = "What fills the context?"
MISSED = "Why did the cache miss, and what did that cost?"
CHANGED = "What did call 11 read that call 10 did not?"
WHAT_IF = "What if the large results were gone?"
# A call's advice is shown a second after its blocks: its frames wait for it.
STEPS = (
    Step(DOING, "ctxtui", (), "$3.48", 1.8),
    Step(DOING, "⏎  opens a session", ("enter",), "externalize large −161.8k", 1.8),
    Step(FILLS, "↑  every block, with tokens and cache state", ("up", "up"), "externalize large −161.8k", 1.6),
    Step(FILLS, "⏎  opens one", ("enter",), "more lines", 1.8),
    Step(MISSED, "c  every miss, dearest first", ("enter", "c"), "lost", 3.2),
    Step(CHANGED, "g 11 ⏎  goes to a call", ("escape", "g", "1", "1", "enter"), "externalize large −127.5k", 1.4),
    Step(CHANGED, "P  what entered, left, changed", ("P",), "entered", 2.6),
    Step(WHAT_IF, "W  the heaviest blocks", ("escape", "W"), "carry", 1.6),
    Step(WHAT_IF, "⏎ d  drops one: the price, before it is paid", ("enter", "d"), "pays back", 3.0),
    Step(WHAT_IF, "a  applies it; u takes it back", ("a",), "applied", 1.6),
)


class Frame(NamedTuple):
    """A screen as lines of an SVG, for so many seconds, with its caption."""

    lines: tuple[str, ...]
    seconds: float
    question: str
    shown: str


class Shapes(picture.Page):
    """Takes the shapes of one line of the screen, in pixels from its left end, as paths by colour."""

    def __init__(self) -> None:
        self.w, self.h = W, H
        self.boxes: dict[picture.RGB, list[picture.Box]] = {}
        self.pen = self

    def box(self, box: picture.Box, colour: picture.RGB) -> None:
        """A rectangle; one that goes on where the last one ended makes that longer."""
        found = self.boxes.setdefault(colour, [])
        x0, y0, x1, y1 = box
        if found and (found[-1][2], found[-1][1], found[-1][3]) == (x0, y0, y1):
            found[-1] = (found[-1][0], y0, x1, y1)
        elif x1 > x0 and y1 > y0:
            found.append(box)

    def paths(self) -> list[tuple[picture.RGB, str]]:
        """The rectangles as one path for each colour."""
        return [
            (colour, "".join(f"M{x0:g} {y0:g}h{x1 - x0:g}v{y1 - y0:g}h{x0 - x1:g}z" for x0, y0, x1, y1 in found))
            for colour, found in self.boxes.items()
            if found
        ]

    def ellipse(self, box: picture.Box, colour: picture.RGB) -> None:
        """A dot of braille: at this size a square is one."""
        self.box(tuple(round(n, 1) for n in box), colour)  # type: ignore[arg-type]

    def line(self, char: str, x: int, y: int, fg: picture.RGB) -> bool:
        return char not in "╱╲╳" and super().line(char, x, y, fg)


def hexed(colour: picture.RGB) -> str:
    """``#rrggbb``, shortened where that says the same."""
    text = "".join(f"{n:02x}" for n in colour)
    return "#" + (text[::2] if text[::2] == text[1::2] else text)


class Drawing:
    """The lines of all frames, each once, and the colours that they have."""

    def __init__(self) -> None:
        self._lines: dict[str, str] = {}
        self._colours: dict[str, str] = {}

    def line(self, strip: Any) -> str:
        """The id under which the line is defined."""
        body = self._drawn([(text, style) for text, style, control in strip if text and not control])
        return self._lines.setdefault(body, f"l{len(self._lines)}") if body else ""

    def definitions(self) -> str:
        """Every line."""
        return "".join(f'<g id="{name}">{body}</g>' for body, name in self._lines.items())

    def styles(self) -> str:
        """The colours' classes."""
        return "".join(f".{name}{{fill:{colour}}}" for colour, name in self._colours.items())

    def _class(self, colour: picture.RGB) -> str:
        return self._colours.setdefault(hexed(colour), f"c{len(self._colours)}")

    def _drawn(self, spans: Sequence[tuple[str, Any]]) -> str:
        grounds, shapes, texts, x = Shapes(), Shapes(), list[str](), 0
        for text, style in spans:
            ink, ground = picture.colours(style, picture.INK, picture.GROUND)
            wide = cell_len(text)
            if ground != picture.GROUND:
                grounds.box((x * W, 0, (x + wide) * W, H), ground)
            words, start, at = "", x, x
            for char in text:
                drawn = shapes.block(char, at * W, 0, ink, ground) or shapes.line(char, at * W, 0, ink)
                if drawn or (char == " " and (not words or words.endswith(" "))):
                    texts += self._text(words, start, ink, style)
                    words, start = "", at + 1
                else:
                    words += char
                at += cell_len(char)
            texts += self._text(words, start, ink, style)
            x += wide
        paths = [f'<path class="{self._class(c)}" d="{d}"/>' for one in (grounds, shapes) for c, d in one.paths()]
        return "".join([*paths, *texts])

    def _text(self, words: str, x: int, ink: picture.RGB, style: Any) -> list[str]:
        words = words.rstrip()
        if not words:
            return []
        looks = {"b": style and style.bold, "i": style and style.italic, "s": style and style.strike}
        names = [self._class(ink), *(name for name, on in looks.items() if on)]
        wide = cell_len(words)
        held = f' textLength="{wide * W}"' if wide > 1 else ""
        return [f'<text x="{x * W}" y="13" class="{" ".join(names)}"{held}>{escape(words)}</text>']


def svg(frames: Sequence[Frame], drawing: Drawing, lines: int = LINES) -> str:
    """The whole file."""
    width, height = COLUMNS * W + 2 * PAD, lines * H + 2 * PAD + CAPTION
    total = sum(frame.seconds for frame in frames)
    style, body, at = [], [], 0.0
    for n, frame in enumerate(frames):
        begin, end = 100 * at / total, 100 * (at + frame.seconds) / total
        first = "" if n == 0 else "0%{visibility:hidden}"
        last = "" if n == len(frames) - 1 else f"{end:.3f}%{{visibility:hidden}}"
        style.append(f"@keyframes k{n}{{{first}{begin:.3f}%{{visibility:visible}}{last}}}.f{n}{{animation-name:k{n}}}")
        uses = "".join(f'<use href="#{name}" y="{y * H}"/>' for y, name in enumerate(frame.lines) if name)
        middle = lines * H + PAD
        told = (
            f'<text class="q" x="4" y="{middle + 16}">{escape(frame.question)}</text>'
            f'<text class="k" x="4" y="{middle + 35}">{escape(frame.shown)}</text>'
        )
        body.append(f'<g class="f f{n}">{uses}{told}</g>')
        at += frame.seconds
    ground, ink = hexed(picture.GROUND), hexed(picture.INK)
    bar = f"transform-origin:0 0;animation:p {total:g}s linear infinite"
    sheet = (
        f"text{{font:13px {FONT};white-space:pre}}.b{{font-weight:bold}}.i{{font-style:italic}}"
        f".s{{text-decoration:line-through}}.q{{font-size:15px;font-weight:bold;fill:{ink}}}.k{{font-size:14px}}"
        f".f{{visibility:hidden;animation:{total:g}s step-end infinite}}"
        f".k,.p{{fill:#e8b45a}}.p{{{bar}}}@keyframes p{{0%{{transform:scaleX(0)}}}}"
        "@media (prefers-reduced-motion:reduce){.f,.p{animation:none}"
        f".f{len(frames) - 1}{{visibility:visible}}}}{drawing.styles()}{''.join(style)}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" xml:space="preserve">'
        f"<title>ctxtui: the five things people do first</title><style>{sheet}</style>"
        f"<defs>{drawing.definitions()}</defs>"
        f'<rect width="{width}" height="{height}" rx="8" fill="{ground}"/>'
        f'<g transform="translate({PAD} {PAD})">{"".join(body)}</g>'
        f'<rect class="p" y="{height - 3}" width="{width}" height="3"/></svg>\n'
    )


async def recorded(app: Any, steps: Sequence[Step], size: tuple[int, int] = (COLUMNS, LINES)) -> list[list[Any]]:
    """The screen's lines after each step. Raises `AssertionError` where a screen does not come."""
    screens = []
    async with app.run_test(size=size) as pilot:
        for step in steps:
            for key in step.keys:
                await pilot.press(key)
                await pilot.pause(0.15)
            screens.append(await _at_rest(app, pilot, step))
    return screens


def cast(screens: Sequence[Sequence[Any]], steps: Sequence[Step], lines: int = LINES) -> str:
    """The frames as an asciicast: at each step only the lines that changed, below them the step's caption."""
    head = {"version": 2, "width": COLUMNS, "height": lines + 2, "title": "ctxtui: the five things people do first"}
    head["env"] = {"TERM": "xterm-256color"}
    events, shown, seconds = [json.dumps(head)], [""] * (lines + 2), 0.0
    for strips, step in zip(screens, steps, strict=True):
        captions = [f"\x1b[1m {step.question}\x1b[0m", f"\x1b[33m {step.shown}\x1b[0m"]
        rows = [*("".join(coloured(*segment) for segment in strip) for strip in strips), *captions]
        text = "".join(f"\x1b[{y + 1};1H{row}\x1b[K" for y, row in enumerate(rows) if row != shown[y])
        events.append(
            json.dumps([round(seconds, 2), "o", ("" if seconds else "\x1b[?25l\x1b[2J") + text], ensure_ascii=False)
        )
        shown, seconds = rows, seconds + step.seconds
    events.append(json.dumps([round(seconds, 2), "o", "\x1b[?25h"]))
    return "\n".join(events) + "\n"


def coloured(text: str, style: Any, control: Any) -> str:
    """A segment with its colours as a terminal reads them."""
    if control or not text:
        return ""
    (red, green, blue), ground = picture.colours(style, picture.INK, picture.GROUND)
    on = {
        "1": style and style.bold,
        "3": style and style.italic,
        "4": style and style.underline,
        "9": style and style.strike,
    }
    codes = ["0", *(code for code, is_on in on.items() if is_on), f"38;2;{red};{green};{blue}"]
    codes.append("48;2;" + ";".join(map(str, ground)))
    return f"\x1b[{';'.join(codes)}m{text}"


async def _at_rest(app: Any, pilot: Any, step: Step) -> list[Any]:
    """The screen that shows the step's words and changes no more."""
    until, before, still = time.monotonic() + PATIENCE, "", 0
    while time.monotonic() < until:
        strips = picture.screen_strips(app)
        there = "\n".join(strip.text for strip in strips)
        still = (
            still + 1 if there == before and step.words in there and not any(word in there for word in UNDER_WAY) else 0
        )
        if still >= 8:
            return strips
        before = there
        await pilot.pause(0.1)
    raise AssertionError(f"{step.keys}: no {step.words!r} on\n{before}")


def kept(home: Path) -> None:
    """The samples as sessions of the user's own, the first one the newest."""
    folder = home / ".claude" / "projects" / "-home-me-pineapple"
    folder.mkdir(parents=True)
    for path, minutes in zip(sorted((REPO / "sessions").glob("*.jsonl")), (13, 130, 1500, 4400), strict=True):
        copy = folder / path.name
        copy.write_bytes(path.read_bytes())
        os.utime(copy, (time.time() - 60 * minutes - 30,) * 2)


@contextmanager
def prepared_home(*, new: bool = False) -> Iterator[Any]:
    """A user's home with the samples as sessions; gives the settings of its user.

    `new`: the home of a user who starts ctxtui for the first time, with nothing but the samples as such.
    """
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder, "ctxtui")
        os.environ.update(
            HOME=folder,
            CTXTUI_HOME=str(home),
            COLORTERM="truecolor",
            TERM="xterm-256color",
            TEXTUAL_ANIMATIONS="none",
            TZ="UTC",
        )
        os.environ.pop("NO_COLOR", None)
        work = Path(folder, "pineapple")
        work.mkdir()
        os.chdir(work)
        from ctxtui.services.config import package_data

        samples = [shutil.copy(path, folder) for path in sorted((REPO / "sessions").glob("*.jsonl"))] if new else []
        # The same four would else be listed twice, or with a path of this machine.
        package_data.sample_paths = lambda: tuple(map(Path, samples))
        from ctxtui.services.config.config import load
        from ctxtui.services.library.session_actions import mark_welcomed

        settings = dataclasses.replace(load(env={}).settings, tips=False)
        if not new:
            mark_welcomed(settings)
            kept(Path(folder))
        yield settings
        os.chdir(REPO)


def make(out: Path, steps: Sequence[Step] = STEPS) -> None:
    """Write the recording of `steps` to `out`, and the asciicast beside it."""
    with prepared_home() as settings:
        from ctxtui.services.config.config import Config
        from ctxtui.tui.start import make_app

        screens = asyncio.run(recorded(make_app(None, Config(settings, {})), steps))
    drawing = Drawing()
    frames = [
        Frame(tuple(drawing.line(strip) for strip in strips), step.seconds, step.question, step.shown)
        for strips, step in zip(screens, steps, strict=True)
    ]
    out.write_text(svg(frames, drawing), encoding="utf-8")
    out.with_suffix(".cast").write_text(cast(screens, steps), encoding="utf-8")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Make the README's recording.")
    parser.add_argument("out", nargs="?", type=Path, default=OUT)
    parser.add_argument("--steps", type=int, default=len(STEPS), help="only the first so many")
    given = parser.parse_args()
    make(given.out.absolute(), STEPS[: given.steps])
    print(f"{given.out}: {given.out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
