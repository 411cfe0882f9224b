"""`ctxtui run`: let an agent do one task, without a screen."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Final

import click
from msgspec.structs import replace

from ctxtui.agent.child import AGENT
from ctxtui.cli import exit_codes
from ctxtui.cli.context import FILES_OPTION, MEMORY_OPTION, TOOLS_OPTION, config_of, override
from ctxtui.cli.exit_codes import WrongUse
from ctxtui.cli.output import log, note, write, write_json
from ctxtui.services.chat.chat_model import ModelChoice
from ctxtui.services.chat.host import Host
from ctxtui.services.chat.model_choice import NAMES
from ctxtui.services.config.policy_registry import build_steps
from ctxtui.services.headless.run import HeadlessRun
from ctxtui.services.headless.run_options import Outcome, RunOptions, RunResult
from ctxtui.views.text import safe_text

_UNLIMITED: Final = "0: no limit"


class NumberOrAuto(click.ParamType[int]):
    """A number of `what`, at least `least`, or ``auto``, for which `auto` is returned."""

    name = "number"

    def __init__(self, what: str, *, least: int, auto: int) -> None:
        self._what = what
        self._least = least
        self._auto = auto

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if value in ("auto", self._auto):
            return self._auto
        if isinstance(value, str) and value.isdecimal() and int(value) >= self._least:
            return int(value)
        self.fail(f"{value!r} is neither auto nor a number of {self._what} from {self._least} on", param, ctx)


@click.command("run")
@click.argument("task", metavar="TASK")
@click.option("--model", metavar="ID", default="", help="The model (default: the provider's usual one).")
@click.option("--provider", type=click.Choice(NAMES), help="The provider (default: by keys and running servers).")
@click.option("--base-url", metavar="URL", default="", help="A compatible server, such as http://127.0.0.1:8080/v1.")
@click.option(
    "--policy",
    "policies",
    metavar="NAME|FILE",
    multiple=True,
    help="A policy or profile; repeatable, applied in order.",
)
@click.option(
    "--max-rounds",
    type=click.IntRange(0, 10_000),
    metavar="N",
    help=f"Maximum number of requests (default: the setting max_rounds, 100; {_UNLIMITED}); then exit 8.",
)
@click.option(
    "--max-tokens",
    type=NumberOrAuto("tokens", least=1, auto=0),
    metavar="N|auto",
    default="auto",
    help="Maximum tokens of an answer (auto).",
)
@click.option(
    "--max-context-messages",
    "messages",
    type=NumberOrAuto("messages", least=0, auto=-1),
    metavar="N|auto",
    help=f"Send the first message and the last N-1 (10; {_UNLIMITED}; auto: 10 in windows up to 32k).",
)
@click.option(
    "--max-tool-result-length",
    "length",
    type=NumberOrAuto("characters", least=0, auto=-1),
    metavar="CHARS|auto",
    help=f"Keep head and tail of long tool results (2000; {_UNLIMITED}; auto: 2000 in windows up to 32k).",
)
@click.option(
    "--budget-usd",
    type=click.FloatRange(min=0.0),
    metavar="X",
    help="Stop before a request would exceed this cost; exit 7.",
)
@click.option(
    "--allow",
    "allow",
    metavar="TOOL",
    multiple=True,
    help="Allow this tool, or those that match a pattern; agent: sub-agents. Repeatable.",
)
@click.option(
    "--server", "servers", metavar="NAME", multiple=True, help="Use only this MCP server, or pattern; repeatable."
)
@TOOLS_OPTION
@FILES_OPTION
@MEMORY_OPTION
@click.option(
    "--log-dir", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="Also write each round into DIR."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema_version 1): result and metadata.")
@click.pass_context
def run(
    context: click.Context,
    /,
    task: str,
    model: str,
    provider: str | None,
    base_url: str,
    policies: tuple[str, ...],
    max_rounds: int | None,
    max_tokens: int,
    messages: int | None,
    length: int | None,
    budget_usd: float | None,
    allow: tuple[str, ...],
    servers: tuple[str, ...],
    tool_files: tuple[Path, ...],
    log_dir: Path | None,
    files: str | None,
    memory: str,
    as_json: bool,
) -> int:
    """Let an agent do TASK in this folder, and print its answer.

    If TASK is -, it is read from standard input. The model is chosen like for `ctxtui chat`: by keys, then running
    servers, else the offline provider. Tools that only read or that keep its memory are allowed; others are refused
    unless --allow names them. Writing files that control other programs is always refused. So are commands that cannot
    be confined, unless the setting command_unconfined allows them. Everything is recorded: `ctxtui open ID` shows the
    session, also while it runs, and `ctxtui chat --continue ID` continues it.

    By default a request has at most ten messages (more if a call would lose its result), and 2,000 characters of each
    tool result; with --policy these defaults do not apply. Every cut is reported, and the originals stay in the
    recording.

    \b
    Exit codes: 0 done; 2 wrong use or setting; 5 no such tool, policy or MCP server;
    7 permission refused, budget used up, or an error; 8 no rounds left.

    \b
    Example: ctxtui run "which module reads Claude Code's files?" --max-rounds 20 --budget-usd 0.50
    Example: ctxtui run "fix the failing test" --allow write_file --allow run_command --json
    """
    task_text = sys.stdin.read() if task == "-" else task
    if not task_text.strip():
        raise WrongUse("the task is empty", place="TASK")
    if messages == 1:
        raise WrongUse(
            "with one message the agent would never read its own answers and results",
            place="--max-context-messages 1",
            way_out="give 2 or more, or 0 for no limit",
        )
    agents = "true" if AGENT in allow else None
    server_patterns = " ".join(servers)
    override(
        context, answer_tokens=max_tokens or "", files=files, memory=memory, agents=agents, mcp_servers=server_patterns
    )
    config = config_of(context)
    options = RunOptions(
        task=task_text,
        rounds=config.settings.max_rounds if max_rounds is None else max_rounds,
        named=tuple(build_steps(policies)),
        messages=messages,
        length=length,
        budget_usd=budget_usd,
        allow=allow,
        log_dir=log_dir,
    )
    host = Host(ModelChoice(provider or "", model, base_url), config, Path.cwd())
    host.own.files = tool_files
    result = asyncio.run(HeadlessRun(options, host, log).go())
    _print(result, as_json)
    return CODE_BY_OUTCOME.get(result.outcome, exit_codes.REFUSED).number


def _print(result: RunResult, as_json: bool) -> None:
    if as_json:
        write_json(result.as_fields())
    elif result.text:
        if sys.stdout.isatty():
            result = replace(result, text=safe_text.plain(result.text))
        write(result.text)
    if result.why:
        note(f"{result.outcome.value}: {result.why}")


CODE_BY_OUTCOME: Final = {Outcome.DONE: exit_codes.OK, Outcome.ROUNDS: exit_codes.FAILED}
"""All other outcomes end with `REFUSED`."""
