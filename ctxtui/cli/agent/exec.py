"""`ctxtui exec`: a program with ctxtui between it and its provider."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import sys
from pathlib import Path
from typing import Any

import click

from ctxtui.cli.agent.relay_options import feeding, otlp_options, rule_options, upstream_of
from ctxtui.cli.agent.relay_options import rules as rules_for
from ctxtui.cli.context import config_of, opened
from ctxtui.cli.exit_codes import WrongUse
from ctxtui.cli.output import note, shown, write, write_json
from ctxtui.core.session import MAIN
from ctxtui.services.attach.forking.recorded_answers import RecordedAnswers, collect_answers, split_fork
from ctxtui.services.attach.registry import program_of
from ctxtui.services.attach.relayed_program import RelayedProgram
from ctxtui.services.attach.tmux_pane import split
from ctxtui.services.config.paths import attached_dir, database
from ctxtui.services.config.policy_registry import build_steps


@click.command("exec", context_settings={"allow_interspersed_args": False})
@click.argument("command", metavar="[--] COMMAND [ARGS]...", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--upstream", "upstreams", metavar="NAME=URL", multiple=True, help="A provider's base URL, as anthropic=https://..."
)
@click.option(
    "--as", "name", metavar="PROGRAM", default="", help="Lead it as this program is led: claude-code, codex ..."
)
@click.option("--forward", is_flag=True, help="Lead it by HTTPS_PROXY and certificates of this run, not by base URLs.")
@click.option("--tag", "tags", metavar="TAG", multiple=True, help="A word that goes with what is recorded; repeatable.")
@click.option("--hold", is_flag=True, help="Hold each request until `ctxtui hold` lets it go; side calls pass.")
@rule_options("hold-")
@click.option(
    "--fork",
    metavar="SESSION[:CALL]",
    default="",
    help="Answer from this recorded session up to that call (default: its last), and live from there.",
)
@click.option("--thread", default="", metavar="T", help="With --fork: the call is one of this subagent's thread.")
@click.option("--policy", "policies", metavar="NAME|FILE", multiple=True, help="A policy or profile over every thread.")
@click.option("--set", "given", metavar="K=V", multiple=True, help="A setting of the policy (JSON, or plain text).")
@otlp_options
@click.option("--print-env", is_flag=True, help="Run nothing: print what leads programs here, and serve until ctrl+c.")
@click.option("--split", "beside", is_flag=True, help="Inside tmux: open the inspector beside it.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing at the end, unless something was not recorded.")
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
    given: tuple[str, ...],
    otlp: str,
    otlp_content: bool,
    print_env: bool,
    beside: bool,
    quiet: bool,
    as_json: bool,
    **rules: Any,
) -> int:
    """Run COMMAND and record every request that it makes to a model, byte for byte, while it runs.

    COMMAND is led to a relay on this machine by its own variables or flags (Claude Code, Codex, OpenCode, pi, llm,
    aider, mini-swe-agent, Inspect, programs with the Anthropic or OpenAI SDK); a base URL that is set already is where
    the relay leads. What goes each way is passed on as it is, at once; keys are written nowhere. Each session is on
    Home while it grows. The terminal is COMMAND's, and so is the exit code; 125 is a fault of ctxtui's own, 127 no
    such command.

    \b
    Example: ctxtui exec -- claude
    Example: ctxtui exec --hold -- codex
    """
    if not command and not print_env:
        raise WrongUse("no command is given", way_out="see `ctxtui exec --help`")
    if thread and not fork:
        raise WrongUse("--thread says of which thread the call is that --fork names", place="--thread")
    # Before the program runs: what is wrong with a policy is told now.
    build_steps(policies, given)
    around = RelayedProgram(
        command=command,
        program=program_of(command, name),
        folder=attached_dir(),
        database=database(config_of(context).settings.data_dir),
        env=dict(os.environ),
        cwd=os.getcwd(),
        named_upstreams=dict(map(upstream_of, upstreams)),
        tags=tags,
        forward=forward,
        hold=rules_for(rules, each=hold),
        answers=_answers(context, fork, thread) if fork else None,
        policies=policies,
        policy_settings=given,
        settings=config_of(context).settings,
        say=note,
    )
    if beside and (why := split(around.folder, around.run)):
        note(why)
    with feeding(otlp, config_of(context).settings, otlp_content, lambda: around.recorded_files):
        code = asyncio.run(_served(around, as_json) if print_env else around.run_to_end())
    if not print_env:
        _tell(around, quiet)
    return code


def _answers(context: click.Context, fork: str, thread: str) -> RecordedAnswers:
    """The answers of the session that is forked. Raises `NotFound`, `BadConfig`."""
    name, number = split_fork(fork)
    # A client's own transcript may be called the same: what went by ctxtui is meant.
    own = [path for path in attached_dir().glob("*.jsonl") if name and path.stem.startswith(name)]
    name = str(own[0]) if len(own) == 1 else name
    return collect_answers(opened(name, config_of(context).settings), thread or MAIN, number)


def _tell(around: RelayedProgram, quiet: bool) -> None:
    """What was recorded, for a person; what was not, for everybody."""
    for trouble in around.troubles:
        note(trouble)
    if around.silence_advice and not quiet:
        note(around.silence_advice)
    if around.fork is not None and (not quiet or around.fork.departure):
        note(around.fork.summary)
    if quiet or not sys.stderr.isatty():
        return
    for path in around.recorder.files:
        note(f"recorded: ctxtui open {shlex.quote(Path(path).stem)}")


async def _served(around: RelayedProgram, as_json: bool) -> int:
    env = await around.serve()
    if as_json:
        write_json({"env": env.env, "arguments": env.arguments, "urls": around.urls})
    else:
        for name, value in env.env.items():
            write(f"export {name}={shown(shlex.quote(value))}")
        if env.arguments:
            write(f"# {around.program.name}: {shown(shlex.join(env.arguments))}")
    sys.stdout.flush()
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    note(f"serving on this machine, recording into {around.folder}; ctrl+c ends")
    await stop.wait()
    await around.close()
    _tell(around, quiet=False)
    return 0
