"""Draws docs/inspector.png, the README's picture: the Inspector on a shipped sample.

python scripts/readme_picture.py
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

REPO = Path(__file__).parent.parent
sys.path[:0] = [str(REPO), str(REPO / "scripts")]

SAMPLE = REPO / "sessions" / "1-pineapple-evolve.jsonl"
KEYS = ("up", "up", "enter")


def main() -> None:
    """Open the sample in a home of its own and draw what is on the screen."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(CTXTUI_HOME=folder, COLORTERM="truecolor", TERM="xterm-256color", TEXTUAL_ANIMATIONS="none")
        from picture import shoot

        from ctxtui.services.config.config import load
        from ctxtui.tui.start import make_app

        app = make_app(str(SAMPLE), load(env={}).settings)
        shoot(app, (120, 40), list(KEYS), REPO / "docs" / "inspector.png", wait=3.0)


if __name__ == "__main__":
    main()
