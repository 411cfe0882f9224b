"""Palettes, themes, glyphs, rules and the key line: all that needs no running app."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.color import Color
from textual.theme import Theme

from ctxtui.tui.theme import glyphs, paint
from ctxtui.tui.theme.palette import PALETTES
from ctxtui.tui.theme.rule import rule
from ctxtui.tui.theme.theme import THEMES, Look, ascii_needed, native_colours, theme_name
from ctxtui.tui.widgets.keyline import Key, keyline
from ctxtui.views.text import cells
from ctxtui.views.text.signs import CATEGORY, DARK, GUTTER, LIGHT, MARK, TRACK
from ctxtui.views.text.span import Span, plain, width

SIGNS = [*CATEGORY, *MARK.values(), *GUTTER.values(), *TRACK.values()]
look = Look(PALETTES["ctxtui-dark"])
mono = Look(PALETTES["ctxtui-mono"])
strict = Look(PALETTES["ctxtui-dark"], ascii=True)


@pytest.mark.parametrize("name", PALETTES)
def test_every_word_has_a_style_in_every_palette(name: str) -> None:
    palette = PALETTES[name]
    words = [*DARK, "read", "write", "fresh", "quiet", "bold", "italic", "strike", "underline", "reverse"]
    for word in words + [f"on-{colour}" for colour in DARK] + [sign.style for sign in SIGNS]:
        palette.style(word)
        palette.style(word, "on-cur")


def test_an_unknown_word_is_an_error() -> None:
    with pytest.raises(KeyError, match="purple"):
        look.palette.style("purple")


def test_dark_and_light_name_the_same_colours() -> None:
    assert DARK.keys() == LIGHT.keys()
    assert look.palette.style("write").color == Color.parse("#F5C04E")
    assert look.palette.style("cat-user on-cat-tools bold").bgcolor == Color.parse("#2E74E8")
    assert look.palette.style("dim").bgcolor == Color.parse(DARK["bg"])
    assert look.palette.style("dim", "on-turn").bgcolor == Color.parse(DARK["turn"])


def test_without_colour_attributes_tell() -> None:
    style = mono.palette.style
    for words in ("read", "cat-user bold", "crit", "ink", "on-accent accent-ink", "cat-call on-cat-result"):
        assert style(words).color is None and style(words).bgcolor is None
    assert style("read").dim and style("faint").dim and style("cat-result quiet").dim
    assert style("write").bold and style("cat-user").bold and style("crit").bold
    assert style("dim", "on-cur").reverse and not style("dim", "on-cur").dim
    assert style("del on-del-bg").strike and style("add on-add-bg").underline


def test_sixteen_colours_are_the_terminals_own() -> None:
    style = PALETTES["ctxtui-16"].style
    assert style("cat-user").color == Color.from_ansi(11)
    assert style("ink").color is None
    assert style("ink", "on-panel").bgcolor is None
    assert style("write", "on-cur").reverse and style("write", "on-cur").color is None


@pytest.mark.parametrize(
    ("wanted", "env", "system", "name"),
    [
        ("auto", {}, "truecolor", "ctxtui-dark"),
        ("auto", {"COLORFGBG": "0;15"}, "truecolor", "ctxtui-light"),
        ("auto", {"COLORFGBG": "15;default;0"}, "256", "ctxtui-dark"),
        ("auto", {"TERM": "xterm"}, "standard", "ctxtui-16"),
        ("auto", {"NO_COLOR": ""}, "truecolor", "ctxtui-mono"),
        ("light", {"NO_COLOR": "1"}, "truecolor", "ctxtui-mono"),
        ("auto", {"TERM": "dumb"}, None, "ctxtui-mono"),
        ("light", {}, "standard", "ctxtui-light"),
        ("mono", {}, "truecolor", "ctxtui-mono"),
        ("nord", {}, "truecolor", "nord"),
    ],
)
def test_theme_for_a_terminal(wanted: str, env: dict[str, str], system: str | None, name: str) -> None:
    assert theme_name(wanted, env, system) == name


def test_glyphs_by_encoding() -> None:
    assert not ascii_needed("auto", "utf-8") and not ascii_needed("auto", "UTF8")
    assert ascii_needed("auto", "ascii") and ascii_needed("auto", "latin-1") and ascii_needed("auto", None)
    assert ascii_needed("ascii", "utf-8") and not ascii_needed("unicode", "ascii")
    assert native_colours({"NO_COLOR": ""}) is True and native_colours({}) is None


def test_themes_carry_the_variables() -> None:
    by_name: dict[str, Theme] = {theme.name: theme for theme in THEMES}
    assert by_name.keys() == PALETTES.keys()
    assert by_name["ctxtui-light"].variables["cat-user"] == "#B78B25"
    assert by_name["ctxtui-16"].ansi and by_name["ctxtui-16"].variables["cat-call"] == "ansi_bright_cyan"


def test_signs_are_one_cell_without_emoji_form() -> None:
    for sign in SIGNS:
        assert cells.width(sign.glyph) == 1 and len(sign.letter) == 1 and sign.letter.isascii()
        assert sign.glyph not in "✂▪▶↗✔⚠"
    assert len({sign.glyph for sign in CATEGORY}) == len({sign.letter for sign in CATEGORY}) == len(CATEGORY)


def test_a_sign_becomes_its_letter() -> None:
    for sign in [*CATEGORY[:-1], *GUTTER.values(), *TRACK.values()]:
        assert glyphs.translate(sign.glyph, sign.style) == sign.letter
        assert glyphs.translate(f" {sign.glyph} ", f"{sign.style} bold") == f" {sign.letter} "
    assert glyphs.translate("▲", "warn") == "!"
    assert glyphs.translate("▲", "accent") == "^"
    assert glyphs.translate("154.0k → 107.3k", "crit") == "154.0k > 107.3k"
    assert glyphs.translate("→", "cat-call bold") == "C"


@given(st.text(max_size=30), st.booleans())
def test_ascii_is_as_wide(text: str, keep_wide: bool) -> None:
    got = glyphs.translate(text, "ink", keep_wide=keep_wide)
    assert cells.width(got) == cells.width(text)
    assert keep_wide or got.isascii()


def test_ascii_of_text() -> None:
    assert glyphs.translate("café 登 “x” ▂█", "ink") == 'cafe ?? "x" :#'
    assert glyphs.translate("é 登", "ink", keep_wide=True) == "e 登"
    assert glyphs.translate("⠉⣀⣿⠀", "accent") == "'.: "


@given(st.lists(st.tuples(st.text(max_size=12), st.sampled_from(["ink", "cat-user bold"]))), st.integers(0, 40))
def test_a_strip_is_exactly_its_width_and_safe(raw: list[tuple[str, str]], room: int) -> None:
    for how in (look, mono, strict):
        strip = paint.strip([Span(*pair) for pair in raw], room, how)
        assert strip.cell_length == room == cells.width(strip.text)
        assert not any(char < " " or "\x7f" <= char < "\xa0" for char in strip.text)


def test_paint_does_not_read_markup_and_shows_escapes() -> None:
    strip = paint.strip([Span("[bold]x[/] \x1b[2J")], 20, look)
    assert strip.text == "[bold]x[/] ␛[2J     "


def test_paint_cuts_and_lays_a_ground() -> None:
    strip = paint.strip([Span("56789登録")], 6, look, "on-cur")
    assert strip.text == "56789 "
    assert all(segment.style and segment.style.bgcolor == Color.parse(DARK["cur"]) for segment in strip)


def test_rule() -> None:
    assert plain(rule(20, "map", notes=[Span("order")])) == "─ map ────── order ─"
    assert plain(rule(20, "calls", after=[Span("28–139")])) == "─ calls  28–139 ────"
    assert plain(rule(12, "map", join="├")) == "├─ map ─────"
    assert plain(rule(14, "map", after=[Span("")], notes=[Span("", "dim")])) == "─ map ────────", "no gap for nothing"
    focused = rule(20, "transcript", focused=True)
    assert plain(focused) == "━ transcript ━━━━━━━"
    assert Span("transcript", "accent bold") in focused
    assert plain(rule(16, "transcript", after=[Span("long")], notes=[Span("notes")])) == "─ transcript ───"
    assert plain(rule(5, "")) == "─────"


@given(st.integers(0, 60), st.text("ab登", max_size=20), st.text("xy", max_size=30), st.sampled_from(["", "├"]))
def test_rule_is_exactly_its_room(room: int, title: str, notes: str, join: str) -> None:
    spans = rule(room, title, after=[Span(notes)] if notes else (), notes=[Span(notes)] if notes else (), join=join)
    assert width(spans) == room


KEYS = [Key("⏎", "open"), Key("p", "pin"), Key("t", "truncate", "cut"), Key("s", "summarize", "sum")]


def test_keyline() -> None:
    assert plain(keyline(60, KEYS)) == " ⏎ open  p pin  t cut  s sum             ^p palette  ? help "
    assert "t truncate" in plain(keyline(160, KEYS))
    assert plain(keyline(40, KEYS)) == " ⏎ open  p pin       ^p palette  ? help "
    assert plain(keyline(60, KEYS, ascii=True)).startswith(" ret open  p pin")


@given(st.integers(24, 200))
def test_keyline_always_offers_palette_and_help(room: int) -> None:
    line = plain(keyline(room, KEYS * 4))
    assert len(line) == room
    assert line.endswith("^p palette  ? help ")
