"""`ctxtui offline`: the offline provider on a port of this machine."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import click

from ctxtui.analysis.call_choice import choose_call
from ctxtui.cli.context import NAME_HELP, SessionName, config_of, opened
from ctxtui.cli.output import note, shown, write, write_json
from ctxtui.offline.faults import Faults, parse
from ctxtui.offline.http.exchange_log import ExchangeLog
from ctxtui.offline.http.hosting import RunningProvider, serving
from ctxtui.offline.http.server import SeenRequest, Server
from ctxtui.offline.local import Local, LocalModel
from ctxtui.offline.playback import Playback
from ctxtui.offline.provider import Provider, RateLimits
from ctxtui.offline.script import Script, parse_script
from ctxtui.services.chat.offline_provider import build_playback

PORT = 4010
WINDOW = 4096
KINDS = ("ollama", "lm-studio", "llama.cpp", "vllm")


@click.command(
    "offline",
    help="Serve the Anthropic and OpenAI APIs on this machine, with no model behind them.\n\n"
    "Requests are refused where the provider would refuse them, caching and usage are accounted as the provider does, "
    "and answers are taken from what the tools returned. Free, without a key, for trying and testing agents. Ends with "
    "ctrl+c.\n\n\b\n"
    "Example: ctxtui offline --port 4010 --fault '529;share=0.1' --seed 7\n"
    "Example: ctxtui offline --port 0 --log wire/",
)
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="Port (0: a free one).")
@click.option("--as", "kind", type=click.Choice(KINDS), help="Play a local server instead.")
@click.option(
    "--window", type=click.IntRange(256, 10_000_000), metavar="N", help="With --as: the loaded window (4096)."
)
@click.option("--play", type=SessionName(), metavar="NAME", help=f"Give a recording's answers: {NAME_HELP}.")
@click.option("--thread", default="", metavar="T", help="With --play: a subagent's thread (default: the main one).")
@click.option(
    "--script",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Give the answers of FILE one after the other, each a line of JSON.",
)
@click.option(
    "--fault", "faults", multiple=True, metavar="FAULT", help="What goes wrong, e.g. '429;times=2;seconds=5'."
)
@click.option("--pace", type=click.FloatRange(0, 1_000_000), default=0.0, metavar="N", help="Output tokens a second.")
@click.option("--rpm", type=click.IntRange(1, 1_000_000), metavar="N", help="Refuse more than N requests a minute.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of ids and of faults that happen by chance.")
@click.option(
    "--log",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write requests and answers as they were, keys masked, to a HAR file in DIR, which ctxtui opens.",
)
@click.option(
    "--no-websocket", is_flag=True, help="Answer 426 where a WebSocket is wanted: Codex then goes on by HTTP."
)
@click.option("-q", "--quiet", is_flag=True, help="Print no line for each request.")
@click.option("--json", "as_json", is_flag=True, help="Print the addresses as JSON (schema_version 1).")
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
    seed: int,
    folder: Path | None,
    no_websocket: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Serve until interrupted."""
    if window is not None and kind is None:
        raise click.UsageError("--window needs --as", context)
    if thread and play is None:
        raise click.UsageError("--thread needs --play", context)
    if script is not None and play is not None:
        raise click.UsageError("--play and --script exclude each other", context)
    provider = Provider(seed=seed, limits=RateLimits(requests=rpm, enforced=True) if rpm else RateLimits())
    provider.playback = _answers(context, play, thread, script)
    armed = Faults([parse(fault) for fault in faults], seed)
    local = Local(kind.replace("-", " "), (LocalModel(window=window or WINDOW),)) if kind else None
    log = ExchangeLog(folder, provider.now()) if folder is not None else None
    told = None if quiet or as_json else _line
    server = Server(provider, armed, pace, on_request=told, local=local, log=log, websocket=not no_websocket)
    try:
        asyncio.run(_serve(server, port, as_json))
    finally:
        if log is not None:
            log.close()
    if server.in_progress:
        # A request that is still being worked on is not waited for, nor is the interpreter's own end, which would be
        # held up by it.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def _answers(context: click.Context, play: str | None, thread: str, script: Path | None) -> Playback | Script | None:
    """What is said in place of the provider's own answers: a recording's, or those of a script."""
    if play is not None:
        session = opened(play, config_of(context).settings).session
        return build_playback(session, choose_call(session, thread, 0).thread)
    if script is not None:
        return parse_script(script.read_text(encoding="utf-8", errors="replace"), str(script))
    return None


async def _serve(server: Server, port: int, as_json: bool) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with serving(server, port=port) as running:
        if as_json:
            log = {"log": str(server.log.path)} if server.log else {}
            write_json({"url": running.url, "openai_url": running.openai_url, "model": "offline", **log})
        else:
            write(_greeting(running))
        sys.stdout.flush()
        await stop.wait()
        for number in (signal.SIGINT, signal.SIGTERM):
            # Whoever asks twice does not wait for open streams.
            asyncio.get_running_loop().remove_signal_handler(number)
    note("offline provider ended")


def _greeting(running: RunningProvider) -> str:
    log = running.server.log
    return _served(running) + (f"\nlog: {log.path}" if log else "")


def _served(running: RunningProvider) -> str:
    local = running.server.local
    if local is not None:
        return f"offline provider, no model, as {local.kind}: {running.url}, model `offline`; ctrl+c ends"
    return (
        f"offline provider, no model: {running.url} (Anthropic, Google), {running.openai_url} (OpenAI)\n"
        "model `offline`, or a real one's id to have its rules; any key; ctrl+c ends"
    )


def _line(seen: SeenRequest) -> None:
    told = ", ".join(f"{name} {count}" for name, count in seen.usage.items() if isinstance(count, int))
    why = f" refused: {seen.rule}" if seen.rule else ""
    fault = f" fault: {seen.fault}" if seen.fault else ""
    write(shown(f"{seen.status} {seen.path}{why}{fault} {told}".rstrip()))
    sys.stdout.flush()
