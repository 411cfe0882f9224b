"""Draws the pictures of the README: what the first screens show of a shipped sample.

python scripts/readme_picture.py
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Final

REPO = Path(__file__).parent.parent
sys.path[:0] = [str(REPO), str(REPO / "scripts")]

SAMPLE: Final = "sessions/1-pineapple-evolve.jsonl"
PICTURES: Final = {
    "inspector": ("up", "up", "enter"),
    "misses": ("c",),
    "advice": ("exclamation_mark",),
    "edits": ("up", "up", "up", "d"),
    "request": ("up", "up", "up", "d", "O", "tab"),
}
"""The keys that lead to each picture, ``docs/NAME.png``."""


def main() -> None:
    """Open the sample in a home of its own for each and draw what is on the screen."""
    os.chdir(REPO)
    for name, keys in PICTURES.items():
        with tempfile.TemporaryDirectory() as folder:
            told = {"CTXTUI_HOME": folder, "COLORTERM": "truecolor", "TERM": "xterm-256color"}
            os.environ.update(told, TEXTUAL_ANIMATIONS="none")
            from picture import shoot

            from ctxtui.services.config.config import load
            from ctxtui.tui.start import make_app

            app = make_app(SAMPLE, load(env={}).settings)
            shoot(app, (120, 40), list(keys), REPO / "docs" / f"{name}.png", wait=6.0)


if __name__ == "__main__":
    main()
