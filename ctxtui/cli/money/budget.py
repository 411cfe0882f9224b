"""`ctxtui budget`: plan a model's window for a project, before a run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ctxtui.cli.context import JSON_OPTION, config_of
from ctxtui.cli.exit_codes import WrongUse
from ctxtui.cli.output import write_json
from ctxtui.cli.paint import Painter, abbreviate_home, rule
from ctxtui.cli.progress import Working
from ctxtui.project.budget import PARTS, group_files
from ctxtui.services.agent_tools.agent_tools import select_enabled
from ctxtui.services.chat.context_files import ContextFiles
from ctxtui.services.chat.model_choice import default_model
from ctxtui.services.chat.opening import SYSTEM, tool_definitions
from ctxtui.services.members import members
from ctxtui.services.project.model_window import model_window
from ctxtui.services.project.progress import ReadingProgress
from ctxtui.services.project.report import CountedProject, RunPlan, RunReport, make_run_report
from ctxtui.views.lists.run_report import budget_lines, warning_lines
from ctxtui.views.text import safe_text


@click.command(
    "budget",
    help="Plan a model's window before a run: system prompt, tools, task, room for files, and the project files that "
    "would be included.\n\n"
    "PATH is the project's folder (default: this one). System prompt and tools are those of `ctxtui chat` without MCP "
    "servers; --take sets others. A model may be given as a file: a .gguf, or a folder with config.json. Contradicting "
    "sizes end with exit code 2 and a message with file, value, maximum and fix.\n\n\b\n"
    'Example: ctxtui budget --model qwen2.5-coder:32b --task "speed up core/tree.py"\n'
    "Example: ctxtui budget . --json | jq .window",
)
@click.argument("path", metavar="[PATH]", default=".", type=click.Path(path_type=Path))
@click.option("--model", metavar="ID|FILE", default="", help="The model (default: by settings and keys, else Claude).")
@click.option("--task", metavar="TEXT", default="", help="The task; files named in it are included first.")
@click.option(
    "--take",
    "takes",
    multiple=True,
    metavar="PART=TOKENS",
    help="Reserve these tokens for system, tools, task or answer, not the counted ones; other names are further parts.",
)
@click.option("--hub", is_flag=True, help="Get the window of the model OWNER/NAME from huggingface.co; no key is sent.")
@JSON_OPTION
@click.pass_context
def budget(
    context: click.Context, path: Path, model: str, task: str, takes: tuple[str, ...], hub: bool, as_json: bool
) -> None:
    config = config_of(context)
    files = ContextFiles(config, path)
    memory, name = files.memory_for(task), model or default_model(config.settings, os.environ)
    plan = RunPlan(
        model=name,
        window=model_window(name, config, hub=True) if hub else None,
        task=task,
        system=SYSTEM,
        tools=tuple(select_enabled(tool_definitions(config.settings), config.settings.tools)),
        takes=dict(_parse_take(part) for part in takes),
        memory=memory.texts if memory is not None else (),
        apart=files.memory_paths,
    )
    with Working("reading the project") as work:
        report = make_run_report(plan, config, path, progress=ReadingProgress(work.show))
    write_json(budget_json(report)) if as_json else _print(report, config.settings.glyphs)


def _parse_take(text: str) -> tuple[str, int]:
    name, _, number = text.partition("=")
    digits = number.strip().lower().replace(",", "").replace("_", "")
    scale = 1000 if digits.endswith("k") else 1
    try:
        tokens = round(float(digits.removesuffix("k")) * scale)
    except (ValueError, OverflowError):
        tokens = -1
    if not name.strip() or tokens < 0:
        raise WrongUse(f"--take {text}: not PART=TOKENS", way_out="write --take tools=1024, or --take history=3k")
    return name.strip(), tokens


def _print(report: RunReport, glyphs: str) -> None:
    painter = Painter(glyphs)
    painter.lines(rule("Context budget"))
    painter.lines(budget_lines(report.budget, report.kilobytes))
    if report.project is not None:
        painter.line([])
        painter.lines(rule("Repository", safe_text.one_line(abbreviate_home(str(report.project.root)))))
    painter.lines((*report.project_lines(), *([[]] if report.warnings else []), *warning_lines(report.warnings)))


def budget_json(report: RunReport) -> dict[str, Any]:
    context_budget, files = report.budget, report.selection
    parts = {name: getattr(context_budget, name) for name in (*PARTS, "available", "reserved")}
    return {
        **members(context_budget, "model window window_from=origin usable"),
        **parts,
        "answer": context_budget.answer,
        "wants": dict(context_budget.requests),
        "shares": {
            name: context_budget.share(tokens) for name, tokens in {"usable": context_budget.usable, **parts}.items()
        },
        "available_kb": report.kilobytes,
        "bytes_per_token": report.per_token,
        "repository": _repository(report.project) if report.project is not None else None,
        "strategy": None
        if files is None
        else {
            **members(files, "name=strategy reason tokens"),
            "groups": [
                {"why": why, "form": form, "files": number, "tokens": tokens}
                for why, form, number, tokens in group_files(files)
            ],
            "files": [members(item, "path why form tokens") for item in files.chosen],
            "left_out": len(files.left_out),
        },
        "warnings": [{"code": item.code, "message": item.text} for item in report.warnings],
    }


def _repository(project: CountedProject) -> dict[str, Any]:
    kinds: Sequence[tuple[str, int, int]] = project.kinds()
    total = project.tokens
    return {
        "path": str(project.root),
        "files": sum(number for _, number, _ in kinds),
        "tokens": total,
        "interval": [max(0, round(total - project.half)), round(total + project.half)],
        "loadable_tokens": project.loadable,
        "bytes": project.bytes,
        "kinds": [{"kind": kind, "files": number, "tokens": tokens} for kind, number, tokens in kinds],
        "more": project.more,
    }
