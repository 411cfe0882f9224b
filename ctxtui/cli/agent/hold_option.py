"""Options that name rules for holding requests, as several commands take them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from ctxtui.services.attach.hold_rules import HoldRules, rules_of

F = TypeVar("F", bound=Callable[..., Any])
_RULES = ("tokens", "usd", "miss", "pattern")


def rule_options(prefix: str) -> Callable[[F], F]:
    """The options ``--PREFIXover-tokens``, ``--PREFIXover-usd``, ``--PREFIXon-miss``, ``--PREFIXpattern``."""
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
    return rules_of(told_rules(given, each=each))
