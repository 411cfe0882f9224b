"""`ctxtui offline`: serve the offline provider on a local port."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import click

from ctxtui.analysis.call_choice import choose_call
from ctxtui.cli.context import NAME_HELP, SessionName, config_of, open_recording, read_file
from ctxtui.cli.output import escape, note, write, write_json
from ctxtui.offline.faults import Faults, parse
from ctxtui.offline.http.exchange_log import ExchangeLog
from ctxtui.offline.http.hosting import RunningProvider, serving
from ctxtui.offline.http.server import SeenRequest, Server
from ctxtui.offline.local import KINDS, LocalModel, LocalServer
from ctxtui.offline.playback import Playback
from ctxtui.offline.provider import Provider, RateLimits
from ctxtui.offline.script import Script, parse_script
from ctxtui.services.chat.offline_provider import build_playback

PORT = 4010
WINDOW = 4096
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
KINDS_BY_NAME = {kind.replace(" ", "-"): kind for kind in KINDS}


@click.command(
    "offline",
    help="Serve the Anthropic, OpenAI and Google APIs on this machine, with no model behind them.\n\n"
    "It refuses requests by the providers' known rules, accounts for caching and usage like them, and builds its "
    "answers from tool results. Free and without a real key, for testing agents. Press ctrl+c to stop.\n\n\b\n"
    "Example: ctxtui offline --port 4010 --fault '529;share=0.1' --seed 7\n"
    "Example: ctxtui offline --port 0 --log wire/",
)
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="Port (0: any free port).")
@click.option("--as", "kind", type=click.Choice(tuple(KINDS_BY_NAME)), help="Act as a local server instead.")
@click.option(
    "--window",
    type=click.IntRange(256, 10_000_000),
    metavar="N",
    help=f"With --as: the context window ({WINDOW}).",
)
@click.option("--play", type=SessionName(), metavar="NAME", help=f"Replay a recording's answers: {NAME_HELP}.")
@click.option("--thread", default="", metavar="T", help="With --play: a subagent's thread (default: the main one).")
@click.option(
    "--script",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Give the answers in FILE in order, one JSON object per line.",
)
@click.option(
    "--fault", "faults", multiple=True, metavar="FAULT", help="A fault to simulate, e.g. '429;times=2;seconds=5'."
)
@click.option(
    "--pace",
    type=click.FloatRange(0, 1_000_000),
    default=0.0,
    metavar="N",
    help="Output tokens per second (0: no limit).",
)
@click.option("--rpm", type=click.IntRange(1, 1_000_000), metavar="N", help="Refuse more than N requests per minute.")
@click.option("--seed", type=int, help="Seed of ids and random faults (default: a new one each time).")
@click.option(
    "--log",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write requests and answers, keys masked, to a HAR file in DIR, which ctxtui can open.",
)
@click.option("--no-websocket", is_flag=True, help="Answer WebSocket requests with 426, so that Codex uses HTTP.")
@click.option(
    "--strict-models", is_flag=True, help="Refuse unknown models, and output limits that a model does not have."
)
@click.option("-q", "--quiet", is_flag=True, help="Do not print a line for each request.")
@click.option("--json", "as_json", is_flag=True, help="Print the addresses as JSON, and no line for each request.")
@click.pass_context
def offline(
    context: click.Context,
    port: int,
    kind: str | None,
    window: int | None,
    play: str | None,
    thread: str,
    script: Path | None,
    faults: tuple[str, ...],
    pace: float,
    rpm: int | None,
    seed: int | None,
    folder: Path | None,
    no_websocket: bool,
    strict_models: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    if window is not None and kind is None:
        raise click.UsageError("--window needs --as", context)
    if thread and play is None:
        raise click.UsageError("--thread needs --play", context)
    if script is not None and play is not None:
        raise click.UsageError("--play and --script exclude each other", context)
    provider = Provider(
        seed=seed, strict_models=strict_models, limits=RateLimits(requests=rpm, enforced=True) if rpm else RateLimits()
    )
    provider.playback = _load_answers(context, play, thread, script)
    simulated_faults = Faults([parse(fault) for fault in faults], seed)
    local = LocalServer(KINDS_BY_NAME[kind], (LocalModel(window=window or WINDOW),)) if kind else None
    log = ExchangeLog(folder, provider.now()) if folder is not None else None
    on_request = None if quiet or as_json else _print_request
    server = Server(
        provider, simulated_faults, pace, on_request=on_request, local=local, log=log, websocket=not no_websocket
    )
    try:
        asyncio.run(_serve(server, port, as_json))
    finally:
        if log is not None:
            log.close()
    if server.in_progress:
        # Exit without waiting for a running request, which would also delay the interpreter's shutdown.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def _load_answers(
    context: click.Context, play: str | None, thread: str, script: Path | None
) -> Playback | Script | None:
    if play is not None:
        session = open_recording(play, config_of(context).settings).session
        return build_playback(session, choose_call(session, thread, 0).thread)
    if script is not None:
        return parse_script(read_file(script).decode("utf-8", "replace"), str(script))
    return None


async def _serve(server: Server, port: int, as_json: bool) -> None:
    stop = asyncio.Event()
    for number in _STOP_SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with serving(server, port=port) as running:
        if as_json:
            log = {"log": str(server.log.path)} if server.log else {}
            write_json({"url": running.url, "openai_url": running.openai_url, "model": "offline", **log})
        else:
            write(_describe_server(running))
        sys.stdout.flush()
        await stop.wait()
        for number in _STOP_SIGNALS:
            # A second signal ends the process without waiting for open streams.
            asyncio.get_running_loop().remove_signal_handler(number)
    note("offline provider stopped")


def _describe_server(running: RunningProvider) -> str:
    local, log = running.server.local, running.server.log
    if local is not None:
        text = f"offline provider, no model, as {local.kind}: {running.url}, model `offline`; ctrl+c stops it"
    else:
        text = (
            f"offline provider, no model: {running.url} (Anthropic, Google), {running.openai_url} (OpenAI)\n"
            "model `offline`, or a real model's id for its rules; any key; ctrl+c stops it"
        )
    return text + (f"\nlog: {log.path}" if log else "")


def _print_request(request: SeenRequest) -> None:
    counts = ", ".join(f"{name} {count}" for name, count in request.usage.items() if isinstance(count, int))
    refusal = f" refused: {request.rule}" if request.rule else ""
    fault = f" fault: {request.fault}" if request.fault else ""
    write(escape(f"{request.status} {request.path}{refusal}{fault} {counts}".rstrip()))
    sys.stdout.flush()
