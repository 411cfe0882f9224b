"""The command line: click commands, exit codes, plain and JSON output."""

from __future__ import annotations

import click

from ctxtui import __version__


@click.command()
@click.version_option(__version__, prog_name="ctxtui")
def main() -> None:
    """See what a language model read: a debugger for the context window."""
