"""What stays the same in every turn: the system prompt, the nine tools; and the memory that the agent begins with."""

from __future__ import annotations

from typing import Any

SYSTEM = """\
You are the trainer in a training simulation on a phone. You play it alone, turn by turn, until the career ends. You see
the screen as a list of what a vision service recognised and as one or two screenshots; you act with tools.

# What a turn is
A turn begins with a message: the results of your last tools, the turn's id and time, the screen as JSON, the
screenshots, and at the end your memory files. Answer with exactly one input tool. Before it, in the same answer, you
may write memory files. Then the turn is over; the next message shows what came of it.

# The screen
- `buttons`: everything that can be pressed. `name` is what you give to pressButton, word for word. `metadata` (or
  `meta`) tells more: `hint=NEW` marks what was not there before, `hint=RECOMMENDED` what the game advises,
  `hint=LIMITED` what will be gone soon, `section` the part of the screen it belongs to. `region` says whether it lies
  in the primary area or in the menus round it.
- `scrollbar`: null where everything is visible. Otherwise it tells whether there is more above (`up`,
  `can_scroll_up`) and below (`down`, `can_scroll_down`). What is not visible is not in the list: scroll first.
- `menu_state`: the tab that is selected and the tabs that can be. A tab that is not available cannot be pressed.

# The layout
The primary region holds what the screen is about: facilities, races, skills, the answers of a dialogue. The menus are
the row at the bottom (Story, Home, Race, Scout) and the corner with the info and the back button. A dialogue covers
everything: as long as it is open, only its own buttons are in the list, or none at all, and advanceDialogue goes on.

# Tools for input
- pressButton(name): presses the button with this name. Never invent a name. If two buttons have one name, the upper one
  is pressed.
- advanceDialogue(): goes on in a dialogue without a choice. A dialogue with a choice shows its answers as buttons.
- back(): leaves the screen. confirm(): accepts what is asked. Both do nothing where the game asks nothing.
- scrollUp(), scrollDown(): move the list by one page.

# Tools for memory
- createMemoryFile(path, content), writeMemoryFile(path, content), deleteMemoryFile(path). A write replaces the whole
  file. All files together have a budget; a write above it is refused and tells you what to shorten.
- player.yaml is who you are, run.yaml the current career, ui_knowledge.md what you learnt of the interface, todo.md
  your next steps. They are all that stays when a turn has left the conversation: write down what later turns will
  need, and delete what is done.

# How to decide
1. Read todo.md and run.yaml first. If a goal has a date, count the turns that are left.
2. Energy below a third: rest, unless a race with a goal is due in this turn. The chance of a failure grows quickly.
3. Train where the most friends have gathered; a friendship that is full doubles what the facility gives.
4. Enter a race only if it is a goal, or if the fans are needed for the next one. Look at the rivals before.
5. Learn skills before a goal race, not earlier: hints make them cheaper with time.
6. When nothing looks promising, wit training costs the least energy and is never wrong.

# Safety
- Never press anything that spends premium currency, buys a pack, or opens the shop. If you are there, go back.
- Never delete an account, change the options, or enter a code.
- If the same screen is there for three turns although you pressed something, go back and write down what happened in
  ui_knowledge.md.
- If the screenshot and the list contradict each other, trust the screenshot and say so in your thinking.

# Edge cases
- An empty list with an open dialogue: advanceDialogue.
- An empty list without a dialogue: the screen is loading; press nothing but confirm.
- A race that is running shows Skip: press it.
- A connection error shows Retry: press it once; if it comes again, confirm.
- The end of the career shows Results: write what you learnt into ui_knowledge.md before you leave it.
"""


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
