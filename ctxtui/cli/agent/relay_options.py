"""Options of the relay commands: rules for holding requests, `--otlp`.

A relay is a local server between programs and their providers that records every request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from ctxtui.cli.exit_codes import WrongUse
from ctxtui.cli.output import note
from ctxtui.services.attach.hold_rules import HoldRules, rules_from_options
from ctxtui.services.attach.otlp import OtlpFeed
from ctxtui.services.config.settings import Settings
from ctxtui.wire.key_mask import mask_url

F = TypeVar("F", bound=Callable[..., Any])
RULE_NAMES = ("tokens", "usd", "miss", "pattern", "secret", "repeats", "compaction")
"""Parameters of `rule_options`, and names of the rules in a run."""


def rule_options(prefix: str) -> Callable[[F], F]:
    """The options of the rules for holding requests."""
    options = (
        click.option(
            f"--{prefix}over-tokens",
            "tokens",
            type=click.IntRange(min=0),
            metavar="N",
            default=0,
            help="Hold requests above N tokens.",
        ),
        click.option(
            f"--{prefix}over-usd",
            "usd",
            type=click.FloatRange(min=0),
            metavar="USD",
            default=0.0,
            help="Hold requests forecast to cost more.",
        ),
        click.option(f"--{prefix}on-miss", "miss", is_flag=True, help="Hold requests forecast to miss the cache."),
        click.option(f"--{prefix}on-secret", "secret", is_flag=True, help="Hold requests with a new secret."),
        click.option(
            f"--{prefix}on-repeat",
            "repeats",
            type=click.IntRange(min=2),
            metavar="N",
            help="Hold when the same calls got the same answers N times in a row.",
        ),
        click.option(
            f"--{prefix}on-compaction", "compaction", is_flag=True, help="Hold the summary of the client's compaction."
        ),
        click.option(f"--{prefix}pattern", "pattern", metavar="REGEX", default="", help="Hold requests that match."),
    )

    def with_options(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return with_options


def rules_to_send(options: dict[str, Any], *, each: bool) -> dict[str, Any]:
    """The rules as sent to a run; empty if none are given. `each`: hold every request."""
    rules_given = {name: options[name] for name in RULE_NAMES if options.get(name)}
    return {**rules_given, "each": True} if each else rules_given


def hold_rules(options: dict[str, Any], *, each: bool) -> HoldRules:
    """The rules as an object; `each`: hold every request. Raises `BadConfig`."""
    return rules_from_options(rules_to_send(options, each=each))


LOCAL_COLLECTOR: Final = "http://127.0.0.1:4318"


def otlp_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--otlp`` and ``--otlp-content`` to a command."""
    function = click.option(
        "--otlp-content", is_flag=True, help="With --otlp: also the texts, secrets masked, instead of figures only."
    )(function)
    return click.option(
        "--otlp",
        is_flag=False,
        flag_value=LOCAL_COLLECTOR,
        default="",
        metavar="[URL]",
        help=f"Send each call as an OpenTelemetry span to the collector at URL (default: {LOCAL_COLLECTOR}).",
    )(function)


@contextmanager
def otlp_feed(url: str, settings: Settings, content: bool, files: Callable[[], Sequence[Path]]) -> Iterator[None]:
    """Send the calls of the recordings `files` to `url` ("": nowhere) while the block runs.

    `content`: send texts as well, with secrets masked.
    """
    if not url:
        if content:
            raise click.UsageError("--otlp-content needs --otlp")
        yield
        return

    feed = OtlpFeed(url=url, settings=settings, content=content, files=files)
    try:
        yield
    finally:
        for trouble in feed.close():
            note(f"{trouble}; `ctxtui export NAME --otlp {mask_url(url)}` sends a session again")


def parse_upstream(text: str) -> tuple[str, str]:
    name, equals, url = text.partition("=")
    if not equals or not name:
        raise WrongUse(f"{text!r} is not NAME=URL", place="--upstream")
    return name, url
