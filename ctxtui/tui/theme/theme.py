"""Textual themes for the palettes, and the choice of one for a terminal."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Mapping
from types import MappingProxyType
from typing import Any, Final
from weakref import WeakKeyDictionary

from msgspec import Struct, field
from textual.app import App
from textual.color import Color, ColorParseError
from textual.strip import Strip
from textual.theme import BUILTIN_THEMES, Theme

from ctxtui.core.errors import BadConfig
from ctxtui.services.config.settings import THEME_COLOURS
from ctxtui.tui.theme.palette import PALETTES, SIXTEEN, Palette, make_palette
from ctxtui.views.text.signs import DARK, LIGHT

_ANSI_NAMES: Final = "black red green yellow blue magenta cyan white".split()


def _widget_variables(colours: Mapping[str, str], ansi: bool) -> Mapping[str, str]:
    """Return variables that Textual's own widgets need besides the palette's."""
    if ansi:
        return BUILTIN_THEMES["ansi-dark"].variables
    # Textual does not resolve a variable that refers to another one.
    return {"block-cursor-background": colours["cur"], "block-cursor-foreground": colours["ink"]}


def _theme(name: str, colours: Mapping[str, str], dark: bool, ansi: bool = False) -> Theme:
    named: dict[str, Any] = {theirs: colours[ours] for theirs, ours in _PALETTE_NAMES.items()}
    return Theme(name=name, dark=dark, ansi=ansi, variables={**_widget_variables(colours, ansi), **colours}, **named)


def own_theme(name: str, table: Mapping[str, Any]) -> Theme:
    """Make the user's theme `name` from the members of Textual's `Theme`.

    What it does not set is as in ctxtui's dark or light theme; `variables` sets any colour by its name in `DARK`.
    Raises `BadConfig`.
    """
    place = f"themes.{name}"
    values = dict(table)
    variables = values.pop("variables", {})
    if not isinstance(variables, Mapping) or not isinstance(values.get("dark", True), bool):
        raise BadConfig("`variables` must be a table, and `dark` true or false", place=place)
    base = DARK if values.get("dark", True) else LIGHT
    unknown = [key for key in values if key not in (*THEME_COLOURS, "dark")] + [
        key for key in variables if key not in base
    ]
    if unknown:
        raise BadConfig(f"a theme has no {unknown[0]!r}", place=place, way_out="docs/settings.md lists its colours")
    mine = {ours: values[theirs] for theirs, ours in _PALETTE_NAMES.items() if theirs in values}
    colours = {**base, **mine, **variables}
    for colour, value in colours.items():
        try:
            # Rich, which paints, knows fewer spellings.
            colours[colour] = Color.parse(str(value)).hex6
        except ColorParseError:
            raise BadConfig(f"{colour}: no colour {value!r}", place=place, way_out='write "#4FD9D0"') from None
    return _theme(name, colours, dark=base is DARK)


_PALETTE_NAMES: Final = {
    "primary": "accent",
    "secondary": "cat-result",
    "accent": "accent",
    "warning": "warn",
    "error": "crit",
    "success": "ok",
    "foreground": "ink",
    "background": "bg",
    "surface": "bg",
    "panel": "panel",
}
"""ctxtui's variable for each colour of Textual's `Theme`."""


def _ansi_colours() -> dict[str, str]:
    names = [f"ansi_{name}" for name in _ANSI_NAMES] + [f"ansi_bright_{name}" for name in _ANSI_NAMES]
    return {name: names[SIXTEEN[name]] if name in SIXTEEN else "ansi_default" for name in DARK}


# Greys for Textual's own widgets; panes use attributes only.
_GREYS: Final = dict.fromkeys(DARK, "#D7D7D7") | {
    "bg": "#0D0D0D",
    "panel": "#0D0D0D",
    "cur": "#3A3A3A",
    "hair": "#4A4A4A",
    "dim": "#9A9A9A",
}

THEMES: Final = (
    _theme("ctxtui-dark", DARK, dark=True),
    _theme("ctxtui-light", LIGHT, dark=False),
    _theme("ctxtui-16", _ansi_colours(), dark=True, ansi=True),
    _theme("ctxtui-mono", _GREYS, dark=True),
)
"""Every palette as a theme; TCSS uses the design's variable names (``$cat-user``, ``$hair``)."""


class Look(Struct, frozen=True, eq=False, dict=True):
    """The palette of a terminal, and whether only ASCII may be written.

    `keep_wide`: replace only ctxtui's glyphs and characters of ambiguous width; other UTF-8 text stays.
    """

    palette: Palette
    ascii: bool = False
    keep_wide: bool = False
    strips: dict[Hashable, Strip] = field(default_factory=dict)
    """Cache of painted lines (`theme.paint`)."""

    @property
    def coloured(self) -> bool:
        """Whether two colours may share a cell: the argument ``colour`` of strips and maps."""
        return self.palette.coloured and not self.ascii


def native_colours(env: Mapping[str, str]) -> bool | None:
    """Return ``ansi_color`` for Textual's App: True under NO_COLOR, which removes all colours."""
    return True if "NO_COLOR" in env else None


def theme_name(setting: str, env: Mapping[str, str], colour_system: str | None) -> str:
    """Choose the theme for `setting`: ``auto``, a short name like ``dark``, or a full name.

    NO_COLOR and TERM=dumb mean mono, whatever the setting. ``auto`` checks `colour_system` as Rich names it and
    COLORFGBG, in which some terminals report their background (7 and 9 to 15 are light).
    """
    if "NO_COLOR" in env or env.get("TERM") == "dumb":
        return "ctxtui-mono"
    if setting != "auto":
        return f"ctxtui-{setting}" if f"ctxtui-{setting}" in PALETTES else setting
    if colour_system in {"standard", "windows"}:
        return "ctxtui-16"
    ground = env.get("COLORFGBG", "").rpartition(";")[2]
    is_light = ground.isdecimal() and (int(ground) == 7 or 9 <= int(ground) <= 15)
    return "ctxtui-light" if is_light else "ctxtui-dark"


def ascii_needed(setting: str, encoding: str | None) -> bool:
    """Whether to write ASCII only.

    `setting` is ``auto`` (by encoding), ``unicode`` or ``ascii``.
    """
    if setting != "auto":
        return setting == "ascii"
    return (encoding or "ascii").lower().replace("-", "").replace("_", "") not in {"utf8", "utf16", "utf32"}


def apply_theme(
    app: App[Any],
    env: Mapping[str, str],
    theme: str = "auto",
    glyphs: str = "auto",
    own: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
) -> None:
    """Register all themes and choose one, and whether `app` writes ASCII only.

    For App.__init__. Raises `BadConfig` if one of the user's (`own`) is no theme.
    """
    for each in (*THEMES, *(own_theme(name, table) for name, table in own.items())):
        app.register_theme(each)
    _set_first_theme(app, theme_name(theme, env, app.console.color_system))
    encoding = getattr(sys.__stdout__, "encoding", None)
    _ASCII[app] = (ascii_needed(glyphs, encoding), not ascii_needed("auto", encoding))


def _set_first_theme(app: App[Any], name: str) -> None:
    """Set the first theme, if possible without parsing all styles twice."""
    chosen = app.get_theme(name)
    if chosen is None or chosen.ansi or chosen.dark != app.current_theme.dark:
        app.theme = name
    else:
        app.set_reactive(App.theme, name)
        app.set_class(True, f"-theme-{name}", update=False)
    app.stylesheet.set_variables(app.get_css_variables())


_ASCII: WeakKeyDictionary[App[Any], tuple[bool, bool]] = WeakKeyDictionary()
"""`Look.ascii` and `Look.keep_wide` of each app."""
_LOOKS: dict[tuple[str, bool, bool], Look] = {}
"""Looks by theme name, `Look.ascii` and `Look.keep_wide`."""


def look_of(app: App[Any]) -> Look:
    """Return how `app` paints now.

    Another theme (Textual's own) paints with those of its variables that ctxtui uses, else with ctxtui's colours.
    """
    key = (app.theme, *_ASCII.get(app, (False, True)))
    if key not in _LOOKS:
        theme = app.current_theme
        base = DARK if theme.dark else LIGHT
        own = {name: theme.variables.get(name, colour) for name, colour in base.items()}
        _LOOKS[key] = Look(PALETTES.get(app.theme) or make_palette(app.theme, own), *key[1:])
    return _LOOKS[key]
