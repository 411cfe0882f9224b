"""Write the reference pages that are made from the code: `make reference`.

docs/options.md from click's commands; the tables of docs/settings.md and docs/policies.md between their markers;
docs/llms.txt from the index of docs/README.md.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Final

import click

from ctxtui.cli.commands import EDITS, MAIN_COMMANDS, OTHER_COMMANDS, WHY
from ctxtui.cli.exit_codes import EXIT_CODES
from ctxtui.cli.group import import_command, main_group
from ctxtui.core import canonical
from ctxtui.curation.policies.registry import POLICIES
from ctxtui.services.config.config import describe_default
from ctxtui.services.config.settings import Settings

DOCS: Final = Path(__file__).resolve().parent.parent / "docs"
INDEX_ROW: Final = re.compile(r"^\| \[[^]]+\]\((?P<page>[^)]+\.md)\) \| (?P<text>.+) \|$")

OPTIONS_HEAD: Final = """\
# Options

Every command with its options, as `ctxtui COMMAND --help` prints them. Written by `make reference` from the program; a
test keeps it up to date. [commands.md](commands.md) shows the commands by example. Before any command, `--set
KEY=VALUE` overrides a [setting](settings.md#all-settings).
"""


def render_pages() -> dict[str, str]:
    """Text of each page below docs/ that is made from the code, by name."""
    return {
        "options.md": re.sub(r"\n{3,}", "\n\n", "\n".join([OPTIONS_HEAD, *_format_commands(), *_format_exit_codes()])),
        "settings.md": _replace_part("settings.md", "settings", _settings_table()),
        "policies.md": _replace_part("policies.md", "policies", _policies_table()),
        "llms.txt": render_llms_txt((DOCS / "README.md").read_text(encoding="utf-8")),
    }


def read_index(text: str) -> dict[str, list[tuple[str, str]]]:
    """Sections of docs/README.md: for each heading the pages with their descriptions."""
    sections: dict[str, list[tuple[str, str]]] = {}
    heading = ""
    for line in text.splitlines():
        if line.startswith("## "):
            heading = line.removeprefix("## ")
        elif row := INDEX_ROW.match(line):
            sections.setdefault(heading, []).append((row["page"], row["text"]))
    return sections


def title_of(page: str) -> str:
    """The first heading of a page below docs/."""
    return (DOCS / page).read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")


def render_llms_txt(index: str) -> str:
    """Index of the documents for language models (llmstxt.org)."""
    lines = [
        "# ctxtui",
        "",
        "> A debugger for the context window of LLM agents: what the model read, block by block, with",
    ]
    lines += ["> tokens, cache state and cost. A terminal program and a command line; Python 3.11 or newer.", ""]
    lines += [
        "Every command that prints something accepts `--json`. `ctxtui help commands` lists the commands, `ctxtui help"
    ]
    lines += ["exit-codes` the exit codes. `ctxtui mcp serve` serves MCP.", ""]
    for heading, rows in read_index(index).items():
        lines += [f"## {heading}", "", *(f"- [{title_of(page)}]({page}): {text}" for page, text in rows), ""]
    return "\n".join(lines)


def _replace_part(page: str, marker: str, table: Iterable[str]) -> str:
    text = (DOCS / page).read_text(encoding="utf-8")
    begin, end = f"<!-- {marker} -->\n", f"<!-- /{marker} -->"
    head, _, rest = text.partition(begin)
    return head + begin + "\n".join(table) + "\n" + end + rest.partition(end)[2]


def _settings_table() -> Iterator[str]:
    blank = Settings()
    yield from ("| setting | default | meaning |", "|---|---|---|")
    for field in fields(Settings):
        default = describe_default(getattr(blank, field.name))
        shown = f"`{default}`" if default not in ("", "-") else ""
        yield f"| `{field.name}` | {shown} | {_cell(str(field.metadata['meaning']))} |"


def _policies_table() -> Iterator[str]:
    yield from ("| policy | setting | default | meaning |", "|---|---|---|---|")
    for policy in sorted(POLICIES.values(), key=lambda policy: policy.name):
        yield f"| `{policy.name}` | | | {_cell(policy.about)} |"
        for key, value in policy.defaults.items():
            yield f"| | `{key}` | `{canonical.dump_text(value)}` | {_cell(policy.notes.get(key, ''))} |"


def _format_commands() -> Iterator[str]:
    root = click.Context(main_group, info_name="ctxtui")
    for title, entries in {**MAIN_COMMANDS, **OTHER_COMMANDS}.items():
        yield f"\n## {title}"
        for entry in entries:
            yield from _format_command(import_command(entry), click.Context(import_command(entry), root, entry.name))
            if entry.name == "cost":
                yield from _format_command(import_command(WHY), click.Context(import_command(WHY), root, "cost --why"))
            for own in EDITS.values() if entry.name == "edits" else ():
                yield from _format_command(
                    import_command(own), click.Context(import_command(own), root, f"edits {own.name}")
                )


def _format_command(command: click.Command, context: click.Context) -> Iterator[str]:
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield f"\n### {context.command_path}\n\n    {usage}\n"
    yield from _format_help(command.help or "")
    options = [option for option in command.params if isinstance(option, click.Option) and not option.hidden]
    if options:
        yield from ("| option | |", "|---|---|")
        yield from (_format_option(option, context) for option in options)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None and not inner.hidden:
                yield from _format_command(inner, click.Context(inner, context, name))


def _format_option(option: click.Option, context: click.Context) -> str:
    names, text = option.get_help_record(context) or ("", "")
    return f"| `{_cell(names)}` | {_cell(text)} |"


def _format_help(text: str) -> Iterator[str]:
    """Paragraphs as they are; lines that click must not wrap (after ``\\b``) as a block of commands."""
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        lines = paragraph.splitlines()
        if lines and lines[0].strip() == "\b":
            shell = "sh" if all(line.strip().startswith("Example: ") for line in lines[1:]) else ""
            yield "\n".join([f"```{shell}", *(line.strip().removeprefix("Example: ") for line in lines[1:]), "```\n"])
        else:
            yield " ".join(line.strip() for line in lines).replace("<", "\\<") + "\n"


def _format_exit_codes() -> Iterator[str]:
    yield "\n## Exit codes\n\n| code | name | meaning |\n|---|---|---|"
    yield from (f"| {code.number} | {code.name} | {_cell(code.meaning)} |" for code in EXIT_CODES)
    yield ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "\\<")


if __name__ == "__main__":
    for name, page_text in render_pages().items():
        (DOCS / name).write_text(page_text, encoding="utf-8")
