"""Commands of the inspector that open a list over it."""

from __future__ import annotations

from ctxtui.tui.commands.command import Command, Situation

THREADS = "threads"
"""The fact that there are several threads."""


class Threads(Command):
    """All threads as a tree: the main line of context and the agents it started, with calls, peaks and costs. Enter
    goes to one; the next time the cursor stands on the one you came from."""

    name, action, keys, label, group = "threads", "threads", ("T",), "threads", "lists"

    @classmethod
    def available(cls, at: Situation) -> bool:
        """With several threads."""
        return THREADS in at.facts


class Tools(Command):
    """The tools of this context by server: tokens of each definition, loaded or deferred, how often it was called."""

    name, action, keys, group = "tools by server", "tools", ("A",), "lists"


class Weights(Command):
    """The heaviest blocks of this context by tokens, by carry (tokens x calls they stayed) or by cost, and how far a
    cache can keep each."""

    name, action, keys, group = "heaviest blocks, by tokens or carry", "weights", ("W",), "lists"


class Repeats(Command):
    """What of this context stands elsewhere too: twice, nearly so, read again, changed since, or still in its file;
    with the tokens that could go."""

    name, action, keys, group = "same content elsewhere (repeats)", "repeats", ("S",), "lists"


class Phases(Command):
    """Phases of this thread with their growth, tokens sent and cost: by your names, by the setting ``phases``, else by
    turn."""

    name, action, keys, group = "phases: growth in each", "phases", ("G",), "lists"


class NamePhase(Command):
    """Name the phase that begins with the call shown; it is kept as a note on the call, ``phase: name``."""

    name, action, group = "name a phase at this call", "name_phase", "lists"


LISTS: tuple[type[Command], ...] = (Threads, Tools, Weights, Repeats, Phases, NamePhase)
