"""Look-alikes of what four agents send, made here from nothing: a vision agent's screen, an evolutionary search's
feedback, a bridge's tool schemas, a small-window coder's prompt; and what Claude Code adds to a message."""

from __future__ import annotations

import json
from typing import Any

SCREENS = ("printed", "minified", "turned", "nested", "camel", "elements", "small", "lines", "numbered")
"""How a screen may be spelled: as the document prints it, and otherwise."""


def screen(buttons: int, spelling: str = "minified") -> str:
    """A vision agent's screen with so many buttons: in the fields that its document prints, or in others."""
    seen: dict[str, Any] = {
        "buttons": [_button(n) for n in range(buttons)],
        "scrollbar": {
            "track_bounds": [1890, 300, 12, 640],
            "thumb_bounds": [1890, 300, 12, 198],
            "can_scroll_up": False,
            "can_scroll_down": True,
            "thumb_ratio": 0.31,
        },
        "menu_state": {
            "is_usable": True,
            "selected_tab": "Menu",
            "tabs": [
                {"name": one, "is_selected": one == "Menu", "availability": "available"} for one in ("Jukebox", "Menu")
            ],
            "available_tabs": ["Jukebox", "Menu"],
        },
    }
    names = ", ".join(one["name"] for one in seen["buttons"])
    match spelling:
        case "printed":
            return json.dumps(seen, indent=2)
        case "turned":
            listed = [dict(reversed(one.items())) for one in seen["buttons"]]
            told = {**dict(reversed(seen.items())), "buttons": listed}
            return f"```json\n{json.dumps(told, indent=1)}\n```\nGo on."
        case "nested":
            return json.dumps({"turn_id": "turn_000005", "vision": seen})
        case "camel":
            return json.dumps(_camel(seen))
        case "elements":
            listed = [{"bbox": one["bounds"], "text": one["name"], "type": "button"} for one in seen["buttons"]]
            bar = {"up": False, "down": True}
            return f"What is seen:\n{json.dumps({'elements': listed, 'scroll': bar, 'menu': {'tab': 'Menu'}})}"
        case "small":
            small = [{"name": one["name"], "meta": "hint=NEW"} for one in seen["buttons"]]
            return json.dumps({"buttons": small, "scrollbar": {"up": False, "down": True}, "menu": {"tab": "Menu"}})
        case "lines" | "numbered":
            marks = ["-"] * buttons if spelling == "lines" else [f"{n}." for n in range(1, buttons + 1)]
            rows = "".join(f"{mark} {name}\n" for mark, name in zip(marks, names.split(", "), strict=True))
            below = "Scrollbar: up=false, down=true\nMenu: tab=Menu, available=[Jukebox, Menu]"
            return f"It is turn 5.\n\n## Buttons ({buttons}):\n{rows}{below}\n\nWhat do you press?"
    return json.dumps(seen)


def _button(n: int) -> dict[str, Any]:
    metadata = {"hint": "NEW", "section": "Umamusume"} if n % 2 == 0 else {}
    label = " | ".join([f"button {n}", *(f"{key}={value}" for key, value in metadata.items())])
    bounds = [907, 418 + 61 * n, 193, 49]
    return {"name": f"button {n}", "full_label": label, "bounds": bounds, "metadata": metadata, "region": "menus"}


def _camel(value: Any) -> Any:
    """`value` with its members named as JavaScript names them."""
    if isinstance(value, list):
        return [_camel(one) for one in value]
    if not isinstance(value, dict):
        return value
    heads, tails = zip(*(key.partition("_")[::2] for key in value), strict=True) if value else ((), ())
    named = [head + tail.title().replace("_", "") for head, tail in zip(heads, tails, strict=True)]
    return {name: _camel(one) for name, one in zip(named, value.values(), strict=True)}


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


PROMPTS = ("headings", "rules", "markdown", "comments", "tags")
"""How a file in a prompt may be headed."""


def prompt(task_files: int = 2, dependencies: int = 1, summaries: int = 2, spelling: str = "headings") -> list[str]:
    """A small-window coder's first message, file by file."""
    kinds = ["task file"] * task_files + ["dependency"] * dependencies + ["summary"] * summaries
    return [_file(spelling, f"internal/p{n}/p{n}.go", n, kind) for n, kind in enumerate(kinds)]


def _file(spelling: str, path: str, n: int, kind: str) -> str:
    text = f"package p{n}\n\n// F{n} does it (dependency).\nfunc F{n}() {{}}\n"
    match spelling:
        case "rules":
            return f"--- {path} ({kind}) ---\n{text}"
        case "markdown":
            named = {"task file": "mentioned", "dependency": "related", "summary": "signatures"}[kind]
            return f"### `{path}` ({named})\n\n```go\n{text}```\n\n"
        case "comments":
            return f"// {path} [{kind}]\n{text}\n"
        case "tags":
            return f'<file path="{path}" why="{kind}">\n{text}</file>\n'
    return f"=== {path} ({kind}) ===\n{text}"


def facts(steps: int = 3) -> str:
    """Rounds of a small-window coder that gave way to one line each."""
    return "Facts from earlier steps:\n" + "\n".join(f"step {n + 1}: modified p{n}.go" for n in range(steps))


WORK = """Steps 1-5:
  - Modified: pkg/api/handler.go, pkg/db/queries.go
  - Tests: 12 passed, 0 failed
  - Committed: "Add rate limiting middleware"

Steps 6-8:
  - Modified: pkg/api/middleware.go
  - Tests: 1 failed (TestRateLimit)
  - Error: Redis connection timeout
  - Fixed: Added connection retry logic
"""
"""Old rounds as the document prints them."""
HISTORIES = {
    "printed": f"=== Previous Work Summary ===\n{WORK}\n=== Recent Context ===\n",
    "in the prompt": f"Go on.\n\n=== Previous Work Summary ===\n{WORK}\n=== Recent Context ===\nStep 9: run_tests",
    "markdown": f"## Previous Work Summary\n\n{WORK}\n## Recent Context\n\nStep 9: run_tests",
    "tags": f"<previous_work>\n{WORK}</previous_work>\nGo on.",
    "lines": facts(),
}
"""How old rounds may be told."""


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
