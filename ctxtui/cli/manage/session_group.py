"""`ctxtui session`: what is done with one stored session."""

from __future__ import annotations

import click

from ctxtui.cli.commands import SESSION
from ctxtui.cli.lazy_group import LazyGroup
from ctxtui.cli.output import write


@click.group("session", cls=LazyGroup, entries=SESSION, invoke_without_command=True)
@click.pass_context
def session(context: click.Context) -> None:
    """Look after one stored session; ID is its id or the beginning of one.

    \b
    Example: ctxtui session rename 8f3c "the flaky test"
    Example: ctxtui session archive 8f3c
    """
    if context.invoked_subcommand is None:
        write(context.get_help())
