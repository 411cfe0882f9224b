"""Look-alikes of two agents whose context grows without bound, by the sizes that their authors measured."""

from __future__ import annotations

from ctxtui.core import block as blocks
from ctxtui.core.block import Item, Place
from ctxtui.core.call import Call, Fidelity
from ctxtui.core.session import MAIN, CallSeen, Session, TipMoved
from ctxtui.core.tree import ROOT
from ctxtui.core.usage import Usage
from tests.cases.words import Words

GENERATIONS = (
    (0, 9_881, 1_847, 3_360, 85_625),
    (0, 10_581, 2_437, 3_280, 138_325),
    (2_950, 10_847, 2_277, 4_738, 130_529),
    (3_054, 11_969, 3_154, 4_835, 171_850),
    (775, 11_376, 2_825, 4_230, 141_234),
)
"""Characters of each generation's messages: a first reply that held no plan (0: there was none), the plan, the request
to select, the selection, the feedback."""


class _Loop:
    """A conversation at four characters a token, as its author estimated it."""

    def __init__(self) -> None:
        self.session, self.head, self.size, self.made = Session(), ROOT, 0, 0

    def say(self, role: str, text: str) -> None:
        place = Place("messages", role)
        items = [Item(blocks.header(role), place), Item(blocks.text(text), place)]
        self.head = self.session.tree.extend(self.head, items)
        self.size += len(text)

    def call(self, tokens: int | None = None) -> None:
        self.made += 1
        usage = Usage(fresh=self.size // 4 if tokens is None else tokens, output=100, has_cache=False)
        call = Call(f"c{self.made}", MAIN, self.head, self.head, self.head, model="claude-sonnet-4-5-20250929",
                    started=float(self.made), fidelity=Fidelity.WIRE, usage=usage)  # fmt: skip
        self.session.fold([CallSeen(call), TipMoved(MAIN, self.head)])


def evolution() -> Session:
    """Five generations of a search that repeats the code of all its trials in each feedback and never prunes."""
    loop, words = _Loop(), Words(3)
    loop.say("user", "Begin.")
    for number, (musing, plan, request, choice, feedback) in enumerate(GENERATIONS):
        loop.call()
        if musing:
            loop.say("assistant", words.text(musing))
            loop.say("user", "No plan was found in your reply.".ljust(109, "."))
            loop.call()
        loop.say("assistant", words.text(plan))
        loop.say("user", f"Generation {number} complete")
        loop.say("user", words.text(request))
        loop.call()
        loop.say("assistant", words.text(choice))
        head = f"Feedback of generation {number}: "
        loop.say("user", head + words.text(feedback - len(head)))
    loop.call()
    return loop.session


def rounds(count: int, first: int = 7_328, each: int = 424) -> Session:
    """A loop over tools that sends its whole history each round: `first` tokens, then `each` more a round."""
    loop = _Loop()
    for number in range(count):
        loop.say("user", f"round {number}")
        loop.call(first + each * number)
    return loop.session
