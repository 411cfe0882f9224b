"""The files of a chat: what goes with a message (``@path``, ``--files auto``), and memory, which goes with each one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path, PurePath
from typing import Final

from msgspec import Struct

from ctxtui.agent.memory_place import MemoryPlace
from ctxtui.agent.tools.memory_tools import MemoryFolder, memory_tools
from ctxtui.agent.tools.tool import Tool
from ctxtui.agent.tools.workspace import Workspace
from ctxtui.analysis.context_window import running_window
from ctxtui.core import block
from ctxtui.core.canonical import Json
from ctxtui.core.errors import BadConfig, CtxtuiError
from ctxtui.core.session import Session
from ctxtui.pricing.rates import find_rates
from ctxtui.project.budget import groups
from ctxtui.project.named import relevant
from ctxtui.project.selection import Selection, select
from ctxtui.services.chat.chat_model import ChatModel
from ctxtui.services.config.config import Config
from ctxtui.services.config.package_data import model_table
from ctxtui.services.config.window_checks import size_of
from ctxtui.services.counting.books import cache_rules
from ctxtui.services.counting.counting import Counter
from ctxtui.services.counting.pricing import prices_for
from ctxtui.services.project.attachments import AttachedFile, attachments, missing
from ctxtui.services.project.instructions import NAMES, instructions
from ctxtui.services.project.progress import ReadingProgress
from ctxtui.services.project.report import Meter, counted_project, thresholds_of
from ctxtui.tokens.models import ModelCard
from ctxtui.wire.grammar import ANTHROPIC, CHAT, RESPONSES
from ctxtui.wire.speech import Attachment

# What reads and counts projects is imported by the methods: the first frame of a chat needs none of it.

AUTO: Final = "auto"
RELEVANT: Final = "relevant"
_ANTHROPIC_MARKER: Final[Mapping[str, Json]] = {"cache_control": {"type": "ephemeral"}}
_OPENAI_MARKER: Final[Mapping[str, Json]] = {"prompt_cache_breakpoint": {"mode": "explicit"}}


class WithMessage(Struct, frozen=True):
    """What goes with a message: blocks in front of its words, and memory as it is now (None: there is none to keep).
    `told` says in a few words what was put in."""

    attached: tuple[Attachment, ...] = ()
    memory: MemoryPlace | None = None
    told: str = ""


class ContextFiles:
    """The files of the chat in `cwd`. Everything but `meet` and `tools` is for a worker thread."""

    def __init__(self, config: Config, cwd: Path) -> None:
        self._config = config
        self._settings = config.settings
        self._cwd = cwd
        self.counter: Counter | None = None
        """Counts what goes along; made when the first is asked for."""
        self.progress = ReadingProgress()
        """How far reading the project is."""
        self._partner: ChatModel | None = None
        self._kept: MemoryFolder | None = None
        self._folder = _folder(config, cwd)

    def meet(self, partner: ChatModel) -> None:
        """From now on requests go to `partner`."""
        self._partner = partner

    @property
    def card(self) -> ModelCard:
        """The partner's."""
        return model_table().card(self._partner.model if self._partner is not None else "")

    @property
    def meter(self) -> Meter:
        """Counts as the partner's model is counted."""
        self.counter = self.counter or Counter()
        return Meter(self.card, self.counter)

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that keep memory; none where there is no folder for it."""
        memory = self._memory()
        return memory_tools(memory) if memory is not None else ()

    def _memory(self) -> MemoryFolder | None:
        if self._folder is None:
            return None
        if self._kept is None:
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                place = str(self._folder)
                raise CtxtuiError(f"the folder for memory cannot be made: {error.strerror}", place=place) from error
            count = lambda text: self.meter.text(text)  # noqa: E731 - the partner may be another one by then
            self._kept = MemoryFolder(Workspace(self._folder), self._settings.memory_tokens, count)
        return self._kept

    @property
    def usable(self) -> int:
        """What of the partner's window is to be filled (tokens); 0: no window is known."""
        settings, partner, card = self._settings, self._partner, self.card
        window = (partner.window if partner is not None else 0) or card.window or 0
        own = size_of(card.id, settings.usable_contexts)[1]
        return running_window(window, settings.usable_share, own=own).usable

    def room(self, used: int) -> int:
        """Tokens that files may take of a window in which `used` are taken already; 0: no window is known."""
        usable = self.usable
        return max(1, round((usable - used) * self._settings.files_share)) if usable else 0

    def named(self, text: str, used: int) -> tuple[AttachedFile, ...]:
        """The files that a message names, counted. Raises `NotAttached`."""
        return attachments(text, self._cwd, self.meter, self.room(used))

    def missing(self, text: str) -> list[str]:
        """The paths that a message names and that are not there."""
        return missing(text, self._cwd)

    def price(self, tokens: int) -> float | None:
        """USD that `tokens` of input cost once by list price; None where none is known, or the partner is local."""
        partner = self._partner
        if partner is None or partner.endpoint.local:
            return None
        by = find_rates(partner.model, partner.endpoint.name, length=max(1, tokens), table=prices_for(self._settings))
        return tokens * by.fresh if by is not None else None

    def with_message(self, text: str, session: Session, head: int) -> WithMessage:
        """What goes with the message `text` of a user behind the context `head` of `session`. Raises `NotAttached`,
        and what reading memory raises."""
        memory = self.memory_for(text)
        spoken = any(item.place.role == "user" for item in session.tree.items(head))
        auto = not spoken and self._settings.files == AUTO
        if not auto and "@" not in text:
            return WithMessage(memory=memory)
        meter, used = self.meter, self.used(session, head)
        used += meter.text(text) + sum(meter.texts(memory.texts) if memory is not None and not spoken else ())
        named = self.named(text, used)
        attached = [one.attached for one in named]
        notes = [f"{len(named):,} named file{'' if len(named) == 1 else 's'}"] if named else []
        if auto:
            chosen = self.selected(text, used + sum(one.tokens for one in named), {one.name for one in named})
            attached += [Attachment(block.text(one.text), "file") for one in chosen.chosen]
            notes.append(summary(chosen))
        return WithMessage(tuple(attached), memory, "; ".join(notes))

    def used(self, session: Session, head: int) -> int:
        """Tokens of the context `head`: as its last call reported, else as they are counted."""
        last = next((call.usage for call in reversed(session.calls.values()) if call.usage is not None), None)
        if last is not None:
            return last.input + last.output
        meter = self.meter
        return sum(meter.block(item.block) for item in session.tree.items(head))

    def selected(self, task: str, used: int, but: set[str]) -> Selection:
        """The project's files that go in for `task`, without those that are there already."""
        project = counted_project(self._cwd, self.meter, self.progress)
        there = but | self.apart(one.path for one in project.files)
        files = [one for one in project.files if one.path not in there]
        limits = thresholds_of(self._settings)
        return select(files, task, self.room(used) or project.tokens, limits, self.meter.text)

    def apart(self, paths: Iterable[str]) -> set[str]:
        """Those of the project's `paths` that are memory, and so no files of it."""
        root, folder = self._cwd.resolve(), self._folder
        inside = folder is not None and folder != root and folder.is_relative_to(root)
        lead = f"{folder.relative_to(root).as_posix()}/" if inside and folder is not None else None
        told = set(self._instructions())
        return {
            path
            for path in paths
            if path in told or PurePath(path).name in NAMES or (lead is not None and path.startswith(lead))
        }

    def memory_for(self, text: str) -> MemoryPlace | None:
        """Memory as it is now; for the user's message `text` where only what has to do with it is wanted."""
        settings, folder = self._settings, self._folder
        memory = self._memory() if folder is not None and folder.is_dir() else None
        told = self._instructions()
        if folder is None and not told:
            return None
        kept = memory.texts() if memory is not None else {}
        if settings.memory_files == RELEVANT:
            kept = {name: kept[name] for name in relevant(kept, text)}
        texts = [_rendered("instructions", path, words) for path, words in told.items()]
        texts += [_rendered("memory", name, words) for name, words in kept.items()]
        partner = self._partner
        binds = partner is not None and partner.endpoint.dialect == ANTHROPIC and self.card.binds_thinking
        first = settings.memory_place == "start"
        return MemoryPlace(tuple(texts), first, self._marker(), binds, stable=len(told))

    def _instructions(self) -> dict[str, str]:
        if not self._settings.instructions:
            return {}
        return instructions(self._cwd)

    def _marker(self) -> Mapping[str, Json] | None:
        """What asks the partner to cache up to memory; None where it is not asked."""
        partner = self._partner
        if partner is None:
            return None
        if partner.endpoint.dialect == ANTHROPIC:
            return _ANTHROPIC_MARKER
        if partner.endpoint.name == "openai" and partner.endpoint.dialect in (CHAT, RESPONSES):
            rules = cache_rules().for_model(self.card, "openai")
            return _OPENAI_MARKER if rules.mechanism.takes_breakpoints else None
        return None


def summary(chosen: Selection) -> str:
    """A selection in a line: ``14 files of the project, 23,886 tokens: named 1 whole, related 12 whole ...``."""
    parts = [f"{why} {number:,} {form}" for why, form, number, _ in groups(chosen)]
    left = f"; {len(chosen.left):,} left out" if chosen.left else ""
    count = len(chosen.chosen)
    words = f"{count:,} file{'' if count == 1 else 's'} of the project, {chosen.tokens:,} tokens"
    return f"{words}: {', '.join(parts)}{left}" if parts else f"{words}{left}"


def _rendered(kind: str, name: str, text: str) -> str:
    return f'<{kind} path="{name}">\n{text.rstrip()}\n</{kind}>'


def _folder(config: Config, cwd: Path) -> Path | None:
    name = config.settings.memory
    if not name:
        return None
    place = (cwd / Path(name).expanduser()).resolve()
    if place.exists() and not place.is_dir():
        raise BadConfig(f"memory must be a folder: {place} is none", place="memory", way_out="name a folder")
    return place
