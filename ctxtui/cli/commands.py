"""The table of all commands: group, module, and help line. Printing help imports nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple


class CommandEntry(NamedTuple):
    """One command. `target` is ``module:attribute`` below `ctxtui.cli`, imported when it runs."""

    name: str
    target: str
    line: str


MAIN_COMMANDS: Final = {
    "Look": (
        CommandEntry("open", "manage.open:open_", "Open a recording on the screen (the default for a path or an id)."),
        CommandEntry("last", "manage.open:last", "Open this directory's newest session and follow it."),
        CommandEntry("show", "inspect.show:show", "Print what one call's context holds: blocks, tokens, residual."),
        CommandEntry("diff", "inspect.diff:diff", "Compare two calls or two sessions: what entered, left, changed."),
        CommandEntry("search", "inspect.search:search", "Find a text or expression in the blocks of every session."),
        CommandEntry("sessions", "manage.sessions:sessions", "List the sessions that can be opened, newest first."),
    ),
    "Measure": (
        CommandEntry("cost", "money.cost:cost", "Show what sessions cost: in all, by model, tool, day ..."),
        CommandEntry(
            "cache", "inspect.cache:cache", "Why the cache missed, most expensive first; the next call's forecast."
        ),
        CommandEntry("check", "money.check:check_", "Hold recordings against limits: context, cache, cost; for tests."),
    ),
    "Talk": (
        CommandEntry("chat", "manage.chat:chat", "Talk to a model: the inspector with a prompt and a running agent."),
        CommandEntry("run", "agent.run:run", "Let an agent do a task without a screen, recorded."),
        CommandEntry("exec", "agent.exec:exec_", "Run an agent with ctxtui between it and its provider: recorded."),
    ),
    "Change": (
        CommandEntry("curate", "edit.curate:curate", "Print a request under edits and policies, with its price."),
        CommandEntry("export", "edit.export:export", "Write one context as a request body, or a session as JSONL."),
        CommandEntry("share", "edit.share:share", "Write one call as a page to give away, secrets masked."),
    ),
    "Set up": (
        CommandEntry("doctor", "manage.doctor:doctor", "Check this machine: terminal, packages, folders, sessions."),
        CommandEntry("help", "help:help_", "Help on a command, or a topic: exit-codes, settings, policies."),
    ),
}
"""Commands in `ctxtui --help`."""

OTHER_COMMANDS: Final = {
    "A recording (besides show)": (
        CommandEntry(
            "growth", "inspect.growth:growth", "How a context grew, by category and phase; do N more phases fit?"
        ),
        CommandEntry(
            "compactions",
            "inspect.compactions:compactions",
            "What compactions kept and lost, and what came back at what cost.",
        ),
        CommandEntry("audit", "inspect.audit:audit_", "Hold forecasts of every call's input against its report."),
        CommandEntry("findings", "money.findings:findings", "Problems found, and fixes, ranked by what they save."),
        CommandEntry("lab", "lab.lab:lab", "Replay sessions under other policies, caches, models; no model call."),
    ),
    "Before a run": (
        CommandEntry("budget", "money.budget:budget", "Lay out a window and a project before a run: what fits."),
        CommandEntry("count", "money.count:count", "Count tokens and price of files before anyone reads them."),
        CommandEntry("preflight", "money.preflight:preflight", "Before a long run: limits ahead, cost, what goes."),
    ),
    "Money of all sessions": (
        CommandEntry(
            "stats", "money.stats:stats", "Say where tokens and money of all sessions went, and what a change did."
        ),
        CommandEntry("report", "edit.report:report", "Say what sessions came to: text, or --html: a page with charts."),
    ),
    "Around agents (besides exec)": (
        CommandEntry("hold", "agent.hold:hold", "Requests that wait under exec: release, apply, refuse."),
        CommandEntry("proxy", "agent.proxy:proxy", "Stand between programs and providers: off ends it."),
        CommandEntry(
            "statusline",
            "agent.statusline_command:statusline",
            "A status line for Claude Code: context, next price, cache; install, remove.",
        ),
        CommandEntry("mcp", "agent.mcp:mcp", "MCP servers: what their tools took, what is configured."),
        CommandEntry("offline", "manage.offline:offline", "Serve the providers' APIs with no model: a test double."),
        CommandEntry(
            "agree", "agent.agree:agree", "Does it still work? Send calls again under policies; compare next steps."
        ),
    ),
    "Stored sessions": (
        CommandEntry(
            "session", "manage.sessions_edit:session", "Stored sessions: rename, tag, archive, delete, scrub, notes ..."
        ),
        CommandEntry("import", "manage.imports:import_", "Copy recordings into ctxtui's own database; twice is once."),
        CommandEntry("repair", "edit.repair:repair", "Mend a session that its provider refuses, into a new file."),
        CommandEntry("db", "manage.db:db", "Look after the database: info, index, backup, vacuum, prune."),
    ),
    "Edits": (CommandEntry("edits", "edit.edits:edits", "Print a session's edits, and what became of them per call."),),
    "This machine": (
        CommandEntry("config", "manage.config:config", "Show every setting and where its value comes from."),
        CommandEntry("completion", "help:completion", "Print the completion script for your shell."),
    ),
}
"""Further commands in `ctxtui help commands`."""

_SESSION: Final = (
    CommandEntry("rename", "manage.sessions_edit:rename", "Give a stored session another title."),
    CommandEntry("tag", "manage.sessions_edit:tag", "Add or remove tags of a stored session."),
    CommandEntry("archive", "manage.sessions_edit:archive", "Hide a stored session from the lists, or show it."),
    CommandEntry("delete", "manage.sessions_edit:delete", "Delete a stored session and what only it used."),
    CommandEntry(
        "subscription", "manage.sessions_edit:subscription", "Mark a session as paid by a subscription: tokens lead."
    ),
    CommandEntry("scrub", "edit.scrub:scrub", "Write a masked copy of a session into the database."),
    CommandEntry("notes", "inspect.notes:notes", "Print notes and bookmarks of a session, or of all sessions."),
)
SESSION: Final = {entry.name: entry for entry in _SESSION}
"""Subcommands of `ctxtui session`."""

_EDITS: Final = (
    CommandEntry("pins", "edit.pins:pins", "Pinned blocks as text; a hook for compactions."),
    CommandEntry("stage", "edit.stage:stage", "Stage pins and drops that the inspector then shows."),
)
EDITS: Final = {entry.name: entry for entry in _EDITS}
"""Subcommands of `ctxtui edits`, which by itself lists a session's edits."""

WHY: Final = CommandEntry("why", "money.why:why", "The bill as a sum: what was carried, rewritten, new; and fixes.")

ENTRIES: Final = {
    entry.name: entry for entries in (*MAIN_COMMANDS.values(), *OTHER_COMMANDS.values()) for entry in entries
}

OLD_NAMES: Final = {
    **{name: ("session", name) for name in SESSION},
    **{name: ("edits", name) for name in EDITS},
    WHY.name: ("cost", "--why"),
}
"""Command names before 1.0, with their present form; they still work."""

PURPOSE: Final = "See what a language model read: a debugger for the context window."

_HEAD: Final = f"""\
Usage: ctxtui [OPTIONS] [PATH | ID | -]
       ctxtui [OPTIONS] COMMAND [ARGS]...

  {PURPOSE}

  Without arguments: your recorded sessions (Claude Code, Codex, ctxtui's own,
  samples). With a recording (a file, a folder, a session's id, or - for standard
  input): its calls, block by block, with tokens, cache state and money.
  Recordings are only read; nothing leaves this machine.
"""

_TAIL: Final = """\
Options:
  --set KEY=VALUE  Override a setting, e.g. --set glyphs=ascii (repeatable).
  -V, --version    Print the version.
  -h, --help       Print this.

Example: ctxtui show ~/.claude/projects/-home-me-app --json | jq .categories
All commands: ctxtui help commands. Each takes --help, most take --json.
Exit codes: ctxtui help exit-codes
"""


def help_text() -> str:
    """The output of `ctxtui --help`."""
    return "\n".join([_HEAD, *_format_sections(MAIN_COMMANDS), _TAIL])


def all_commands() -> str:
    """The output of `ctxtui help commands`."""
    own = {"ctxtui session": _SESSION, "ctxtui edits": _EDITS}
    return "\n".join(_format_sections({**MAIN_COMMANDS, **OTHER_COMMANDS, **own})).rstrip("\n")


def _format_sections(sections: Mapping[str, Sequence[CommandEntry]]) -> list[str]:
    return [
        f"{title}:\n" + "".join(f"  {entry.name:<12} {entry.line}\n" for entry in entries)
        for title, entries in sections.items()
    ]
