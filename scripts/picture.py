"""Pictures of a screen: the strips of a Textual app as a PNG, each cell drawn as a terminal draws it.

    python scripts/picture.py OUT.png RECORDING [--size 120x40] [--keys "down,down,enter"] [--wait SECONDS]
    python scripts/picture.py OUT.png MODULE:APP [--arg TEXT ...]

or from Python: ``draw(strips, path)`` for strips at hand, ``shoot(app, (120, 40), ["down"], path)`` for an app.
Blocks, lines and braille are exact shapes, so there are no seams; letters come from a monospace font of the system,
found through fontconfig or in the usual folders. Needs Pillow (a development dependency).
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, ImageFont
from rich.cells import cell_len
from rich.color import Color
from rich.style import Style
from rich.terminal_theme import MONOKAI

FAMILIES = ("JetBrains Mono", "Cascadia Mono", "Menlo", "DejaVu Sans Mono", "Liberation Mono", "Noto Sans Mono")
FALLBACKS = ("DejaVu Sans Mono", "Noto Sans CJK SC", "Noto Sans Symbols2", "DejaVu Sans", "PingFang SC")
FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts", "~/.local/share/fonts", "~/.fonts", "/Library/Fonts",
           "/System/Library/Fonts", "~/Library/Fonts")  # fmt: skip
INK, GROUND = (220, 225, 234), (14, 17, 23)
SCALE = 2  # drawn larger, then reduced: smooth diagonals and dots

RGB = tuple[int, int, int]
Box = tuple[float, float, float, float]

# Lines: left, up, right, down; 1 light, 2 heavy.
LINES = {
    "─": (1, 0, 1, 0), "━": (2, 0, 2, 0), "│": (0, 1, 0, 1), "┃": (0, 2, 0, 2), "╴": (1, 0, 0, 0), "╵": (0, 1, 0, 0),
    "╶": (0, 0, 1, 0), "╷": (0, 0, 0, 1), "╸": (2, 0, 0, 0), "╹": (0, 2, 0, 0), "╺": (0, 0, 2, 0), "╻": (0, 0, 0, 2),
    "┬": (1, 0, 1, 1), "┴": (1, 1, 1, 0), "├": (0, 1, 1, 1), "┤": (1, 1, 0, 1), "┼": (1, 1, 1, 1), "┌": (0, 0, 1, 1),
    "┐": (1, 0, 0, 1), "└": (0, 1, 1, 0), "┘": (1, 1, 0, 0), "╰": (0, 1, 1, 0), "╯": (1, 1, 0, 0), "╭": (0, 0, 1, 1),
    "╮": (1, 0, 0, 1), "╾": (2, 0, 1, 0), "╼": (1, 0, 2, 0),
}  # fmt: skip
# Dashes: how many in a cell, heavy, upright.
DASHES = {
    "╌": (2, 1, False), "╍": (2, 2, False), "┄": (3, 1, False), "┅": (3, 2, False), "┈": (4, 1, False),
    "┊": (4, 1, True), "┆": (3, 1, True), "╎": (2, 1, True), "╏": (2, 2, True), "┇": (3, 2, True), "┋": (4, 2, True),
}  # fmt: skip
QUADRANTS = {"▖": 4, "▗": 8, "▘": 1, "▙": 13, "▚": 9, "▛": 7, "▜": 11, "▝": 2, "▞": 6, "▟": 14}
SHADES = {"░": 0.25, "▒": 0.5, "▓": 0.75}


@cache
def font_path(family: str, bold: bool, italic: bool) -> str | None:
    """The file of a font, or None where the system has no such family."""
    style = {(0, 0): "Regular", (1, 0): "Bold", (0, 1): "Italic", (1, 1): "Bold Italic"}[bold, italic]
    if shutil.which("fc-match"):
        pattern = f"{family}:style={style}:weight={200 if bold else 80}"
        done = subprocess.run(["fc-match", "-f", "%{family}|%{file}", pattern], capture_output=True, text=True)
        found, _, path = done.stdout.partition("|")
        return path if family in found else None
    wanted = family.replace(" ", "").lower() + "-" + style.replace(" ", "").lower()
    for folder in FOLDERS:
        for file in Path(folder).expanduser().rglob("*.[to]t[fc]"):
            stem = file.stem.replace(" ", "").lower()
            if stem == wanted or (stem == family.replace(" ", "").lower() and style == "Regular"):
                return str(file)
    return None


@cache
def fonts(size: int, bold: bool, italic: bool) -> tuple[ImageFont.FreeTypeFont, ...]:
    """The fonts to try in turn, the first one for letters."""
    paths = [font_path(f, bold, italic) for f in FAMILIES] + [font_path(f, bold, False) for f in FALLBACKS]
    found = [ImageFont.truetype(path, size) for path in dict.fromkeys(paths) if path]
    default = ImageFont.load_default(size)
    return tuple(found) or ((default,) if isinstance(default, ImageFont.FreeTypeFont) else ())


@cache
def font_for(char: str, size: int, bold: bool, italic: bool) -> ImageFont.FreeTypeFont | None:
    """The first font that has `char`."""
    tried = fonts(size, bold, italic)
    for font in tried:
        missing = font.getmask("\U0010ffff")
        mask = font.getmask(char)
        if mask.size != missing.size or bytes(mask) != bytes(missing):
            return font
    return tried[0] if tried else None


@cache
def letter_size(width: int) -> int:
    """The font size at which a letter is `width` pixels wide."""
    sizes = [size for size in range(6, 120) if (f := fonts(size, False, False)) and f[0].getlength("M") <= width]
    return sizes[-1] if sizes else 10


def colours(style: Style | None, ink: RGB, ground: RGB) -> tuple[RGB, RGB]:
    """Foreground and background of a style."""

    def rgb(colour: Color | None, default: RGB) -> RGB:
        if colour is None or colour.is_default:
            return default
        return tuple(colour.get_truecolor(MONOKAI))  # type: ignore[return-value]

    if style is None:
        return ink, ground
    fg, bg = rgb(style.color, ink), rgb(style.bgcolor, ground)
    if style.reverse:
        fg, bg = bg, fg
    if style.dim:
        fg = mixed(fg, bg, 0.5)
    return fg, bg


def mixed(a: RGB, b: RGB, part: float) -> RGB:
    """`part` of `a` and the rest of `b`."""
    return tuple(round(x * part + y * (1 - part)) for x, y in zip(a, b, strict=True))  # type: ignore[return-value]


class Page:
    """An image under construction; cells of `cell` pixels."""

    def __init__(self, columns: int, lines: int, cell: tuple[int, int], ground: RGB) -> None:
        self.w, self.h = cell[0] * SCALE, cell[1] * SCALE
        self.image = Image.new("RGB", (columns * self.w, lines * self.h), ground)
        self.pen = ImageDraw.Draw(self.image)

    def box(self, box: Box, colour: RGB) -> None:
        """A filled rectangle, its right and lower side not drawn."""
        x0, y0, x1, y1 = (round(value) for value in box)
        if x1 > x0 and y1 > y0:
            self.pen.rectangle((x0, y0, x1 - 1, y1 - 1), colour)

    def char(self, x: int, y: int, char: str, style: Style | None, colours_: tuple[RGB, RGB]) -> None:
        """One character at cell (x, y)."""
        fg, bg = colours_
        left, top = x * self.w, y * self.h
        if not (self.block(char, left, top, fg, bg) or self.line(char, left, top, fg)):
            bold, italic = bool(style and style.bold), bool(style and style.italic)
            self.letter(char, left, top, fg, bold, italic)

    def block(self, char: str, x: int, y: int, fg: RGB, bg: RGB) -> bool:
        """A block element or braille, if `char` is one."""
        w, h, code = self.w, self.h, ord(char)
        if 0x2581 <= code <= 0x2588:
            self.box((x, y + h - h * (code - 0x2580) / 8, x + w, y + h), fg)
        elif 0x2589 <= code <= 0x258F:
            self.box((x, y, x + w * (0x2590 - code) / 8, y + h), fg)
        elif char in "▀▔▐":
            self.box((x + w / 2 if char == "▐" else x, y, x + w, y + h * {"▀": 0.5, "▔": 0.125}.get(char, 1)), fg)
        elif char in SHADES:
            self.box((x, y, x + w, y + h), mixed(fg, bg, SHADES[char]))
        elif char in QUADRANTS:
            for bit in range(4):
                if QUADRANTS[char] >> bit & 1:
                    qx, qy = x + w / 2 * (bit % 2), y + h / 2 * (bit // 2)
                    self.box((qx, qy, qx + w / 2, qy + h / 2), fg)
        elif 0x2800 <= code <= 0x28FF:
            self.braille(code - 0x2800, x, y, fg)
        else:
            return False
        return True

    def braille(self, bits: int, x: int, y: int, fg: RGB) -> None:
        """Eight dots."""
        order = (0x01, 0x02, 0x04, 0x40, 0x08, 0x10, 0x20, 0x80)
        radius = self.w * 0.17
        for number, bit in enumerate(order):
            if bits & bit:
                cx, cy = x + self.w * (0.25 + 0.5 * (number // 4)), y + self.h * (0.125 + 0.25 * (number % 4))
                self.pen.ellipse((cx - radius, cy - radius, cx + radius, cy + radius), fg)

    def line(self, char: str, x: int, y: int, fg: RGB) -> bool:
        """A line of the box drawing block, if `char` is one."""
        w, h = self.w, self.h
        light, heavy = max(1, round(w * 0.1)), max(2, round(w * 0.28))
        cx, cy = x + w / 2, y + h / 2
        if char in LINES:
            a, b, c, d = (0 if n == 0 else light if n == 1 else heavy for n in LINES[char])
            across, up = max(a, c) / 2, max(b, d) / 2
            for box, on in (
                ((x, cy - a / 2, cx + up, cy + a / 2), a),
                ((cx - up, cy - c / 2, x + w, cy + c / 2), c),
                ((cx - b / 2, y, cx + b / 2, cy + across), b),
                ((cx - d / 2, cy - across, cx + d / 2, y + h), d),
            ):
                if on:
                    self.box(box, fg)
        elif char in DASHES:
            count, weight, upright = DASHES[char]
            thick = (light if weight == 1 else heavy) / 2
            for i in range(count):
                start, end = (i + 0.15) / count, (i + 0.85) / count
                if upright:
                    self.box((cx - thick, y + h * start, cx + thick, y + h * end), fg)
                else:
                    self.box((x + w * start, cy - thick, x + w * end, cy + thick), fg)
        elif char in "╱╲╳":
            if char != "╲":
                self.pen.line((x, y + h, x + w, y), fg, light)
            if char != "╱":
                self.pen.line((x, y, x + w, y + h), fg, light)
        else:
            return False
        return True

    def letter(self, char: str, x: int, y: int, fg: RGB, bold: bool, italic: bool) -> None:
        """Anything else, from a font, on the common base line."""
        size = letter_size(self.w)
        font = font_for(char, size, bold, italic)
        if font is None or char.isspace():
            return
        width = self.w * max(1, cell_len(char))
        ascent = round(self.h * 0.76)
        if font.getlength(char) > width * 1.05:
            font = font.font_variant(size=max(6, int(size * width / font.getlength(char))))
        gap = (width - font.getlength(char)) / 2 if cell_len(char) == 2 else 0
        self.pen.text((x + gap, y + ascent), char, fill=fg, font=font, anchor="ls")


def draw(
    strips: Iterable[Any], path: str | Path, cell: tuple[int, int] = (10, 21), ink: RGB = INK, ground: RGB = GROUND
) -> None:
    """Draw `strips` (each an iterable of Rich segments) to the PNG `path`, a cell `cell` pixels wide and high.

    `ink` and `ground` stand for the terminal's default colours.
    """
    lines = [[(text, style) for text, style, control in strip if text and not control] for strip in strips]
    columns = max((sum(cell_len(text) for text, _ in line) for line in lines), default=1)
    page = Page(max(1, columns), max(1, len(lines)), cell, ground)
    for y, line in enumerate(lines):
        x = 0
        for text, style in line:
            both = colours(style, ink, ground)
            page.box((x * page.w, y * page.h, (x + cell_len(text)) * page.w, (y + 1) * page.h), both[1])
            start = x
            for char in text:
                page.char(x, y, char, style, both)
                x += cell_len(char)
            for on, part in ((style and style.strike, 0.5), (style and style.underline, 0.9)):
                if on:
                    mid = (y + part) * page.h
                    page.box((start * page.w, mid - SCALE / 2, x * page.w, mid + SCALE / 2), both[0])
    size = (page.image.width // SCALE, page.image.height // SCALE)
    page.image.resize(size, Image.Resampling.BOX).save(path)


def screen_strips(app: Any) -> list[Any]:
    """What `app` shows now, line by line."""
    return list(app.screen._compositor.render_strips())


def shoot(
    app: Any,
    size: tuple[int, int] = (120, 40),
    keys: Sequence[str] = (),
    path: str | Path = "screen.png",
    wait: float = 0.0,
) -> None:
    """Run `app` without a terminal at `size` (columns, lines), press `keys`, wait `wait` seconds, draw the screen."""

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause(wait or None)
            for key in keys:
                await pilot.press(key)
            await pilot.pause(wait or None)
            draw(screen_strips(app), path)

    asyncio.run(run())


def _app(name: str, arguments: Sequence[str]) -> Any:
    """ctxtui on the recording `name`, or the app that ``MODULE:NAME`` is or returns."""
    sys.path.insert(0, ".")
    if Path(name).exists():
        from ctxtui.services.config.config import load
        from ctxtui.tui.start import make_app

        return make_app(name, load())
    module, _, attribute = name.partition(":")
    found = getattr(importlib.import_module(module), attribute)
    return found(*arguments) if callable(found) else found


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Draw the screen of a Textual app to a PNG.")
    parser.add_argument("out")
    parser.add_argument("app", help="a recording, or MODULE:NAME of an app or of something that returns one")
    parser.add_argument("--size", default="120x40", help="columns x lines")
    parser.add_argument("--keys", default="", help="keys to press, by comma")
    parser.add_argument("--wait", type=float, default=0.2, help="seconds before the picture")
    parser.add_argument("--arg", action="append", default=[], help="an argument for the app, as text; may be repeated")
    given = parser.parse_args()
    # As on a good terminal, wherever this runs; NO_COLOR and a theme of the app's own still count.
    os.environ["COLORTERM"] = "truecolor"
    os.environ["TERM"] = "xterm-256color"
    app = _app(given.app, given.arg)
    columns, _, lines = given.size.partition("x")
    keys = [key for key in given.keys.split(",") if key]
    shoot(app, (int(columns), int(lines)), keys, given.out, given.wait)
    print(given.out)


if __name__ == "__main__":
    main()
