"""What the vision agent reads and says besides the screen: system prompt, tools, memory files, thoughts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Final

from examples.musume import prompts
from sessions.dice import Dice, exactly
from sessions.recording import Json

SYSTEM: Final = prompts.SYSTEM + "\n# Advice\n"
_FRIENDS = ("Silver Comet", "Maple Gale", "Quiet Harbour", "Northern Lantern", "Early Thunder", "Copper Meadow")
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
    """The example's nine tools, told at such length that their minified JSON is exactly `size` characters."""
    dice = Dice("musume tools")
    made: list[Json] = [{**tool} for tool in prompts.TOOLS]
    left = size - sum(len(json.dumps(tool, separators=(",", ":"))) for tool in made)
    for i, tool in enumerate(made):
        share = left // (len(made) - i)
        told = f"{tool['description']} "
        tool["description"] = exactly(told, len(told) - 1 + share, advice(dice)).replace("\n", " ")
        left -= share
    return made


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
