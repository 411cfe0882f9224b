"""The look book's colours by variable name: on a screen, and in pages that are shared."""

from __future__ import annotations

from typing import Final

DARK: Final = {
    "bg": "#0E1117", "panel": "#161B24", "turn": "#171D27", "cur": "#223047", "hair": "#2B3342",
    "ink": "#DCE1EA", "dim": "#8A93A6", "faint": "#626C80", "accent": "#4FD9D0", "accent-ink": "#06201E",
    "cache-read": "#2E7F78", "readtx": "#56B3A8", "cache-write": "#F5C04E", "cache-fresh": "#FF7BC0",
    "ok": "#5BC48A", "warn": "#F2B84B", "crit": "#FF6B7A",
    "add": "#7FE0B0", "add-bg": "#12372B", "del": "#FF9AA8", "del-bg": "#43202A",
    "cat-system": "#9A58BA", "cat-tools": "#2E74E8", "cat-memory": "#2F9364", "cat-user": "#FFE05F",
    "cat-assistant": "#EEF1F8", "cat-thinking": "#858BA6", "cat-call": "#9AD3FA", "cat-result": "#55A9F5",
    "cat-image": "#FCA6AD", "cat-document": "#DC5010", "cat-summary": "#A9BE1E",
}  # fmt: skip
"""Colours by variable name on a dark screen."""

LIGHT: Final = {
    "bg": "#FBFBF9", "panel": "#EFF0EC", "turn": "#F1F2EE", "cur": "#D3ECEB", "hair": "#CFD3D8",
    "ink": "#20242C", "dim": "#5F6876", "faint": "#868D99", "accent": "#007F86", "accent-ink": "#FFFFFF",
    "cache-read": "#8CC7BF", "readtx": "#147A70", "cache-write": "#D98A00", "cache-fresh": "#D42A5B",
    "ok": "#1B7F4B", "warn": "#B07100", "crit": "#C2253D",
    "add": "#0B5F38", "add-bg": "#D8F2E2", "del": "#A3142B", "del-bg": "#FBDDE1",
    "cat-system": "#592277", "cat-tools": "#06077E", "cat-memory": "#1F5B54", "cat-user": "#B78B25",
    "cat-assistant": "#2B2C31", "cat-thinking": "#82848A", "cat-call": "#5694E1", "cat-result": "#0E68C4",
    "cat-image": "#AA2D94", "cat-document": "#872B08", "cat-summary": "#6C7213",
}  # fmt: skip
"""Colours by variable name on a light screen."""
