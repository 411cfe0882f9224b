"""What the vision agent reads and says: the screen as JSON, memory files, tools, thoughts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Final

from sessions.dice import Dice, exactly
from sessions.recording import Json

SYSTEM: Final = """\
You play a training simulation on a phone, one turn at a time. A turn begins with what is on the screen: a list of
buttons that the vision service recognised, the scrollbar, the state of the menu, and one or two screenshots. Answer
with exactly one input tool; before or after it you may write to your memory files. You are in the middle of a career
of three years; every decision about training, rest, races and skills is yours.

# Inputs
Press a button by the name under which it is listed. Never invent a name: if the button you want is not listed, scroll
or go back. Dialogues are advanced with advanceDialogue; a choice is made with pressButton.

# Memory
The files player.yaml, run.yaml, ui_knowledge.md and todo.md are shown at the end of every turn. They are all you
keep once a turn has left the conversation, so write down what later turns will need.

# Advice
"""
_FACILITIES = ("speed", "stamina", "power", "guts", "wisdom")
_FRIENDS = ("Silver Comet", "Maple Gale", "Quiet Harbour", "Northern Lantern", "Early Thunder", "Copper Meadow")
_SCREENS = ("training facilities", "race calendar", "skill list", "event dialogue", "career menu", "rest and outing")
_ACTIONS = (
    ("{f} training", "the {f} training facility at level {n}, joined by {a} and {b}, with a friendship bonus for both"),
    ("infirmary", "treats a bad condition such as night owl or slacker; greyed out while the trainee is healthy"),
    ("outing with {a}", "goes out with {a}, which restores energy and mood and may trigger the next part of the story"),
    ("rest for this turn", "restores between thirty and seventy points of energy and passes the turn without training"),
    ("enter the {n}th race", "a graded race over the middle distance in which {a} and {b} are registered as rivals"),
    ("learn skill of {a}", "a skill that {a} hinted at, cheaper by {n} tenths, useful on the last straight of a race"),
    ("open details of {a}", "shows the support card of {a} with its bonuses, its events and the skills it can hint at"),
)
_ADVICE = (
    "Train where two or more friends have gathered, because their bonuses multiply with every further visit.",
    "Rest before the energy falls below the point at which a failure becomes more likely than a success.",
    "Look at the race calendar before the last turn of every month, since goals cannot be made up for later.",
    "Skills are cheaper after a second hint, therefore wait with everything that is not needed for the next goal.",
    "The wisdom facility costs almost no energy and is the right choice when nothing else looks promising.",
    "A greyed out button cannot be pressed, and pressing it anyway loses the turn without any further message.",
    "When a dialogue offers two answers, the first one usually restores energy and the second one raises the mood.",
    "Note the outcome of every event in the memory files, because the same event returns in the next career.",
    "Summer camp doubles the effect of all facilities, so the energy should be full when it begins in July.",
    "The scrollbar only appears if the list is longer than the screen, otherwise there is nothing below the fold.",
)


def advice(dice: Dice) -> Iterator[str]:
    """Sentences of experience without end."""
    while True:
        yield dice.pick(_ADVICE) + ("\n" if dice.below(3) == 0 else " ")


def tools(size: int) -> list[Json]:
    """Nine tools whose minified JSON is exactly `size` characters."""
    dice = Dice("musume tools")
    plain = {"type": "object", "properties": {}, "additionalProperties": False}
    button = {"type": "string", "description": "Name of the button, as listed."}
    named = {"type": "object", "properties": {"name": button}, "required": ["name"]}
    path = {"type": "string", "description": "File name inside the memory folder, such as todo.md."}
    content = {"type": "string", "description": "The whole new content of the file; it replaces what was there."}
    write = {"type": "object", "properties": {"path": path, "content": content}, "required": ["path", "content"]}
    delete = {"type": "object", "properties": {"path": path}, "required": ["path"]}
    schemas = {
        "pressButton": named, "advanceDialogue": plain, "back": plain, "confirm": plain, "scrollUp": plain,
        "scrollDown": plain, "createMemoryFile": write, "writeMemoryFile": write, "deleteMemoryFile": delete,
    }  # fmt: skip
    made = [{"name": n, "description": "", "input_schema": schema} for n, schema in schemas.items()]
    left = size - sum(len(json.dumps(tool, separators=(",", ":"))) for tool in made)
    for i, tool in enumerate(made):
        share = left // (len(made) - i)
        tool["description"] = exactly(f"{tool['name']}: ", share, advice(dice)).replace("\n", " ")
        left -= share
    return made


def _button(dice: Dice, row: int) -> Json:
    words = {"f": dice.pick(_FACILITIES), "n": dice.between(2, 5), "a": dice.pick(_FRIENDS), "b": dice.pick(_FRIENDS)}
    name, label = (text.format(**words) for text in dice.pick(_ACTIONS))
    top = 180 + 52 * row
    return {
        "name": f"{name}, row {row + 1} of the {dice.pick(_SCREENS)}, failure chance {dice.between(0, 40)} percent",
        "full_label": f"{label}. Recognised text: {dice.pick(_ADVICE)} {dice.pick(_ADVICE)}",
        "bounds": {"left": 40 * dice.between(0, 3), "top": top, "right": 40 * dice.between(9, 18), "bottom": top + 48},
        "metadata": {
            "hint": dice.pick(("NEW", "NONE", "RECOMMENDED")),
            "state": dice.pick(("available", "available", "greyed out")),
            "recognition": {"confidence": "high", "source": "text recognition and template matching"},
        },
        "region": f"{dice.pick(('upper', 'middle', 'lower'))} panel of the {dice.pick(_SCREENS)}",
    }


def vision(turn: int, buttons: int, size: int, dice: Dice) -> tuple[str, list[str]]:
    """The recognised screen as JSON of exactly `size` characters, and the names of its buttons."""
    screen: Json = {
        "screen": dice.pick(_SCREENS),
        "buttons": [_button(dice, row) for row in range(buttons)],
        "scrollbar": {
            "visible": True,
            "position": dice.between(0, 100),
            "can_scroll_up": bool(turn % 2),
            "can_scroll_down": True,
            "description": "vertical scrollbar at the right edge of the list, drawn as a thin grey line; more below",
        },
        "menu": {
            "tab": dice.pick(_SCREENS),
            "available": list(_SCREENS),
            "energy": dice.between(20, 100),
            "mood": "good",
            "turns_left_until_goal": dice.between(1, 11),
            "notes": "",
        },
    }
    while (left := size - len(json.dumps(screen, separators=(",", ":")))) < 0:
        screen["buttons"].pop()
    screen["menu"]["notes"] = exactly("", left, advice(dice)).replace("\n", " ")
    return json.dumps(screen, separators=(",", ":")), [button["name"] for button in screen["buttons"]]


def memory_file(name: str, version: int, size: int) -> str:
    """What the agent keeps in one of its files, exactly `size` characters."""
    dice = Dice(f"{name} {version}")
    if name.endswith(".md"):
        lines = (f"- {dice.pick(_ADVICE)}\n" for _ in range(10_000))
        return exactly(f"# {name}, revision {version}\n\n", size, lines)
    fields = (f"{dice.pick(_FRIENDS).split()[1].lower()}_{i}: {dice.pick(_ADVICE)}\n" for i in range(10_000))
    return exactly("trainee: Silver Comet\nyear: 1\n", size, fields)


def shown(name: str, content: str) -> str:
    """The file as it stands at the end of a turn."""
    return f"<{name}>\n{content}\n</{name}>"


def thinking(target: str, size: int, dice: Dice) -> str:
    """What it weighs before it presses `target`, exactly `size` characters."""
    return exactly(f"I am looking at the list. {target} is there. ", size, advice(dice))


def screens() -> Sequence[Sequence[tuple[int, int, int, int]]]:
    """Boxes of the two screens that the screenshots show."""
    return (((40, 200, 740, 1100),), ((40, 160, 740, 920), (80, 960, 700, 1320)))
