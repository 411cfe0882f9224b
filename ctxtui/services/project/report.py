"""What a run would find: the window laid out, the project counted, the files that would go in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from ctxtui.core import block
from ctxtui.core.block import TOOL, Block
from ctxtui.core.canonical import Json
from ctxtui.core.errors import BadConfig
from ctxtui.project.budget import CHARACTERS, PARTS, ContextBudget, Warn, warnings
from ctxtui.project.file_kinds import DATA, KINDS, MEDIA, kind_of
from ctxtui.project.selection import ProjectFile, Selection, Thresholds, loadable, select
from ctxtui.services.config.config import Config
from ctxtui.services.config.settings import Settings
from ctxtui.services.config.window_checks import answer_limit
from ctxtui.services.counting.counting import Counter
from ctxtui.services.project.model_window import ModelWindow, model_window
from ctxtui.services.project.progress import ReadingProgress
from ctxtui.services.project.reader import ProjectText, read_project
from ctxtui.tokens.models import ModelCard
from ctxtui.tokens.weights import prior_weights, weigh

_TOGETHER = 100
"""Files that are counted together, and then told of."""
_ENOUGH = 1_000
"""Tokens of text from which bytes a token are measured."""


class RunPlan(Struct, frozen=True, kw_only=True):
    """What a run begins with: its `model` (an id, or a path to its files), `task`, `system` text, `tools` (definitions)
    and the texts of `memory`. `takes` are tokens by name: of ``system``, ``tools``, ``task``, ``answer`` in place of
    what is counted, of anything else what is to go in besides. `window` is that of a model that runs (None: see
    `model_window`), `apart` says which paths are no files of the project (they are memory)."""

    model: str
    task: str = ""
    system: str = ""
    tools: Sequence[Json] = ()
    takes: Mapping[str, int] = field(default_factory=dict)
    memory: Sequence[str] = ()
    window: ModelWindow | None = None
    apart: Callable[[Iterable[str]], set[str]] = lambda paths: set()


class CountedProject(Struct, frozen=True):
    """The files of a project, counted. `half` is half of the 90 % interval of all tokens; `rest` are files that are no
    text or too large, by kind: (number, bytes)."""

    root: Path
    files: tuple[ProjectFile, ...]
    half: float
    rest: Mapping[str, tuple[int, int]]
    more: bool = False

    @property
    def tokens(self) -> int:
        """Of all text files."""
        return sum(one.tokens for one in self.files)

    @property
    def loadable(self) -> int:
        """Tokens of the files that may go in unasked: what the strategy goes by."""
        return sum(one.tokens for one in self.files if loadable(one))

    @property
    def bytes(self) -> int:
        """Of all text files, as UTF-8."""
        return sum(len(one.text.encode("utf-8", "replace")) for one in self.files)

    def kinds(self) -> list[tuple[str, int, int]]:
        """(kind, files, tokens) in the order of `KINDS`; files that are not counted have no tokens."""
        found = []
        for kind in KINDS:
            own = [one for one in self.files if one.kind == kind]
            number = len(own) + self.rest.get(kind, (0, 0))[0]
            if number:
                found.append((kind, number, sum(one.tokens for one in own)))
        return found


class RunReport(Struct, frozen=True):
    """What a run would find. `per_token` is bytes of text to a token, measured on the project where it has text."""

    budget: ContextBudget
    project: CountedProject | None
    selection: Selection | None
    warnings: tuple[Warn, ...]
    per_token: float

    @property
    def kilobytes(self) -> float:
        """KB of text that fit into what is available."""
        return self.budget.available * self.per_token / 1000


class Meter:
    """Counts texts and tool definitions as the model of `card` is counted."""

    def __init__(self, card: ModelCard, counter: Counter | None = None) -> None:
        self.card = card
        self._counter = counter or Counter()
        self._weights = prior_weights(card)

    @property
    def half_width(self) -> float:
        """Half of the 90 % interval of a whole context, as a share."""
        return 0.0 if self._weights.exact else self._weights.half_width

    def block(self, one: Block) -> int:
        """Tokens of a block."""
        return round(weigh(self._counter(self.card)(one), self._weights))

    def text(self, words: str) -> int:
        """Tokens of a text."""
        return self.texts([words])[0]

    def texts(self, words: Sequence[str]) -> list[int]:
        """Tokens of each text."""
        blocks = [block.text(one) for one in words]
        self._counter.prefetch(self.card, blocks)
        measure = self._counter(self.card)
        return [round(weigh(measure(one), self._weights)) for one in blocks]

    def tools(self, definitions: Sequence[Json]) -> int:
        """Tokens of tool definitions, with what the provider adds once."""
        if not definitions:
            return 0
        measure = self._counter(self.card)
        counted = (weigh(measure(block.make(TOOL, one)), self._weights) for one in definitions)
        return round(sum(counted)) + self.card.tool_prompt


def laid_out(plan: RunPlan, config: Config, counter: Counter | None = None) -> tuple[ContextBudget, ModelWindow, Meter]:
    """The window of `plan`, laid out. Raises what `model_window` raises, and `BadConfig` where nothing is left."""
    settings = config.settings
    found = plan.window or model_window(plan.model, config)
    meter = Meter(found.card, counter)
    takes = plan.takes
    if plan.memory and "memory" not in takes:
        takes = {**takes, "memory": sum(meter.texts(plan.memory))}
    counted: dict[str, Callable[[], int]] = {
        "system": lambda: meter.text(plan.system) if plan.system else 0,
        "tools": lambda: meter.tools(plan.tools),
        "task": lambda: meter.text(plan.task) if plan.task else 0,
    }
    system, tools, task = (takes[part] if part in takes else counted[part]() for part in PARTS)
    budget = ContextBudget(
        model=found.name,
        window=found.window,
        usable=found.usable,
        origin=found.origin,
        system=system,
        tools=tools,
        task=task,
        answer=takes.get("answer", answer_limit(settings.answer_tokens, found.card.max_output or 0, found.window)),
        wants=tuple((name, n) for name, n in takes.items() if name not in (*PARTS, "answer")),
    )
    if not budget.available:
        raise BadConfig(
            f"system prompt, tools and task take {system + tools + task:,} tokens; usable are {found.usable:,} of the "
            f"{found.window:,} of {found.name}",
            place=found.origin,
            way_out="take fewer tools, a shorter task or a larger window",
        )
    return budget, found, meter


def counted_project(root: Path, meter: Meter, progress: ReadingProgress | None = None) -> CountedProject:
    """The project in the folder `root`, counted; `progress` hears how far it is. Raises `NotFound`."""
    return counted_text(read_project(root, progress), meter, progress)


def counted_text(found: ProjectText, meter: Meter, progress: ReadingProgress | None = None) -> CountedProject:
    """A project that was read, counted; `progress` hears how far it is."""
    texts, sizes = list(found.texts.values()), list[int]()
    while len(sizes) < len(texts):
        sizes += meter.texts(texts[len(sizes) : len(sizes) + _TOGETHER])
        if progress is not None:
            progress.counted(len(sizes), len(texts))
    files = tuple(
        ProjectFile(path, text, kind_of(path, len(text)), size)
        for (path, text), size in zip(found.texts.items(), sizes, strict=True)
    )
    rest = {kind: (len(own), sum(own.values())) for kind, own in ((MEDIA, found.media), (DATA, found.large)) if own}
    return CountedProject(found.root, files, meter.half_width * sum(sizes), rest, found.more)


def thresholds_of(settings: Settings) -> Thresholds:
    """The sizes by which a project is loaded."""
    return Thresholds(settings.small_project, settings.medium_project, settings.whole_file)


def analysed(
    plan: RunPlan,
    config: Config,
    root: Path | None,
    counter: Counter | None = None,
    progress: ReadingProgress | None = None,
) -> RunReport:
    """What a run of `plan` on the project in `root` (None: on none) would find; `progress` hears how far it is. Raises
    what `laid_out` raises, and `NotFound` for a folder that is not there."""
    budget, _, meter = laid_out(plan, config, counter)
    project, files, per_token = None, None, CHARACTERS
    if root is not None:
        project = counted_project(root, meter, progress)
        memory = dict(budget.wants).get("memory", 0)
        room = round(max(0, budget.available - memory) * config.settings.files_share)
        apart = plan.apart(one.path for one in project.files)
        own = [one for one in project.files if one.path not in apart]
        files = select(own, plan.task, room, thresholds_of(config.settings), meter.text)
        if project.tokens >= _ENOUGH:
            per_token = project.bytes / project.tokens
    return RunReport(budget, project, files, tuple(warnings(budget, files)), per_token)
