"""Draws all pictures of the README and the documents from the running program: `make pictures`.

    python scripts/pictures.py [NAME ...]

Without names, also the README's recording (scripts/readme_recording.py). Each picture is the screen that has come to
rest after the keys, reduced to 128 colours.
"""

from __future__ import annotations

import asyncio
import dataclasses
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final, NamedTuple

from PIL import Image

REPO: Final = Path(__file__).parent.parent
sys.path[:0] = [str(REPO), str(REPO / "scripts")]

import picture  # noqa: E402
import readme_recording  # noqa: E402
from readme_recording import Step  # noqa: E402

SAMPLE: Final = REPO / "sessions" / "1-pineapple-evolve.jsonl"
COLOURS: Final = 128
DAY_SECONDS: Final = 86_400


class Picture(NamedTuple):
    """A screen of the sample, or of a new user's `home`: for each step the keys, and text that is shown then."""

    steps: tuple[tuple[tuple[str, ...], str], ...]
    size: tuple[int, int] = (120, 40)
    theme: str = "dark"
    home: bool = False


TO_FEEDBACK: Final = (("up", "up"), "this call")
DROPPED: Final = ((), "this call"), (("up", "up", "up", "d"), "pays back")
MISSES: Final = ((), "this call"), (("c",), "differ from token")
SMALL: Final = (110, 32)

PICTURES: Final = {
    "inspector": Picture((((), "this call"), TO_FEEDBACK, (("enter",), "more lines"))),
    "inspector-light": Picture((((), "this call"), TO_FEEDBACK, (("enter",), "more lines")), theme="light"),
    "misses": Picture(MISSES),
    "advice": Picture((((), "this call"), (("exclamation_mark",), "safe"))),
    "edits": Picture((((), "this call"), (("W",), "carry"), (("enter", "d"), "pays back"))),
    "request": Picture((*DROPPED, (("O",), "next request"), (("tab",), "differ"))),
    "tutorial-home": Picture((((), "$3.48"),), SMALL, home=True),
    "tutorial-call": Picture((((), "this call"), (("g", "1", "4", "enter"), "call 14")), SMALL),
    "tutorial-difference": Picture((*MISSES, (("P",), "entered")), SMALL),
}
"""File name below docs/, without ``.png``."""


def draw(name: str, picture_: Picture) -> None:
    """Draw one picture to docs/."""
    with readme_recording.prepared_home(new=picture_.home) as settings:
        from ctxtui.services.config.config import Config
        from ctxtui.tui.start import make_app

        recording = None
        if not picture_.home:
            # In this user's own folder, as some screens show the path; of yesterday, as a new file would be live.
            recording = shutil.copy(SAMPLE, SAMPLE.name)
            os.utime(recording, (time.time() - DAY_SECONDS,) * 2)
        app: Any = make_app(recording, Config(dataclasses.replace(settings, theme=picture_.theme), {}))
        steps = [Step("", "", keys, text, 0) for keys, text in picture_.steps]
        screens = asyncio.run(readme_recording.recorded(app, steps, picture_.size))
    out = REPO / "docs" / f"{name}.png"
    picture.draw(screens[-1], out)
    Image.open(out).quantize(COLOURS, dither=Image.Dither.NONE).save(out, optimize=True)
    print(f"{out.relative_to(REPO)}: {out.stat().st_size:,} bytes", flush=True)


def main(names: list[str]) -> None:
    """Draw the pictures of these names, or all of them, each in a process of its own: a home is that of one process."""
    os.chdir(REPO)
    if len(names) == 1:
        draw(names[0], PICTURES[names[0]])
        return
    for name in names or PICTURES:
        subprocess.run([sys.executable, __file__, name], check=True)
    if not names:
        readme_recording.make(readme_recording.OUT)


if __name__ == "__main__":
    main(sys.argv[1:])
