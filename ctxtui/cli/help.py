"""`ctxtui help`: help on a command, or on a topic."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from ctxtui.cli import exit_codes
from ctxtui.cli.commands import EDITS, OLD_NAMES, WHY, all_commands, help_text
from ctxtui.cli.group import import_command
from ctxtui.cli.output import print_result, write
from ctxtui.core import canonical
from ctxtui.core.errors import NotFound
from ctxtui.services.config.config import describe_settings
from ctxtui.services.config.policy_registry import load_policies


@click.command("help", context_settings={"ignore_unknown_options": True})
@click.argument("words", metavar="[COMMAND | commands | keys | exit-codes | settings | policies]", nargs=-1)
@click.option("--free", is_flag=True, help="With `keys`: list the unused keys.")
@click.pass_context
def help_(context: click.Context, words: tuple[str, ...], free: bool) -> None:
    """Print help on a command or a topic.

    \b
    Example: ctxtui help exit-codes
    Example: ctxtui help keys --free
    """
    if words == ("keys",):
        from ctxtui.tui import key_page  # here: it imports every screen

        write(key_page.free_text() if free else key_page.text())
    elif free:
        raise click.UsageError("--free needs `keys`: `ctxtui help keys --free`")
    elif not words:
        write(help_text().rstrip("\n"))
    elif words == ("commands",):
        write(all_commands())
    elif words == ("exit-codes",):
        write(exit_codes.table())
    elif words == ("settings",):
        write(describe_settings())
    elif words == ("policies",):
        write(_describe_policies())
    else:
        write(_format_command_help(context, words))


def _describe_policies() -> str:
    out: list[str] = []
    for policy in load_policies().values():
        out.append(f"{policy.name:<20} {policy.about}")
        for key, value in policy.defaults.items():
            out.append(f"    {key + ' = ' + canonical.dump_text(value):<32} {policy.notes.get(key, '')}")
    return "\n".join(out)


def _format_command_help(context: click.Context, words: tuple[str, ...]) -> str:
    root = context.find_root()
    command: click.Command = root.command
    inner = root
    if words[0] in OLD_NAMES:
        words = (*OLD_NAMES[words[0]], *words[1:])
    special = WHY if words[:2] == ("cost", "--why") else EDITS.get("".join(words[1:2])) if words[0] == "edits" else None
    if special is not None:
        return import_command(special).get_help(
            click.Context(import_command(special), parent=root, info_name=" ".join(words[:2]))
        )
    for word in words:
        subcommand = command.get_command(inner, word) if isinstance(command, click.Group) else None
        if subcommand is None:
            raise NotFound(f"no command or topic {' '.join(words)!r}", way_out="see `ctxtui --help`")
        inner = click.Context(subcommand, parent=inner, info_name=word)
        command = subcommand
    return command.get_help(inner)


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.option("--json", "as_json", is_flag=True, help="Print the script as JSON (schema_version 1).")
@click.pass_context
def completion(context: click.Context, shell: str, as_json: bool) -> None:
    """Print the completion script for SHELL. Create its folder first if it is missing.

    \b
    bash:  ctxtui completion bash > ~/.local/share/bash-completion/completions/ctxtui
    zsh:   ctxtui completion zsh > "${fpath[1]}/_ctxtui"
    fish:  ctxtui completion fish > ~/.config/fish/completions/ctxtui.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None  # the three are click's own
    script = kind(context.find_root().command, {}, "ctxtui", "_CTXTUI_COMPLETE").source().rstrip("\n")
    print_result(as_json, {"shell": shell, "script": script}, script)
