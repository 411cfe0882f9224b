"""The game's screens, as the vision service recognises them: JSON in the fields of the document, and screenshots."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from datetime import UTC, datetime, timedelta
from typing import Any

START = datetime(2025, 11, 1, 18, 10, 22, tzinfo=UTC)
"""When the first turn begins; the others follow a minute apart."""
SIZE = (784, 1512)
SCREENS = {
    "Menu": (
        "Archive", "Profile", "Titles", "Trophy Room", "Friends", "Options", "Comics", "Secrets", "Jukebox", "Gallery",
        "Mission", "Notices", "Presents", "Support", "Serial Code", "Info button", "Back button", "Story menu button",
        "Home menu button", "Race menu button", "Scout menu button",
    ),
    "Training": (
        "Speed", "Stamina", "Power", "Guts", "Wit", "Rest", "Infirmary", "Recreation", "Skills", "Races",
        "Support Card 1", "Support Card 2", "Support Card 3", "Support Card 4", "Log", "Quick", "Skip", "Details",
        "Info button", "Back button", "Home menu button",
    ),
    "Race": (
        "Debut Race", "Spring Stakes", "Derby", "Autumn Cup", "Year-end Grand Prix", "Strategy", "Front", "Pace",
        "Late", "End", "View Rivals", "View Course", "Retry", "Watch", "Results", "Confirm Race", "Filter", "Sort",
        "Info button", "Back button", "Home menu button",
    ),
}  # fmt: skip
"""What is on each screen: the menu of the document, and two others of the game."""
HINTS = ("NEW", "RECOMMENDED", "LIMITED")


def screen(turn: int) -> dict[str, Any]:
    """What is recognised in a turn, with everything that the input handler needs."""
    tab = [*SCREENS][(turn - 1) % len(SCREENS)]
    names = SCREENS[tab]
    tabs = [{"name": one, "is_selected": one == tab, "availability": "available"} for one in ("Jukebox", *SCREENS)]
    bar = {
        "track_bounds": [760, 300, 12, 900],
        "thumb_bounds": [760, 300 + 40 * turn % 500, 12, 280],
        "can_scroll_up": turn % 2 == 0,
        "can_scroll_down": True,
        "thumb_ratio": 0.31,
    }
    return {
        "buttons": [_button(name, tab, row, turn) for row, name in enumerate(names)],
        "scrollbar": bar if turn % 3 == 0 else None,
        "menu_state": {
            "is_usable": True,
            "selected_tab": tab,
            "tabs": tabs,
            "available_tabs": [one["name"] for one in tabs],
        },
    }


def _button(name: str, tab: str, row: int, turn: int) -> dict[str, Any]:
    metadata = {"section": tab} | ({"hint": HINTS[(row + turn) % 3]} if (row + turn) % 4 == 0 else {})
    label = " | ".join([name, *(f"{key}={value}" for key, value in sorted(metadata.items()))])
    bounds = [40 + 240 * (row % 3), 180 + 60 * row, 193, 49]
    region = "menus" if name.endswith("button") else "primary"
    return {"name": name, "full_label": label, "bounds": bounds, "metadata": metadata, "region": region}


def turn_id(turn: int) -> str:
    """``turn_000005``."""
    return f"turn_{turn:06}"


def time_of(turn: int) -> str:
    """When a turn begins, as its message says it."""
    return f"{START + timedelta(minutes=turn):%Y-%m-%dT%H:%M:%S}"


def metadata(turn: int) -> str:
    """The turn's metadata."""
    return f"Turn ID: {turn_id(turn)}\nTimestamp: {time_of(turn)}"


def spelled(seen: dict[str, Any]) -> str:
    """A screen as the message holds it."""
    return json.dumps(seen, indent=2)


def screenshot(seen: dict[str, Any]) -> str:
    """A picture of the screen, PNG in base64: a box for each button."""
    wide, high = SIZE
    rows = [bytearray(b"\x18" * wide) for _ in range(high)]
    for number, button in enumerate(seen["buttons"]):
        left, top, width, height = button["bounds"]
        for y in range(top, min(top + height, high)):
            rows[y][left : min(left + width, wide)] = bytes([90 + number * 5]) * (min(left + width, wide) - left)
    packed = zlib.compress(b"".join(b"\0" + bytes(row) for row in rows), 9)
    head = struct.pack(">IIBBBBB", wide, high, 8, 0, 0, 0, 0)
    parts = (_chunk(b"IHDR", head), _chunk(b"IDAT", packed), _chunk(b"IEND", b""))
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(parts)).decode()


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
