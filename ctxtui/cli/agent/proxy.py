"""`ctxtui proxy`: a relay for several programs, which runs until it is stopped."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import click

from ctxtui.attach.peer import can_identify_peers
from ctxtui.cli.agent.relay_options import otlp_feed, otlp_options, parse_upstream
from ctxtui.cli.context import config_of
from ctxtui.cli.output import escape, note, write, write_json
from ctxtui.services.attach import shared_relay, status_install
from ctxtui.services.config.paths import attached_dir, database


@click.command("proxy")
@click.argument("action", type=click.Choice(["on", "off", "status"]), default="on", required=False)
@click.option("--port", type=click.IntRange(0, 65535), default=4020, show_default=True, help="Port (0: any free port).")
@click.option(
    "--upstream", "upstreams", metavar="NAME=URL", multiple=True, help="Another provider, or another address for one."
)
@otlp_options
@click.option("--json", "as_json", is_flag=True, help="Print the addresses as JSON (schema_version 1).")
@click.pass_context
def proxy(
    context: click.Context,
    /,
    action: str,
    port: int,
    upstreams: tuple[str, ...],
    otlp: str,
    otlp_content: bool,
    as_json: bool,
) -> int:
    """Run a relay between programs and their providers that records every request.

    Ctrl+c or `ctxtui proxy off` ends it. Each provider has an address at the relay (/anthropic, /openai, /ollama ...):
    give it to a program as its base URL.

    Sessions are told apart by the clients' headers, else by the start of the conversation. Only programs of your user
    and of root are served, if the system can tell users apart. Data is forwarded as with `ctxtui exec`.

    \b
    Example: ctxtui proxy --upstream gateway=https://llm.example.com/v1
    Example: ctxtui proxy status
    """
    folder = attached_dir()
    if action == "off":
        return _stop_relay(folder, config_of(context).settings.data_dir, as_json)
    if action == "status":
        return _print_status(shared_relay.running_relay(folder), as_json)
    given_upstreams = dict(map(parse_upstream, upstreams))
    settings = config_of(context).settings
    relay = shared_relay.SharedRelay(
        folder,
        database(settings.data_dir),
        {**shared_relay.default_upstreams(os.environ), **given_upstreams},
        port,
        settings,
    )

    def print_addresses(urls: dict[str, str]) -> None:
        if as_json:
            write_json({"urls": urls})
        else:
            for name, url in urls.items():
                write(f"{name:<12} {escape(url)}  → {escape(relay.upstreams[name])}")
        sys.stdout.flush()
        served = (
            "your programs" if can_identify_peers() else "every user of this machine (users cannot be told apart here)"
        )
        note(f"serving {served}; ctrl+c or `ctxtui proxy off` stops it")

    def note_loss(trouble: str) -> None:
        note(f"not everything was recorded: {trouble}")

    with otlp_feed(otlp, config_of(context).settings, otlp_content, lambda: relay.recorded_files):
        asyncio.run(relay.serve(print_addresses, note_loss))
    for trouble in relay.recorder.troubles:
        note_loss(trouble)
    return 0


def _stop_relay(folder: Path, data: str, as_json: bool) -> int:
    """Stop the running relay, and remove installed status lines.

    Raises `NotFound` if there is neither.
    """
    removed = status_install.remove_everywhere(data)
    for file in removed:
        note(f"status line removed: {file}")
    if removed and shared_relay.running_relay(folder) is None:
        pid = None
    else:
        pid = shared_relay.stop_relay(folder)
        note("the relay has stopped; set the programs' own base URLs again")
    if as_json:
        write_json({"ended": pid, "removed": [str(file) for file in removed]})
    return 0


def _print_status(state: dict[str, object] | None, as_json: bool) -> int:
    urls = state.get("urls") if state is not None else None
    if as_json:
        write_json({"standing": state is not None, "urls": urls or {}})
    elif state is None:
        write("no relay is running")
    else:
        write(f"a relay is running: process {state.get('pid')}, port {state.get('port')}")
    return 0
