"""The game's screens, as the vision service recognises them: JSON in the fields of the document, and screenshots."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

START = datetime(2025, 11, 1, 18, 10, 22, tzinfo=UTC)
"""When the first turn begins; the others follow a minute apart."""
SIZE = (784, 1512)
MENUS = ("Info button", "Back button", "Story menu button", "Home menu button", "Race menu button", "Scout menu button")
"""The corner and the row at the bottom, which are there on every screen."""
SCREENS = {
    "Menu": ("Archive", "Profile", "Titles", "Trophy Room", "Friends", "Options", "Comics", "Secrets", *MENUS),
    "Training": (
        "Speed", "Stamina", "Power", "Guts", "Wit", "Rest", "Infirmary", "Recreation", "Skills", "Races",
        "Support Card 1", "Support Card 2", "Log", "Quick", "Details", *MENUS,
    ),
    "Race": (
        "Debut Race", "Spring Stakes", "Derby", "Autumn Cup", "Year-end Grand Prix", "Strategy", "View Rivals",
        "View Course", "Retry", "Watch", "Results", "Confirm Race", "Filter", "Sort", *MENUS,
    ),
    "Skills": (
        "Corner Recovery", "Straight Line", "Gate Focus", "Late Surge", "Front Runner", "Pace Keeper", "Calm Breath",
        "Steep Hill", "Inner Post", "Outer Post", "Spring Runner", "Autumn Runner", "Rainy Days", "Firm Ground",
        "Second Wind", "Long Stride", "Quick Feet", "Learn", "Reset", "Sort", *MENUS,
    ),
}  # fmt: skip
"""What is on each screen: first the menu that the document prints, then others of the game."""
TABS = {"Menu": ("Jukebox", "Menu")}
"""The tabs of a screen's menu; those of the others are `USUAL`."""
USUAL = ("Training", "Race", "Skills")
SECTIONS = {"Menu": "Umamusume", "Training": "Facilities", "Race": "Calendar", "Skills": "Learnable"}
HINTS = ("NEW", "RECOMMENDED", "LIMITED")
FIRST = 5
"""The turn of the document's menu."""


def screen(turn: int) -> dict[str, Any]:
    """What is recognised in a turn, with everything that the input handler needs."""
    tab = [*SCREENS][(turn - FIRST) % len(SCREENS)]
    tabs = [{"name": one, "is_selected": one == tab, "availability": "available"} for one in TABS.get(tab, USUAL)]
    bar = {
        "track_bounds": [1890, 300, 12, 640],
        "thumb_bounds": [1890, 300 + 40 * turn % 440, 12, 198],
        "can_scroll_up": turn % 3 == 0,
        "can_scroll_down": True,
        "thumb_ratio": 0.31,
    }
    return {
        "buttons": [_button(name, tab, row, turn) for row, name in enumerate(SCREENS[tab])],
        "scrollbar": None if tab == "Menu" else bar,
        "menu_state": {
            "is_usable": True,
            "selected_tab": tab,
            "tabs": tabs,
            "available_tabs": [one["name"] for one in tabs],
        },
    }


def _button(name: str, tab: str, row: int, turn: int) -> dict[str, Any]:
    if name in MENUS:
        return _spelled_out(name, [40 + 300 * MENUS.index(name), 980, 193, 64], {}, "menus")
    # The first one of the document's menu is NEW.
    hint = {"hint": HINTS[row // 3 % 3]} if (row + turn) % 3 == 2 else {}
    bounds = [907 + 240 * (row % 4), 418 + 61 * (row // 4), 193, 49]
    return _spelled_out(name, bounds, hint | {"section": SECTIONS[tab]}, "menus" if tab == "Menu" else "primary")


def _spelled_out(name: str, bounds: list[int], metadata: dict[str, str], region: str) -> dict[str, Any]:
    label = " | ".join([name, *(f"{key}={value}" for key, value in metadata.items())])
    return {"name": name, "full_label": label, "bounds": bounds, "metadata": metadata, "region": region}


def turn_id(turn: int) -> str:
    """``turn_000005``."""
    return f"turn_{turn:06}"


def time_of(turn: int, day: int = 0) -> str:
    """When a turn begins, as its message says it, so many days later."""
    return f"{START + timedelta(days=day, minutes=turn):%Y-%m-%dT%H:%M:%S}"


def metadata(turn: int, day: int = 0) -> str:
    """The turn's metadata."""
    return f"Turn ID: {turn_id(turn)}\nTimestamp: {time_of(turn, day)}"


def spelled(seen: dict[str, Any]) -> str:
    """A screen as the message holds it."""
    return json.dumps(seen, indent=2)


@cache
def screenshot(turn: int) -> str:
    """A picture of a turn's screen, PNG in base64: a box for each button. Every run shows the same pictures."""
    wide, high = SIZE
    rows = [bytearray(b"\x18" * wide) for _ in range(high)]
    for number, button in enumerate(screen(turn)["buttons"]):
        left, top, width, height = button["bounds"]
        for y in range(top, min(top + height, high)):
            rows[y][left : min(left + width, wide)] = bytes([90 + number * 5]) * (min(left + width, wide) - left)
    packed = zlib.compress(b"".join(b"\0" + bytes(row) for row in rows), 9)
    head = struct.pack(">IIBBBBB", wide, high, 8, 0, 0, 0, 0)
    parts = (_chunk(b"IHDR", head), _chunk(b"IDAT", packed), _chunk(b"IEND", b""))
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(parts)).decode()


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
