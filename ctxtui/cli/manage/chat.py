"""`ctxtui chat`: the screen with a prompt and a running agent."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import click

from ctxtui.cli.context import FILES_OPTION, MEMORY_OPTION, TOOLS_OPTION, SessionName, config_of, override
from ctxtui.cli.exit_codes import WrongUse
from ctxtui.cli.manage.start_screen import need_terminal, run_app
from ctxtui.cli.output import note, write_json
from ctxtui.services.chat.chat_model import ModelChoice
from ctxtui.services.chat.continue_from import current_host
from ctxtui.services.chat.model_choice import NAMES, choose_model
from ctxtui.services.config.config import Config
from ctxtui.services.members import members
from ctxtui.tui.start import make_chat


@click.command("chat")
@click.option("--model", metavar="ID", default="", help="The model; by default the provider's usual one.")
@click.option("--provider", type=click.Choice(NAMES), help="Whom to talk to; by default by keys and running servers.")
@click.option("--base-url", metavar="URL", default="", help="A compatible server, such as http://127.0.0.1:8080/v1.")
@click.option(
    "--continue",
    "name",
    metavar="ID[@CALL]",
    type=SessionName(),
    default="",
    help="Go on from a recorded session, at its end or after one of its calls.",
)
@TOOLS_OPTION
@FILES_OPTION
@MEMORY_OPTION
@click.option("--json", "as_json", is_flag=True, help="Print whom it would talk to (schema_version 1), open nothing.")
@click.pass_context
def chat(
    context: click.Context,
    /,
    model: str,
    provider: str | None,
    base_url: str,
    name: str,
    tool_files: tuple[Path, ...],
    files: str | None,
    memory: str,
    as_json: bool,
) -> int | None:
    """Talk to a model and see what it reads.

    Its tools read and search this folder; before they write, you are asked. Keys come from ANTHROPIC_API_KEY and
    OPENAI_API_KEY; without a key and without a local server the built-in offline provider answers, which is no model.

    \b
    Example: ctxtui chat --continue 7f3a@12
    Example: ctxtui chat --provider offline
    """
    session, _, number = name.rpartition("@") if "@" in name else (name, "", "")
    if number and not number.isdecimal():
        raise WrongUse(f"no call number: {number}", place="--continue", way_out="write ID@12")
    override(context, files=files, memory=memory)
    wish = ModelChoice(provider or "", model, base_url, session, int(number or 0))
    if as_json:
        _told(wish, config_of(context))
        return None
    need_terminal(None, config_of(context).settings)
    return run_app(lambda: make_chat(wish, config_of(context), Path.cwd(), tools=tool_files))


def _told(wish: ModelChoice, config: Config) -> None:
    """Print whom a chat would talk to; nothing is sent to a provider, only local ports are asked."""
    found = asyncio.run(choose_model(wish, config, os.environ))
    hosted = current_host(wish.name, config.settings, Path.cwd()) if wish.name and not wish.call else None
    endpoint = found.endpoint
    write_json(
        {
            **members(endpoint, "provider=name dialect base_url local"),
            "model": found.model,
            "models": list(found.models),
            **members(found, "window? window_from=origin why"),
            "open_in": hosted and members(hosted, "session pid since"),
        }
    )
    if hosted is not None:
        note(str(hosted))
