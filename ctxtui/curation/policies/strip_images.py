"""Images of earlier turns are taken out: the model has seen them."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.core.edit import STRIP, Edit
from ctxtui.curation.policies.policy import Policy
from ctxtui.curation.policies.situation import Settings, Situation, edit

NAME = "strip_images"


def propose(situation: Situation, settings: Settings) -> Iterator[Edit]:
    """Strip the images of all turns but the last `keep`, once there are `slack` of them."""
    turns = situation.turns
    limit = turns[-settings["keep"]].start if settings["keep"] and len(turns) >= settings["keep"] else 0
    limit = limit if settings["keep"] else len(situation.context)
    found = [p for p in situation.context.images if p < limit and situation.free(p, NAME)]
    if len(found) >= settings["slack"]:
        for position in found:
            yield edit(situation, NAME, STRIP, [position], {"what": "images"})


POLICY = Policy(
    NAME,
    "take images of earlier turns out",
    propose,
    {"keep": 1, "slack": 1},
    {"keep": "newest turns whose images stay", "slack": "images before it acts"},
)
