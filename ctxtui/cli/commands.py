"""Every command: its group, where its code is, and the line that help shows. Nothing is imported to print help."""

from __future__ import annotations

from typing import Final, NamedTuple


class CommandEntry(NamedTuple):
    """One command. `target` is ``module:attribute``, imported when the command runs."""

    name: str
    target: str
    line: str


FRONT: Final[tuple[tuple[str, tuple[CommandEntry, ...]], ...]] = (
    (
        "Look",
        (
            CommandEntry(
                "open",
                "ctxtui.cli.manage.open:open_",
                "Open a recording on the screen (the default for a path or an id).",
            ),
            CommandEntry("last", "ctxtui.cli.manage.open:last", "Open this directory's newest session and follow it."),
            CommandEntry(
                "show", "ctxtui.cli.inspect.show:show", "Print what one call's context holds: blocks, tokens, residual."
            ),
            CommandEntry(
                "diff",
                "ctxtui.cli.inspect.diff:diff",
                "Compare two calls or two sessions: what entered, left, changed.",
            ),
            CommandEntry(
                "search",
                "ctxtui.cli.inspect.search:search",
                "Find a text or expression in the blocks of every session.",
            ),
            CommandEntry(
                "sessions", "ctxtui.cli.manage.sessions:sessions", "List the sessions that can be opened, newest first."
            ),
        ),
    ),
    (
        "Measure",
        (
            CommandEntry(
                "cost",
                "ctxtui.cli.money.cost:cost",
                "Show what sessions cost: in all, by model, tool, day ...",
            ),
            CommandEntry(
                "cache", "ctxtui.cli.inspect.cache:cache", "Why the cache missed, dearest first; the next call's read."
            ),
            CommandEntry(
                "check",
                "ctxtui.cli.money.check:check_",
                "Hold recordings against limits: context, cache, cost; for tests.",
            ),
        ),
    ),
    (
        "Talk",
        (
            CommandEntry(
                "chat",
                "ctxtui.cli.manage.chat:chat",
                "Talk to a model: the inspector with a prompt and a running agent.",
            ),
            CommandEntry("run", "ctxtui.cli.agent.run:run", "Let an agent do a task without a screen; on record."),
            CommandEntry(
                "exec", "ctxtui.cli.agent.exec:exec_", "Run an agent with ctxtui between it and its provider: recorded."
            ),
        ),
    ),
    (
        "Change",
        (
            CommandEntry(
                "curate", "ctxtui.cli.edit.curate:curate", "Print a request under edits and policies, with its price."
            ),
            CommandEntry(
                "export", "ctxtui.cli.edit.export:export", "Write one context as a request body, or a session as JSONL."
            ),
            CommandEntry(
                "share", "ctxtui.cli.edit.share:share", "Write one call as a page to give away, secrets masked."
            ),
        ),
    ),
    (
        "Set up",
        (
            CommandEntry(
                "doctor",
                "ctxtui.cli.manage.doctor:doctor",
                "Check this machine: terminal, packages, folders, sessions.",
            ),
            CommandEntry(
                "help", "ctxtui.cli.help:help_", "Help on a command, or a topic: exit-codes, settings, policies."
            ),
        ),
    ),
)
"""What `ctxtui --help` shows."""

MORE: Final[tuple[tuple[str, tuple[CommandEntry, ...]], ...]] = (
    (
        "A recording, beside show",
        (
            CommandEntry(
                "growth",
                "ctxtui.cli.inspect.growth:growth",
                "How a context grew, by category and phase; do N more phases fit?",
            ),
            CommandEntry(
                "compactions",
                "ctxtui.cli.inspect.compactions:compactions",
                "What compactions kept and lost, and what came back at what cost.",
            ),
            CommandEntry(
                "audit", "ctxtui.cli.inspect.audit:audit_", "Hold forecasts of every call's input against its report."
            ),
            CommandEntry(
                "findings",
                "ctxtui.cli.money.findings:findings",
                "Problems found, and fixes, ranked by what they save.",
            ),
            CommandEntry(
                "lab", "ctxtui.cli.lab.lab:lab", "Replay sessions under other policies, caches, models; no model call."
            ),
        ),
    ),
    (
        "Before a run",
        (
            CommandEntry(
                "budget", "ctxtui.cli.money.budget:budget", "Lay out a window and a project before a run: what fits."
            ),
            CommandEntry(
                "count", "ctxtui.cli.money.count:count", "Count tokens and price of files before anyone reads them."
            ),
            CommandEntry(
                "preflight", "ctxtui.cli.money.preflight:preflight", "Before a long run: limits ahead, cost, what goes."
            ),
        ),
    ),
    (
        "Money of all sessions",
        (
            CommandEntry(
                "stats",
                "ctxtui.cli.money.stats:stats",
                "Say where tokens and money of all sessions went, and what a change did.",
            ),
            CommandEntry(
                "report",
                "ctxtui.cli.edit.report:report",
                "Say what sessions came to: text, or --html: a page with charts.",
            ),
        ),
    ),
    (
        "Around agents, beside exec",
        (
            CommandEntry(
                "hold", "ctxtui.cli.agent.hold:hold", "Requests that wait under exec: release, apply, refuse."
            ),
            CommandEntry("proxy", "ctxtui.cli.agent.proxy:proxy", "Stand between programs and providers: off ends it."),
            CommandEntry(
                "statusline",
                "ctxtui.cli.agent.statusline_command:statusline",
                "A status line for Claude Code: context, next price, cache; install, remove.",
            ),
            CommandEntry("mcp", "ctxtui.cli.agent.mcp:mcp", "MCP servers: what their tools took, what is configured."),
            CommandEntry(
                "offline",
                "ctxtui.cli.manage.offline:offline",
                "Serve the providers' APIs with no model: a test double.",
            ),
            CommandEntry(
                "agree",
                "ctxtui.cli.agent.agree:agree",
                "Does it still work? Send calls again under policies; compare next steps.",
            ),
        ),
    ),
    (
        "Stored sessions",
        (
            CommandEntry(
                "session",
                "ctxtui.cli.manage.session_group:session",
                "Stored sessions: rename, tag, archive, delete, scrub, notes ...",
            ),
            CommandEntry(
                "import",
                "ctxtui.cli.manage.imports:import_",
                "Copy recordings into ctxtui's own database; twice is once.",
            ),
            CommandEntry(
                "repair", "ctxtui.cli.edit.repair:repair", "Mend a session that its provider refuses, into a new file."
            ),
            CommandEntry(
                "db", "ctxtui.cli.manage.db:db", "Look after the database: info, index, backup, vacuum, prune."
            ),
        ),
    ),
    (
        "Edits",
        (
            CommandEntry(
                "edits", "ctxtui.cli.edit.edits:edits", "Print a session's edits, and what became of them per call."
            ),
        ),
    ),
    (
        "This machine",
        (
            CommandEntry(
                "config", "ctxtui.cli.manage.config:config", "Show every setting and where its value comes from."
            ),
            CommandEntry(
                "completion", "ctxtui.cli.completion:completion", "Print the completion script for your shell."
            ),
        ),
    ),
)
"""What `ctxtui help commands` shows beside them."""

_SESSION: Final[tuple[CommandEntry, ...]] = (
    CommandEntry("rename", "ctxtui.cli.manage.sessions_edit:rename", "Give a stored session another title."),
    CommandEntry("tag", "ctxtui.cli.manage.sessions_edit:tag", "Add or remove tags of a stored session."),
    CommandEntry(
        "archive", "ctxtui.cli.manage.sessions_edit:archive", "Hide a stored session from the lists, or show it."
    ),
    CommandEntry("delete", "ctxtui.cli.manage.sessions_edit:delete", "Delete a stored session and what only it used."),
    CommandEntry(
        "subscription",
        "ctxtui.cli.manage.sessions_edit:subscription",
        "Mark a session as paid by a subscription: tokens lead.",
    ),
    CommandEntry("scrub", "ctxtui.cli.edit.scrub:scrub", "Write a masked copy of a session into the database."),
    CommandEntry(
        "notes", "ctxtui.cli.inspect.notes:notes", "Print notes and bookmarks of a session, or of all sessions."
    ),
)
SESSION: Final = {entry.name: entry for entry in _SESSION}
"""Of `ctxtui session`."""

_EDITS: Final[tuple[CommandEntry, ...]] = (
    CommandEntry("pins", "ctxtui.cli.edit.pins:pins", "Pinned blocks as text; a hook for compactions."),
    CommandEntry("stage", "ctxtui.cli.edit.stage:stage", "Stage pins and drops that the inspector then shows."),
)
EDITS: Final = {entry.name: entry for entry in _EDITS}
"""Of `ctxtui edits`, whose own is the list of a session's edits."""

WHY: Final = CommandEntry(
    "why", "ctxtui.cli.money.why:why", "The bill as a sum: what was carried, rewritten, new; and cures."
)


ENTRIES: Final = {entry.name: entry for _, entries in (*FRONT, *MORE) for entry in entries}

OLDER: Final = {
    **{name: ("session", name) for name in SESSION},
    **{name: ("edits", name) for name in EDITS},
    WHY.name: ("cost", "--why"),
}
"""How commands were called before 1.0, each with its words now; these spellings go on."""

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
    """What `ctxtui --help` prints."""
    return "\n".join([_HEAD, *_listed(FRONT), _TAIL])


def all_commands() -> str:
    """What `ctxtui help commands` prints."""
    own = (("ctxtui session", _SESSION), ("ctxtui edits", _EDITS))
    return "\n".join([*_listed(FRONT), *_listed(MORE), *_listed(own)]).rstrip("\n")


def _listed(sections: tuple[tuple[str, tuple[CommandEntry, ...]], ...]) -> list[str]:
    return [
        f"{title}:\n" + "".join(f"  {entry.name:<12} {entry.line}\n" for entry in entries)
        for title, entries in sections
    ]
