"""Options of the commands that stand between programs and their providers: rules for holding, `--otlp`."""

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

F = TypeVar("F", bound=Callable[..., Any])
_RULES = ("tokens", "usd", "miss", "pattern", "secret", "repeats")


def rule_options(prefix: str) -> Callable[[F], F]:
    """The options of the rules for holding requests, each with `prefix` before its name."""
    options = (
        click.option(
            f"--{prefix}over-tokens",
            "tokens",
            type=click.IntRange(min=0),
            metavar="N",
            default=0,
            help="Hold larger ones.",
        ),
        click.option(
            f"--{prefix}over-usd",
            "usd",
            type=click.FloatRange(min=0),
            metavar="USD",
            default=0.0,
            help="Hold those that will cost more.",
        ),
        click.option(f"--{prefix}on-miss", "miss", is_flag=True, help="Hold those that will miss the cache."),
        click.option(f"--{prefix}on-secret", "secret", is_flag=True, help="Hold those in which a secret is new."),
        click.option(
            f"--{prefix}on-repeat",
            "repeats",
            type=click.IntRange(min=2),
            metavar="N",
            help="Hold when the same calls got the same answers N times in a row.",
        ),
        click.option(
            f"--{prefix}pattern", "pattern", metavar="REGEX", default="", help="Hold those in which it is found."
        ),
    )

    def with_options(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return with_options


def told_rules(given: dict[str, Any], *, each: bool) -> dict[str, Any]:
    """The rules as they are told to a run; empty where none is named."""
    found = {name: given[name] for name in _RULES if given.get(name)}
    return {**found, "each": True} if each else found


def rules(given: dict[str, Any], *, each: bool) -> HoldRules:
    """The rules themselves. Raises `BadConfig`."""
    return rules_from_options(told_rules(given, each=each))


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


def upstream_of(text: str) -> tuple[str, str]:
    """The provider and the address that ``--upstream NAME=URL`` names. Raises `WrongUse`."""
    name, equals, url = text.partition("=")
    if not equals or not name:
        raise WrongUse(f"{text!r} is no NAME=URL", place="--upstream")
    return name, url
