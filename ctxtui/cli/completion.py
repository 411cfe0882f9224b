"""`ctxtui completion`: the script that teaches a shell to complete."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from ctxtui.cli.output import write, write_json


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.option("--json", "as_json", is_flag=True, help="Print the script as JSON (schema_version 1).")
@click.pass_context
def completion(context: click.Context, shell: str, as_json: bool) -> None:
    """Print the completion script for SHELL.

    \b
    bash:  ctxtui completion bash > ~/.local/share/bash-completion/completions/ctxtui
    zsh:   ctxtui completion zsh > "${fpath[1]}/_ctxtui"
    fish:  ctxtui completion fish > ~/.config/fish/completions/ctxtui.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None  # the three are click's own
    script = kind(context.find_root().command, {}, "ctxtui", "_CTXTUI_COMPLETE").source().rstrip("\n")
    if as_json:
        write_json({"shell": shell, "script": script})
    else:
        write(script)
