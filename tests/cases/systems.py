"""Look-alikes of what four agents send, made here from nothing: a vision agent's screen, an evolutionary search's
feedback, a bridge's tool schemas, a small-window coder's prompt; and what Claude Code adds to a message."""

from __future__ import annotations

import json
from typing import Any


def screen(buttons: int, wide: int = 20) -> str:
    """A vision agent's screen as JSON with so many buttons."""
    listed = [
        {
            "name": f"button {n}",
            "full_label": "x " * wide,
            "bounds": {"left": n, "top": 2 * n},
            "metadata": {"hint": "NEW"},
        }
        for n in range(buttons)
    ]
    scrollbar = {"up": False, "down": True}
    return json.dumps({"screen": "career", "buttons": listed, "scrollbar": scrollbar, "menu": {"tab": "races"}})


def memory_text(name: str = "player.yaml", lines: int = 12) -> str:
    """A memory file at the end of a vision agent's context."""
    return f"<{name}>\n" + "\n".join(f"fact_{n}: rest before a race" for n in range(lines)) + f"\n</{name}>"


def feedback(trials: int, generation: int = 0, code_lines: int = 8) -> str:
    """The message that opens a generation: every trial's program, metrics and reasoning."""
    head = f"Generation {generation} is complete, {trials} trials.\n\n"
    return head + "".join(_trial(f"{generation}_{n}", code_lines) for n in range(trials))


def _trial(name: str, lines: int) -> str:
    code = "\n".join(f"radius_{n} = {n} / 26" for n in range(lines))
    metrics = json.dumps({"score": 2.31, "valid": True})
    return f"### Trial {name}\n```python\n{code}\n```\nmetrics: {metrics}\nreasoning: It moved the corner first.\n\n"


def schema(name: str, properties: int = 3) -> dict[str, Any]:
    """A tool as a bridge to MCP servers passes it on, with a description for each property."""
    held = {f"field_{n}": {"type": "string", "description": f"What field {n} is for."} for n in range(properties)}
    parameters = {"type": "object", "properties": held, "required": list(held)[:1]}
    return {"type": "function", "function": {"name": name, "description": f"{name} it.", "parameters": parameters}}


def prompt(task_files: int = 2, dependencies: int = 1, summaries: int = 2) -> list[str]:
    """A small-window coder's first message, file by file."""
    kinds = ["task file"] * task_files + ["dependency"] * dependencies + ["summary"] * summaries
    return [
        f"=== internal/p{n}/p{n}.go ({kind}) ===\npackage p{n}\n\nfunc F{n}() {{}}\n" for n, kind in enumerate(kinds)
    ]


def facts(steps: int = 3) -> str:
    """Rounds of a small-window coder that gave way to one line each."""
    return "Facts from earlier steps:\n" + "\n".join(f"step {n + 1}: modified p{n}.go" for n in range(steps))


def reminder(files: int = 2, lines: int = 6) -> str:
    """What Claude Code puts before a first message: memory files inside a reminder, and words of its own."""
    contents = "".join(
        f"Contents of /home/me/p{n}/CLAUDE.md (project instructions, checked into the codebase):\n\n"
        + "\n".join(f"- rule {n}.{line}: keep it short" for line in range(lines))
        + "\n\n"
        for n in range(files)
    )
    head = "As you answer the user's questions, you can use the following context:\n# claudeMd\n"
    tail = "# currentDate\nToday's date is 2026-01-02.\n\n      IMPORTANT: this context may or may not be relevant.\n"
    return f"<system-reminder>\n{head}{contents}{tail}</system-reminder>\n"
