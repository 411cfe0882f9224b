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


PROGRAM = """import numpy as np

# trial_0_9: the parent of this one
def construct_packing():
    \"\"\"
    Approach: a grid, then a ring.
    \"\"\"
    score: float = 0.0
    return np.zeros((26, 2)), score


if __name__ == "__main__":
    print(construct_packing())"""
"""A program with lines that look like a trial's own."""
SPELLINGS = ("printed", "spaced", "referenced", "headings", "bold", "numbered")
REASONING = "The rows are staggered so that each circle touches two of the next row. " * 4
OVERLAP = "Circles 7 and 19 overlap by 3.1e-07. " * 4


def listed(spelling: str, trials: int = 15, generation: int = 0, program: str = PROGRAM) -> str:
    """Feedback on a generation as a search's own document prints it, and as others would spell the same; trial 2 is
    invalid, trial 13 the best."""
    head = f"Generation {generation} complete. {trials} children spawned.\n\nResults:\n"
    gap = "\n" if spelling in ("spaced", "bold", "numbered") else ""
    return head + gap.join(_listed(spelling, generation, n, program) for n in range(trials))


def _listed(spelling: str, generation: int, number: int, program: str) -> str:
    score = 0.0 if number == 2 else 2.4 + number / 1000
    metrics = {"valid": number != 2, "sum_radii": score, "eval_time": 41.5, "error": OVERLAP if number == 2 else None}
    id_ = f"{generation}_{number}"
    match spelling:
        case "printed" | "spaced":
            code = f"  - trial_{id_}:\n    Code: {program}\n"
            return f"{code}    Metrics: {metrics}\n    Reasoning: {REASONING.strip()}\n"
        case "referenced":
            return f"  - trial_{id_}:\n    Code: Use {{{{CODE_TRIAL_{id_}}}}} to reference\n    Metrics: {metrics}\n"
        case "headings":
            code = f"### Trial {id_}, parent none\n```python\n{program}\n```\n"
            return f"{code}metrics: {json.dumps(metrics)}\nreasoning: {REASONING.strip()}\n\n"
        case "bold":
            told = f"**Metrics:** sum_radii={score}, valid={metrics['valid']}\n"
            error = f"**Error:** {OVERLAP.strip()}\n" if number == 2 else ""
            code = f"- **Trial {id_}**\n**Code:**\n```python\n{program}\n```\n"
            return f"{code}{told}{error}**Reasoning:** {REASONING.strip()}\n"
        case _:
            said = f"   Status: {'failed' if number == 2 else 'ok'}\n   Score: {score}\n"
            error = f"   Error: {OVERLAP.strip()}\n" if number == 2 else ""
            return (
                f"{number + 1}. trial #{id_}\n   Program: {program}\n{said}{error}   Reasoning: {REASONING.strip()}\n"
            )


def asked_to_select(trials: int = 15, generation: int = 0) -> str:
    """The question behind a generation: each trial in a line, then the form of the answer."""
    lines = "".join(
        f"  - trial_{generation}_{n}: sum_radii={2.4 + n / 1000:.4f}, valid={n != 2}\n    Reasoning: Staggered rows.\n"
        for n in range(trials)
    )
    head = f"Generation {generation} complete. {trials} children spawned. Select trials to carry forward.\n\n"
    return (
        f"{head}Trials:\n{lines}\n"
        'Select 2-5 trials. Respond with:\n```selection\n{"selections": [{"trial_id": "..."}], "summary": "..."}\n```'
    )


def selected(ids: list[str]) -> str:
    """The answer to it."""
    chosen = [{"trial_id": one, "reasoning": "It is good.", "category": "diversity"} for one in ids]
    return f"I take these.\n\n```selection\n{json.dumps({'selections': chosen, 'summary': 'Rows.'}, indent=2)}\n```"


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
