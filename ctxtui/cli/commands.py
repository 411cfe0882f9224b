"""The table of all commands. Printing help imports nothing else."""

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
        CommandEntry("cache", "inspect.cache:cache", "Show why the cache missed, and what the next call reads."),
        CommandEntry("check", "money.check:check_", "Check recordings against limits on context, cache and cost."),
    ),
    "Talk": (
        CommandEntry("chat", "manage.chat:chat", "Talk to a model: the inspector with a prompt and a running agent."),
        CommandEntry("run", "agent.run:run", "Let an agent do a task without a screen, recorded."),
        CommandEntry("exec", "agent.exec:exec_", "Run an agent through a relay that records its requests."),
    ),
    "Change": (
        CommandEntry("curate", "edit.curate:curate", "Print a request with edits and policies applied, and its price."),
        CommandEntry("export", "edit.export:export", "Write one context as a request body, or a session as JSONL."),
        CommandEntry("share", "edit.share:share", "Write one call as an HTML page to share, secrets masked."),
    ),
    "Set up": (
        CommandEntry("doctor", "manage.doctor:doctor", "Check this machine: terminal, packages, folders, sessions."),
        CommandEntry("help", "help:help_", "Print help on a command or topic: exit-codes, settings ..."),
    ),
}
"""Further ones are in `ctxtui help commands`."""

OTHER_COMMANDS: Final = {
    "Inspect a recording": (
        CommandEntry("growth", "inspect.growth:growth", "Show how a context grew, and whether N more turns fit."),
        CommandEntry(
            "compactions",
            "inspect.compactions:compactions",
            "Show what compactions kept and lost, and the cost of what came back.",
        ),
        CommandEntry("audit", "inspect.audit:audit_", "Compare forecasts of every call's input with its report."),
        CommandEntry("findings", "money.findings:findings", "List problems and fixes, ranked by risk and savings."),
        CommandEntry("lab", "lab.lab:lab", "Simulate sessions with other policies, caches and models."),
    ),
    "Before a run": (
        CommandEntry("budget", "money.budget:budget", "Plan a model's window for a project before a run."),
        CommandEntry("count", "money.count:count", "Count the tokens of files, and what reading them would cost."),
        CommandEntry("preflight", "money.preflight:preflight", "Forecast limits and cost of the next turns."),
    ),
    "Cost of all sessions": (
        CommandEntry("stats", "money.stats:stats", "Show where tokens and money of all sessions went."),
        CommandEntry("report", "edit.report:report", "Report on sessions, as text or as a page with charts."),
    ),
    "Around agents": (
        CommandEntry("hold", "agent.hold:hold", "List held requests; release, edit or refuse them."),
        CommandEntry("proxy", "agent.proxy:proxy", "Run a recording relay for several programs; `off` stops it."),
        CommandEntry(
            "statusline",
            "agent.statusline_command:statusline",
            "Print, install or remove a status line for Claude Code.",
        ),
        CommandEntry("mcp", "agent.mcp:mcp", "Show the tokens and cost of MCP servers' tools; allow servers."),
        CommandEntry("offline", "manage.offline:offline", "Serve the providers' APIs without a model, for tests."),
        CommandEntry("agree", "agent.agree:agree", "Send recorded calls again under policies, and compare next steps."),
    ),
    "Stored sessions": (
        CommandEntry(
            "session", "manage.sessions_edit:session", "Rename, tag, archive, delete or mask stored sessions ..."
        ),
        CommandEntry("import", "manage.imports:import_", "Copy recordings into ctxtui's own database."),
        CommandEntry("repair", "edit.repair:repair", "Fix a session that its provider refuses, in a new file."),
        CommandEntry("db", "manage.db:db", "Maintain the database: info, index, backup, vacuum, prune."),
    ),
    "Edits": (CommandEntry("edits", "edit.edits:edits", "Print a session's edits, and their outcome in calls."),),
    "This machine": (
        CommandEntry("config", "manage.config:config", "Show every setting and where its value comes from."),
        CommandEntry("report-bug", "manage.report_bug:report_bug", "Write a file for a bug report, without content."),
        CommandEntry("completion", "help:completion", "Print the completion script for your shell."),
    ),
}

_SESSION: Final = (
    CommandEntry("rename", "manage.sessions_edit:rename", "Give a stored session another title."),
    CommandEntry("tag", "manage.sessions_edit:tag", "Add or remove tags of a stored session."),
    CommandEntry("archive", "manage.sessions_edit:archive", "Hide a stored session from the lists, or show it."),
    CommandEntry("delete", "manage.sessions_edit:delete", "Delete a stored session and the data that only it uses."),
    CommandEntry(
        "subscription",
        "manage.sessions_edit:subscription",
        "Mark a session as paid by a subscription: tokens come first.",
    ),
    CommandEntry("scrub", "edit.scrub:scrub", "Write a masked copy of a session into the database."),
    CommandEntry("notes", "inspect.notes:notes", "Print notes and bookmarks of a session, or of all sessions."),
)
SESSION: Final = {entry.name: entry for entry in _SESSION}
"""Subcommands of `ctxtui session`."""

_EDITS: Final = (
    CommandEntry("pins", "edit.pins:pins", "Print pinned blocks, or restore them after compactions."),
    CommandEntry("stage", "edit.stage:stage", "Stage edits, which the inspector shows for review."),
)
EDITS: Final = {entry.name: entry for entry in _EDITS}
"""Subcommands of `ctxtui edits`, which by itself lists a session's edits."""

WHY: Final = CommandEntry("why", "money.why:why", "Explain a session's cost, and what would have been cheaper.")

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
    return "\n".join([_HEAD, *_format_sections(MAIN_COMMANDS), _TAIL])


def all_commands() -> str:
    own = {"ctxtui session": _SESSION, "ctxtui edits": _EDITS}
    return "\n".join(_format_sections({**MAIN_COMMANDS, **OTHER_COMMANDS, **own})).rstrip("\n")


def _format_sections(sections: Mapping[str, Sequence[CommandEntry]]) -> list[str]:
    return [
        f"{title}:\n" + "".join(f"  {entry.name:<12} {entry.line}\n" for entry in entries)
        for title, entries in sections.items()
    ]
