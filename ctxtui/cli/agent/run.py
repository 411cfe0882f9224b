"""`ctxtui run`: one task done by an agent, without a screen."""

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
from ctxtui.cli.output import note, tell, write, write_json
from ctxtui.curation.policies.policy import Step
from ctxtui.services.chat.chat_model import ModelChoice
from ctxtui.services.chat.host import Host
from ctxtui.services.chat.model_choice import NAMES
from ctxtui.services.config.policy_registry import load_policies
from ctxtui.services.headless.run import HeadlessRun
from ctxtui.services.headless.run_options import Outcome, RunOptions, RunResult, named_steps
from ctxtui.views.text import safe_text

_UNLIMITED: Final = "0: no limit"


class NumberOrAuto(click.ParamType[int]):
    """A number of `what`, from `least` on, or ``auto``, which is `auto`."""

    name = "number"

    def __init__(self, what: str, *, least: int, auto: int) -> None:
        self._what = what
        self._least = least
        self._auto = auto

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number, or what stands for ``auto``."""
        if value in ("auto", self._auto):
            return self._auto
        if isinstance(value, str) and value.isdecimal() and int(value) >= self._least:
            return int(value)
        self.fail(f"{value!r} is neither a number of {self._what} nor auto", param, ctx)


@click.command("run")
@click.argument("task", metavar="TASK")
@click.option("--model", metavar="ID", default="", help="The model; by default the provider's usual one.")
@click.option("--provider", type=click.Choice(NAMES), help="Whom to ask; by default by keys and running servers.")
@click.option("--base-url", metavar="URL", default="", help="A compatible server, such as http://127.0.0.1:8080/v1.")
@click.option("--policy", "policies", metavar="NAME|FILE", multiple=True, help="A policy or profile; several add up.")
@click.option(
    "--max-rounds", type=click.IntRange(0, 10_000), metavar="N", help=f"Most requests (100; {_UNLIMITED}); then exit 8."
)
@click.option(
    "--max-tokens",
    type=NumberOrAuto("tokens", least=1, auto=0),
    metavar="N|auto",
    default="auto",
    help="Most tokens of an answer (auto).",
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
    help=f"Keep so much of a tool result, head and tail (2000; {_UNLIMITED}; auto: 2000 in windows up to 32k).",
)
@click.option(
    "--budget-usd",
    type=click.FloatRange(min=0.0),
    metavar="X",
    help="Send nothing that would cost more; exit 7.",
)
@click.option(
    "--allow",
    "allow",
    metavar="TOOL",
    multiple=True,
    help="A tool that needs no leave, or a pattern; agent: sub-agents. Repeatable.",
)
@click.option(
    "--server", "servers", metavar="NAME", multiple=True, help="Only this MCP server, or pattern; repeatable."
)
@TOOLS_OPTION
@FILES_OPTION
@MEMORY_OPTION
@click.option(
    "--log-dir", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="Write each round into DIR, too."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema_version 1): the result, and how.")
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
    """Let an agent do TASK in this folder; its answer goes to standard output.

    TASK - is read from standard input. The model is chosen as `ctxtui chat` does it: by keys, then running servers,
    else the offline provider. Tools that read need no leave, others are refused unless --allow names them; files that
    other programs obey are refused even then. Everything is on record: `ctxtui open ID` shows the session, also while
    it runs, and `ctxtui chat --continue ID` goes on with it.

    A request takes ten messages along and 2,000 characters of a tool result, unless you say otherwise; --policy stands
    in place of both limits. Every trim is told, and the originals stay on record.

    \b
    Exit codes: 0 done; 7 leave was refused, the budget is used up, or the provider refused; 8 the rounds are used up.

    \b
    Example: ctxtui run "which module reads Claude Code's files?" --max-rounds 20 --budget-usd 0.50
    Example: ctxtui run "fix the failing test" --allow write_file --allow run_command --json
    """
    words = sys.stdin.read() if task == "-" else task
    if not words.strip():
        raise WrongUse("the task is empty", place="TASK")
    if messages == 1:
        raise WrongUse("a request of one message has no room for an answer", place="--max-context-messages 1")
    agents = "true" if AGENT in allow else None
    chosen = " ".join(servers)
    override(context, answer_tokens=max_tokens or "", files=files, memory=memory, agents=agents, mcp_servers=chosen)
    config = config_of(context)
    options = RunOptions(
        task=words,
        rounds=config.settings.max_rounds if max_rounds is None else max_rounds,
        named=_named(policies),
        messages=messages,
        length=length,
        budget_usd=budget_usd,
        allow=allow,
        log_dir=log_dir,
    )
    host = Host(ModelChoice(provider or "", model, base_url), config, Path.cwd())
    host.own.files = tool_files
    found = asyncio.run(HeadlessRun(options, host, tell).go())
    _print(found, as_json)
    return _CODES.get(found.outcome, exit_codes.REFUSED).number


def _named(policies: tuple[str, ...]) -> tuple[Step, ...]:
    known = dict(load_policies())
    steps: list[Step] = []
    for name in policies:
        file = Path(name).expanduser()
        # A policy's name is no file's: ./NAME means the file.
        text = file.read_text(encoding="utf-8", errors="replace") if name not in known and file.is_file() else None
        steps += named_steps(name, text, known)
    return tuple(steps)


def _print(found: RunResult, as_json: bool) -> None:
    if as_json:
        write_json(found.as_fields())
    elif found.text:
        if sys.stdout.isatty():
            found = replace(found, text=safe_text.plain(found.text))
        write(found.text)
    if found.why:
        note(f"{found.outcome.value}: {found.why}")


_CODES: Final = {Outcome.DONE: exit_codes.OK, Outcome.ROUNDS: exit_codes.FAILED}
