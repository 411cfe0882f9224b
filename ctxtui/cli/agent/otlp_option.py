"""`--otlp`: calls also go to a collector of OpenTelemetry, while they are recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import click

from ctxtui.cli.output import note
from ctxtui.services.attach.otlp_feed import OtlpFeed
from ctxtui.services.config.settings import Settings

LOCAL: Final = "http://127.0.0.1:4318"


def otlp_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options `--otlp` and `--otlp-content`."""
    function = click.option(
        "--otlp-content", is_flag=True, help="With --otlp: also what was said, secrets masked; else figures alone."
    )(function)
    return click.option(
        "--otlp",
        is_flag=False,
        flag_value=LOCAL,
        default="",
        metavar="[URL]",
        help=f"Send each call as an OpenTelemetry span to the collector at URL, else {LOCAL}.",
    )(function)


@contextmanager
def feeding(url: str, settings: Settings, content: bool, files: Callable[[], Sequence[Path]]) -> Iterator[None]:
    """Send the calls of the recordings `files` to `url` ("": nowhere) meanwhile; at the end say what was not sent.
    Raises `BadConfig` for an address that is none."""
    if not url:
        if content:
            raise click.UsageError("--otlp-content belongs to --otlp")
        yield
        return

    feed = OtlpFeed(url=url, settings=settings, content=content, files=files)
    try:
        yield
    finally:
        for trouble in feed.close():
            note(f"{trouble}; `ctxtui export NAME --otlp {url}` sends a session again")
