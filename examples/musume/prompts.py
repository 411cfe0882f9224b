"""What stays the same in every turn: the system prompt, the nine tools; and the memory that the agent begins with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

SYSTEM = (Path(__file__).parent / "system.md").read_text(encoding="utf-8")


def _tool(name: str, about: str, /, **fields: str) -> dict[str, Any]:
    properties = {field: {"type": "string", "description": told} for field, told in fields.items()}
    schema = {"type": "object", "properties": properties, "required": list(fields), "additionalProperties": False}
    return {"name": name, "description": about, "input_schema": schema}


_PATH = "Name of the file in the memory folder, such as todo.md; no folders."
_CONTENT = "The whole new content of the file. It replaces what was there; nothing is added to it."
TOOLS = [
    _tool(
        "pressButton",
        "Presses a button on the screen. The handler finds its place by the name, in the list as it was recognised in "
        "this turn; a name that is not in the list presses nothing, and the result says so.",
        name="The name of the button, word for word as the list has it.",
    ),
    _tool("advanceDialogue", "Goes on in a dialogue that offers no choice, by a touch in the middle of the screen."),
    _tool("back", "Presses the system's back button: leaves a screen, closes a window, cancels a choice."),
    _tool("confirm", "Accepts what the game asks in a window, with the button that it marks as usual."),
    _tool("scrollUp", "Moves the visible list up by one page. Does nothing where the scrollbar says that it cannot."),
    _tool(
        "scrollDown", "Moves the visible list down by one page. Does nothing where the scrollbar says that it cannot."
    ),
    _tool(
        "createMemoryFile",
        "Makes a new memory file. It is shown at the end of every later turn. Fails if there is a file of that name, "
        "or if all files together would be over their budget.",
        path=_PATH,
        content=_CONTENT,
    ),
    _tool(
        "writeMemoryFile",
        "Replaces the content of a memory file. Fails if there is none of that name, or if all files together would be "
        "over their budget; the result then says by how much, and what is largest.",
        path=_PATH,
        content=_CONTENT,
    ),
    _tool("deleteMemoryFile", "Deletes a memory file. It is no longer shown, and its tokens are free.", path=_PATH),
]
SUMMARIZE = _tool(
    "summarizeContext",
    "Sums up the whole conversation so far; your answer takes its place. Memory files stay as they are.",
    progress="What happened in the game so far, and what you discovered.",
    objectives="What you are about to do, and the state of the career.",
    patterns="What you learnt of the interface.",
)
_KINDS = ("speed", "stamina", "power", "guts", "wit")
_RACES = ("Debut Race", "Spring Stakes", "Derby", "Autumn Cup", "Year-end Grand Prix")
_LEARNT = (
    "The support cards stand in the order of the friends at the facilities; train where the mark is.",
    "A button with hint=NEW stays NEW until it was opened once; nothing in it need be urgent.",
    "Race and Home menu buttons do the same as the tabs of that name, but keep the place in the list.",
    "After a race the screen shows Results, then Watch, then nothing for a second: confirm goes on.",
    "The list of skills is longer than the screen: scroll down twice before saying that a skill is not there.",
    "Infirmary is in the list although it is greyed out; pressing it while nothing is wrong loses the turn.",
    "Dialogues with two answers: the first gives energy, the second mood. It was so in every career up to now.",
    "Quick skips the animation of a training; it is remembered from turn to turn and needs no second press.",
    "Details of a facility tell the chance of a failure; above thirty per cent it failed twice out of three times.",
)


def _friend(n: int) -> str:
    kind = _KINDS[n % 5]
    return f"  - name: Friend {n}\n    bond: {7 * n % 100}\n    favourite: {kind}\n    card: {kind} level {20 + n}\n"


def _past(turn: int) -> str:
    kind, gain = _KINDS[turn * 3 % 5], 8 + turn % 9
    return f"  - turn: {turn}\n    did: {kind} training\n    gained: {gain}\n    energy: {90 - turn * 7 % 60}\n"


def _event(n: int) -> str:
    friend, race = f"Friend {1 + n % 12}", _RACES[n % 5]
    return f"- {friend} before the {race}: answer {1 + n % 2} gave {5 + n % 20} {_KINDS[n % 5]} and {n % 3} mood.\n"


MEMORY = {
    "player.yaml": "trainer: Ada\ntrainee: Silver Comet\nlevel: 14\nfriends:\n" + "".join(map(_friend, range(1, 13))),
    "run.yaml": "year: 1\nmonth: 3\nenergy: 72\nmood: good\ngoals:\n"
    + "".join(f"  - race: {race}\n    turn: {12 + 9 * n}\n    place: {1 + n % 3}\n" for n, race in enumerate(_RACES))
    + "log:\n"
    + "".join(map(_past, range(1, 41))),
    "ui_knowledge.md": "# What I know of the interface\n\n"
    + "".join(f"- {line}\n" for line in _LEARNT)
    + "\n# Events, and what they gave\n\n"
    + "".join(map(_event, range(1, 61))),
    "todo.md": "# Next\n\n- Look through the menu once, so that NEW is gone.\n- Train speed until the Debut Race.\n",
}
"""What the agent has written down in earlier careers."""
