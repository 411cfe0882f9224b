"""`ctxtui exec`: run a program with ctxtui between it and its provider."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import sys
from pathlib import Path
from typing import Any

import click

from ctxtui.cli.agent.relay_options import hold_rules as rules_for
from ctxtui.cli.agent.relay_options import otlp_feed, otlp_options, parse_upstream, rule_options
from ctxtui.cli.context import config_of, open_recording
from ctxtui.cli.exit_codes import WrongUse
from ctxtui.cli.output import escape, note, write, write_json
from ctxtui.core.session import MAIN
from ctxtui.services.attach.forking.recorded_answers import RecordedAnswers, collect_answers
from ctxtui.services.attach.keep_warm import KeepWarm
from ctxtui.services.attach.registry import program_of
from ctxtui.services.attach.relayed_program import RelayedProgram
from ctxtui.services.attach.tmux_pane import split
from ctxtui.services.config.paths import attached_dir, database
from ctxtui.services.config.policy_registry import build_steps
from ctxtui.services.recordings.open_by_name import split_call


@click.command("exec", context_settings={"allow_interspersed_args": False})
@click.argument("command", metavar="[--] COMMAND [ARGS]...", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--upstream", "upstreams", metavar="NAME=URL", multiple=True, help="A provider's base URL, as anthropic=https://..."
)
@click.option(
    "--as", "name", metavar="PROGRAM", default="", help="Treat COMMAND as this program: claude-code, codex ..."
)
@click.option("--forward", is_flag=True, help="Use HTTPS_PROXY and a certificate for this run instead of base URLs.")
@click.option("--tag", "tags", metavar="TAG", multiple=True, help="A tag for the recording; repeatable.")
@click.option(
    "--hold", is_flag=True, help="Hold each request until `ctxtui hold` releases it, except titles and token counts."
)
@rule_options("hold-")
@click.option(
    "--fork",
    metavar="SESSION[:CALL]",
    default="",
    help="Answer from this recorded session up to that call (default: its last), then live.",
)
@click.option("--thread", default="", metavar="T", help="With --fork: the subagent thread of the call.")
@click.option("--policy", "policies", metavar="NAME|FILE", multiple=True, help="A policy or profile for every thread.")
@click.option(
    "--set", "policy_settings", metavar="K=V", multiple=True, help="A setting of the policy (JSON, or plain text)."
)
@click.option(
    "--keep-warm",
    "keep_warm_usd",
    type=click.FloatRange(min=0),
    metavar="USD",
    default=0.0,
    help="Keep the cache from expiring in pauses, as long as that costs less than a miss would; at most USD in all.",
)
@otlp_options
@click.option(
    "--print-env", is_flag=True, help="Run nothing: print the environment for programs, and serve until ctrl+c."
)
@click.option("--split", "in_split", is_flag=True, help="Inside tmux: open the inspector in a split.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing at the end, unless something went wrong.")
@click.option("--json", "as_json", is_flag=True, help="With --print-env: print JSON (schema_version 1).")
@click.pass_context
def exec_(
    context: click.Context,
    /,
    command: tuple[str, ...],
    upstreams: tuple[str, ...],
    name: str,
    forward: bool,
    tags: tuple[str, ...],
    hold: bool,
    fork: str,
    thread: str,
    policies: tuple[str, ...],
    policy_settings: tuple[str, ...],
    keep_warm_usd: float,
    otlp: str,
    otlp_content: bool,
    print_env: bool,
    in_split: bool,
    quiet: bool,
    as_json: bool,
    **rules: Any,
) -> int:
    """Run COMMAND and record every request that it sends to a model, byte for byte.

    COMMAND is pointed at a relay on this machine by its own variables or flags (Claude Code, Codex, OpenCode, pi, llm,
    aider, mini-swe-agent, Inspect, programs with the Anthropic or OpenAI SDK). If a base URL is set already, the relay
    forwards to it. Data is forwarded unchanged and without delay, except with --hold, --policy, --fork or edits that
    you apply; keys are never written. Sessions are listed on Home while they grow. COMMAND keeps the terminal and its
    exit code; 125 is an error of ctxtui, 127 means that there is no such command.

    \b
    Example: ctxtui exec -- claude
    Example: ctxtui exec --hold -- codex
    """
    if not command and not print_env:
        raise WrongUse("no command is given", way_out="see `ctxtui exec --help`")
    if thread and not fork:
        raise WrongUse("--thread needs --fork: it names the thread to fork from", place="--thread")
    if as_json and not print_env:
        raise WrongUse("--json needs --print-env: standard output belongs to COMMAND", place="--json")
    if keep_warm_usd and print_env:
        raise WrongUse("--keep-warm needs a COMMAND: the cache is kept until it ends", place="--keep-warm")
    # Report an invalid policy before the program runs.
    build_steps(policies, policy_settings)
    relayed = RelayedProgram(
        command=command,
        program=program_of(command, name),
        folder=attached_dir(),
        database=database(config_of(context).settings.data_dir),
        env=dict(os.environ),
        cwd=os.getcwd(),
        named_upstreams=dict(map(parse_upstream, upstreams)),
        tags=tags,
        forward=forward,
        hold=rules_for(rules, each=hold),
        answers=_collect_answers(context, fork, thread) if fork else None,
        policies=policies,
        policy_settings=policy_settings,
        keep_warm_usd=keep_warm_usd,
        settings=config_of(context).settings,
        say=note,
    )
    if in_split and (error := split(relayed.folder, relayed.run)):
        note(error)
    with otlp_feed(otlp, config_of(context).settings, otlp_content, lambda: relayed.recorded_files):
        code = asyncio.run(_serve(relayed, as_json) if print_env else relayed.run_to_end())
    if not print_env:
        _report(relayed, quiet)
    return code


def _collect_answers(context: click.Context, fork: str, thread: str) -> RecordedAnswers:
    name, number = split_call(fork, ":")
    loaded = open_recording(prefer_own_recording(name), config_of(context).settings)
    return collect_answers(loaded, thread or MAIN, number)


def prefer_own_recording(name: str) -> str:
    """The path of ctxtui's recording called `name`, else `name`.

    A prefix that only one recording has is enough.
    """
    recordings = [path for path in attached_dir().glob("*.jsonl") if name and path.stem.startswith(name)]
    exact = [path for path in recordings if path.stem == name]
    return str((exact or recordings)[0]) if exact or len(recordings) == 1 else name


def _report(relayed: RelayedProgram, quiet: bool) -> None:
    """Print notes at the end: errors; unless `quiet` also fork, cache refreshes, recordings."""
    for trouble in relayed.troubles:
        note(trouble)
    if relayed.silence_advice and not quiet:
        note(relayed.silence_advice)
    if relayed.fork is not None and (not quiet or relayed.fork.departure):
        note(relayed.fork.summary)
    if relayed.keep_warm is not None and not quiet:
        note(_describe_refreshes(relayed.keep_warm))
    if quiet or not sys.stderr.isatty():
        return
    for path in relayed.recorder.files:
        note(f"recorded: ctxtui open {shlex.quote(Path(path).stem)}")


def _describe_refreshes(warm: KeepWarm) -> str:
    reasons = "; ".join(dict.fromkeys(filter(None, warm.reasons.values())))
    if not warm.count:
        return f"the cache was not kept warm: {reasons}" if reasons else "no cache had to be kept warm"
    refreshes = f"{warm.count} refresh{'' if warm.count == 1 else 'es'}"
    text = f"the cache was kept warm by {refreshes}, ${warm.usd:.3f} of ${warm.cap_usd:g}"
    return f"{text}; at the end not: {reasons}" if reasons else text


async def _serve(relayed: RelayedProgram, as_json: bool) -> int:
    env = await relayed.serve()
    if as_json:
        write_json({"env": env.env, "arguments": env.arguments, "urls": relayed.urls})
    else:
        for name, value in env.env.items():
            write(f"export {name}={escape(shlex.quote(value))}")
        if env.arguments:
            write(f"# {relayed.program.name}: {escape(shlex.join(env.arguments))}")
    sys.stdout.flush()
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    note(f"serving on this machine, recording into {relayed.folder}; press ctrl+c to stop")
    await stop.wait()
    await relayed.close()
    _report(relayed, quiet=False)
    return 0
