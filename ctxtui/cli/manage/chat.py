"""`ctxtui chat`: the screen with a prompt and a running agent."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import click

from ctxtui.cli.context import FILES_OPTION, MEMORY_OPTION, TOOLS_OPTION, SessionName, config_of, override
from ctxtui.cli.manage.start_screen import need_terminal, run_app, setting_places
from ctxtui.cli.output import note, write_json
from ctxtui.services.chat.chat_model import ModelChoice
from ctxtui.services.chat.continue_from import current_host, find_continuation
from ctxtui.services.chat.model_choice import NAMES, choose_to_continue
from ctxtui.services.config.config import Config
from ctxtui.services.members import members
from ctxtui.services.recordings.open_by_name import split_call
from ctxtui.tui.start import make_chat


@click.command("chat")
@click.option("--model", metavar="ID", default="", help="The model (default: the provider's usual one).")
@click.option("--provider", type=click.Choice(NAMES), help="The provider (default: by keys and running servers).")
@click.option("--base-url", metavar="URL", default="", help="A compatible server, such as http://127.0.0.1:8080/v1.")
@click.option(
    "--continue",
    "name",
    metavar="ID[@CALL]",
    type=SessionName(),
    is_flag=False,
    flag_value="last",
    help="Continue a recorded session, at its end or after one of its calls; without ID the newest of this directory.",
)
@TOOLS_OPTION
@FILES_OPTION
@MEMORY_OPTION
@click.option("--json", "as_json", is_flag=True, help="Only print the chosen model as JSON (schema_version 1).")
@click.pass_context
def chat(
    context: click.Context,
    /,
    model: str,
    provider: str | None,
    base_url: str,
    name: str | None,
    tool_files: tuple[Path, ...],
    files: str | None,
    memory: str,
    as_json: bool,
) -> int | None:
    """Talk to a model and see what it reads.

    Its tools read and search this folder, and ask you before they write. Keys come from ANTHROPIC_API_KEY,
    OPENAI_API_KEY and GEMINI_API_KEY; without a key or a local server the built-in offline provider answers, without a
    model.

    \b
    Example: ctxtui chat --continue 7f3a@12
    Example: ctxtui chat --provider offline
    """
    override(context, files=files, memory=memory)
    choice = ModelChoice(provider or "", model, base_url, *split_call(name or ""))
    if as_json:
        _print_choice(choice, config_of(context))
        return None
    need_terminal(None, config_of(context).settings)
    with setting_places(config_of(context)):
        return run_app(lambda: make_chat(choice, config_of(context), Path.cwd(), tools=tool_files))


def _print_choice(choice: ModelChoice, config: Config) -> None:
    """Print the model that a chat would use; no model is called.

    Local ports, and the server at a given base URL, are asked for their models.
    """
    recorded_model = ""
    if choice.session:
        parts = choice.session, choice.thread, choice.call
        recorded_model = find_continuation(*parts, config.settings, Path.cwd()).model
    chosen_model = asyncio.run(choose_to_continue(recorded_model, choice, config, os.environ))
    host = current_host(choice.session, config.settings, Path.cwd()) if choice.session and not choice.call else None
    endpoint = chosen_model.endpoint
    write_json(
        {
            **members(endpoint, "provider=name dialect base_url local"),
            "model": chosen_model.model,
            "models": list(chosen_model.models),
            **members(chosen_model, "window? window_from=origin why"),
            "open_in": host and members(host, "session pid since"),
        }
    )
    if host is not None:
        note(str(host))
