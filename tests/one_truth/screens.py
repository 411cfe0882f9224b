"""What the screens paint of a session: every figure that stands elsewhere too, read from the painted text."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from textual.pilot import Pilot

from ctxtui.services.config.config import load
from ctxtui.tui.app import CtxtuiApp
from ctxtui.tui.inspector.screen import InspectorScreen
from ctxtui.tui.start import make_app
from tests.one_truth.figures import COUNT, SIGNED, TOKENS, USD, WORDS, Reading

SIZE: Final = (170, 50)
"""Wide enough that no screen leaves a figure out for want of room."""
PATIENCE: Final = 150.0
"""Seconds that a screen may take until nothing on it changes any more."""
_QUIET: Final = 0.6
_BUSY: Final = re.compile(
    r"\A.*  reading | reading \d+ of \d+ ─|^[━ ].{0,40}· (?:running every call|reading every call|adding up)",
    re.MULTILINE,
)
"""What the header and the rules of lists say while something is worked out; rows may hold any words."""
LISTS: Final = {"misses": "c", "bill": "dollar_sign", "threads": "", "heaviest": "W"}
"""The key that opens each; the palette does where there is none."""


@dataclass(frozen=True)
class Painted:
    """The text of each screen, by name."""

    text: dict[str, str]


async def painted(path: Path, home: bool) -> Painted:
    """The screens of the recording at `path`: the inspector with its lists, and with `home` Home before it, whose first
    row must be that recording."""
    app = make_app(None if home else str(path), load(()))
    text: dict[str, str] = {}
    async with app.run_test(size=SIZE) as pilot:
        if home:
            text["home"] = await steady(app, pilot)
            await pilot.press("enter")
        screen = app.screen
        assert isinstance(screen, InspectorScreen)
        await worked_out(screen, pilot)
        text["inspector"] = await steady(app, pilot)
        for name, key in LISTS.items():
            if key:
                await pilot.press(key)
            else:
                await screen.run_action("command('ShowThreads')")
            text[name] = await steady(app, pilot)
            await pilot.press("escape")
    return Painted(text)


async def worked_out(screen: InspectorScreen, pilot: Pilot[None]) -> None:
    """Wait until all is read, counted and priced."""
    begun = time.monotonic()
    while True:
        study, scene = screen.state.study, screen.panels.scene
        if study and scene and scene.counted and screen.state.complete:
            known = study.thread(screen.state.thread)
            if known.priced == len(known.calls) and known.is_searched:
                return
        await pilot.pause(0.1)
        facts = (study, scene and (scene.counted, len(scene.calls)), screen.state.complete, screen.state.thread)
        assert time.monotonic() - begun < PATIENCE, f"never worked out: {facts}"


async def steady(app: CtxtuiApp, pilot: Pilot[None]) -> str:
    """The painted text, once it has come to rest."""
    begun = since = time.monotonic()
    last = ""
    while True:
        await pilot.pause(0.2)
        now = "\n".join(strip.text.rstrip() for strip in app.screen._compositor.render_strips())
        if now != last:
            last, since = now, time.monotonic()
        elif time.monotonic() - since > _QUIET and not _BUSY.search(now):
            return now
        assert time.monotonic() - begun < PATIENCE, f"never at rest:\n{now}"


_MONEY: Final = r"≥ ?\$[\d.,]+|\$[\d.,]+|unknown"
_ROW: Final = r"^▸ .*?\s{calls}\s+{peak}\s+[━╸─·]*\s+{total}\s+{misses}\s+{cost}\s+(?:\d+ %|–)\s+\S+$"


def _home_row(wanted: str) -> str:
    """A row of Home, one column of it caught."""
    columns = {"calls": r"[\d,]+", "peak": r"\S+", "total": r"\S+", "misses": r"[\d,·]+", "cost": _MONEY}
    columns = {name: f"(?:{what})" for name, what in columns.items()}
    return _ROW.format(**{**columns, wanted: f"({columns[wanted]})"})


_THREAD_ROW: Final = r"● main .*?(?P<calls>[\d,]+)\s+–\s+(?P<now>\S+)\s+(?P<peak>\S+)\s+\S+\s+(?P<cost>\S+(?: \S+)?)$"
_THREAD_PANE: Final = rf"● main\s+(?P<now>\S+)\s+(?P<peak>\S+)\s+(?P<cost>{_MONEY}) │"


def _of(pattern: str, name: str) -> str:
    """`pattern` with only its group `name`."""
    return re.sub(r"\(\?P<(\w+)>", lambda found: "(" if found[1] == name else "(?:", pattern)


@dataclass(frozen=True)
class Spot:
    """A place on a screen where a figure stands: the first group of `pattern` is what is painted."""

    screen: str
    place: str
    name: str
    kind: str
    pattern: str


CALLS, MAIN_CALLS = "calls of all threads", "calls of the main thread"
COST, MAIN_COST = "cost of all threads", "cost of the main thread"
NOW, PEAK = "context of the last call", "peak of the main thread"
MISSES, MAIN_MISSES = "misses of all threads", "misses of the main thread"
AGAIN, LOST, SENT = "tokens written again", "lost to misses", "tokens in all"

SPOTS: Final = (
    Spot("home", "row", CALLS, COUNT, _home_row("calls")),
    Spot("home", "row", PEAK, TOKENS, _home_row("peak")),
    Spot("home", "row", SENT, TOKENS, _home_row("total")),
    Spot("home", "row", MISSES, COUNT, _home_row("misses")),
    Spot("home", "row", COST, USD, _home_row("cost")),
    Spot("home", "growth", CALLS, COUNT, r"growth ─+ ([\d,]+) calls"),
    Spot("home", "growth", MISSES, COUNT, r"growth ─.* ▼ ([\d,]+) miss"),
    Spot("inspector", "header", MAIN_COST, USD, rf"\A.*?({_MONEY})(?: of (?:{_MONEY})(?: with .*)?)?\s*$"),
    Spot("inspector", "header, all", COST, USD, rf"\A.* of ({_MONEY})(?: with .*)?\s*$"),
    Spot("inspector", "header", NOW, TOKENS, r"\A.*? (\S+) of \S+\s+\d+ %"),
    Spot("inspector", "composition", NOW, TOKENS, r"context ─+ ([\d,]+) reported"),
    Spot("inspector", "strip", MAIN_MISSES, COUNT, r"─ calls .*▼ miss ([\d,]+)"),
    Spot("inspector", "threads pane", NOW, TOKENS, _of(_THREAD_PANE, "now")),
    Spot("inspector", "threads pane", PEAK, TOKENS, _of(_THREAD_PANE, "peak")),
    Spot("inspector", "threads pane", MAIN_COST, USD, _of(_THREAD_PANE, "cost")),
    Spot("threads", "row", MAIN_CALLS, COUNT, _of(_THREAD_ROW, "calls")),
    Spot("threads", "row", NOW, TOKENS, _of(_THREAD_ROW, "now")),
    Spot("threads", "row", PEAK, TOKENS, _of(_THREAD_ROW, "peak")),
    Spot("threads", "row", MAIN_COST, USD, _of(_THREAD_ROW, "cost")),
    Spot("misses", "rule", MISSES, COUNT, r"━ ([\d,]+) miss(?:es)?\s"),
    Spot("misses", "rule", AGAIN, TOKENS, r"(\S+) written again  "),
    Spot("misses", "rule", LOST, USD, rf"({_MONEY}) lost"),
    Spot("misses", "rule", COST, USD, rf"lost of ({_MONEY})"),
    Spot("bill", "heading", COST, USD, rf"({_MONEY}) list price · [\d,]+ call"),
    Spot("bill", "heading", CALLS, COUNT, r"list price · ([\d,]+) call"),
    Spot("bill", "part", AGAIN, TOKENS, r"^  rewrites\s+([\d.]+[kM]?)\s"),
    Spot("bill", "sentence", MISSES, COUNT, r"rewrites \(([\d,]+)[;)]"),
)


def readings(screens: Painted) -> Iterator[Reading]:
    """Every reading of the screens; what a screen does not say is none. Then the rows of the list of heaviest blocks
    and of the composition, a figure each."""
    for spot in SPOTS:
        found = re.search(spot.pattern, screens.text.get(spot.screen, ""), re.MULTILINE)
        if found:
            yield Reading(spot.name, spot.kind, f"{spot.screen}, {spot.place}", shown=found[1].strip())
    yield from heaviest(screens.text["heaviest"], "heaviest")
    for label, tokens in re.findall(
        r"[│┬] \d?-? (?:\S )?(\w[\w ]*?)\s+\??(\d[\d.kM]*) [━╸·]", screens.text["inspector"]
    ):
        yield Reading(f"context: {label}", TOKENS, "inspector, composition", shown=tokens)
    residual = re.search(r"residual\s+([+−]?\d[\d.kM]*)\s", screens.text["inspector"])
    if residual:
        yield Reading("residual", SIGNED, "inspector, composition", shown=residual[1])


_COLUMNS: Final = {
    "tokens": r"([\d.kM]+)",
    "calls": r"([\d,]+)",
    "carry": r"([\d.kM]+)",
    "since": r"([\d,]+|[–·])",
    "cost": rf"({_MONEY}|[–·])",
    "stale": r"([a-z][a-z, ]*…?)",
    "cacheable": r"(high|medium|low|\?)",
}
ROWS: Final = 12
"""Rows of the list that are compared."""


def heaviest(text: str, place: str) -> Iterator[Reading]:
    """The first rows of a list of heaviest blocks, each column that the list has."""
    head = re.search(r"^ +block +tokens .*$", text, re.MULTILINE)
    names = [name for name in _COLUMNS if head is not None and name in head[0]]
    # A block that is not stale says nothing there, and no line is padded to its end.
    columns = [rf"(?:\s+{_COLUMNS[name]})?" if name == "stale" else rf"\s+{_COLUMNS[name]}" for name in names]
    row = r"^[▸ ](?:[■ ][✗ ])?(.) (.{12}).*?" + "".join(columns) + "$"
    for number, found in enumerate(re.findall(row, text, re.MULTILINE)[:ROWS], 1):
        yield Reading(f"heavy {number}", WORDS, place, shown=" ".join(found[:2]))
        for name, shown in zip(names, found[2:], strict=True):
            yield Reading(f"heavy {number} {name}", WORDS, place, shown=shown)
