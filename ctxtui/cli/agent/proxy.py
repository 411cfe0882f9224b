"""`ctxtui proxy`: a relay that stands for several programs, and its end."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import click

from ctxtui.attach.peer import can_identify_peers
from ctxtui.cli.agent.relay_options import feeding, otlp_options, upstream_of
from ctxtui.cli.context import config_of
from ctxtui.cli.output import note, shown, write, write_json
from ctxtui.services.attach import shared_relay, status_install
from ctxtui.services.config.paths import attached_dir, database


@click.command("proxy")
@click.argument("action", type=click.Choice(["on", "off", "status"]), default="on", required=False)
@click.option("--port", type=click.IntRange(0, 65535), default=4020, show_default=True, help="Port (0: a free one).")
@click.option(
    "--upstream", "upstreams", metavar="NAME=URL", multiple=True, help="One more provider, or another address of one."
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
    """Stand between programs and their providers until ctrl+c, or `ctxtui proxy off`; everything is recorded.

    Each provider has an address of its own here, /anthropic, /openai, /ollama ..., fixed when it starts: give it to a
    program as its base URL. Sessions are told apart by the clients' own headers, else by how a conversation begins.
    Only programs of your user (and root) are served; what goes by is passed on as with `ctxtui exec`.

    \b
    Example: ctxtui proxy --upstream gateway=https://llm.example.com/v1
    Example: ctxtui proxy status
    """
    folder = attached_dir()
    if action == "off":
        return _off(folder, config_of(context).settings.data_dir, as_json)
    if action == "status":
        return _status(shared_relay.running_relay(folder), as_json)
    named = dict(map(upstream_of, upstreams))
    settings = config_of(context).settings
    relay = shared_relay.SharedRelay(
        folder, database(settings.data_dir), {**shared_relay.default_upstreams(os.environ), **named}, port, settings
    )

    def ready(urls: dict[str, str]) -> None:
        if as_json:
            write_json({"urls": urls})
        else:
            for name, url in urls.items():
                write(f"{name:<12} {shown(url)}  → {shown(relay.upstreams[name])}")
        sys.stdout.flush()
        whom = (
            "your programs"
            if can_identify_peers()
            else "every user of this machine (this system tells none from another)"
        )
        note(f"serving {whom}; ctrl+c or `ctxtui proxy off` ends it")

    def lost(trouble: str) -> None:
        note(f"not everything was recorded: {trouble}")

    with feeding(otlp, config_of(context).settings, otlp_content, lambda: relay.recorded_files):
        asyncio.run(relay.serve(ready, lost))
    for trouble in relay.recorder.troubles:
        lost(trouble)
    return 0


def _off(folder: Path, data: str, as_json: bool) -> int:
    """End the relay that stands, and take out what was installed. Raises `NotFound` where there is neither."""
    removed = status_install.remove_everywhere(data)
    for file in removed:
        note(f"the status line is taken out: {file}")
    if removed and shared_relay.running_relay(folder) is None:
        pid = None
    else:
        pid = shared_relay.stop_relay(folder)
        note("the relay has ended; give programs their own base URLs again")
    if as_json:
        write_json({"ended": pid, "removed": [str(file) for file in removed]})
    return 0


def _status(told: dict[str, object] | None, as_json: bool) -> int:
    urls = told.get("urls") if told is not None else None
    if as_json:
        write_json({"standing": told is not None, "urls": urls or {}})
    elif told is None:
        write("no relay stands")
    else:
        write(f"a relay stands: process {told.get('pid')}, port {told.get('port')}")
    return 0
