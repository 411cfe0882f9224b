"""The report before a run: the window's budget, the counted project, the selected files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from ctxtui.core import block
from ctxtui.core.block import TOOL, Block
from ctxtui.core.canonical import Json
from ctxtui.core.errors import BadConfig
from ctxtui.project.budget import BYTES_PER_TOKEN, PARTS, BudgetWarning, ContextBudget, warnings
from ctxtui.project.file_kinds import DATA, KINDS, MEDIA, kind_of
from ctxtui.project.selection import SIGNATURES, ProjectFile, Selection, Thresholds, is_loadable, select
from ctxtui.project.signatures import lacks_parser
from ctxtui.services.config.config import Config
from ctxtui.services.config.extras import install_command
from ctxtui.services.config.settings import Settings
from ctxtui.services.config.window_checks import answer_limit
from ctxtui.services.counting.counting import Counter
from ctxtui.services.project.model_window import ModelWindow, model_window
from ctxtui.services.project.progress import ReadingProgress
from ctxtui.services.project.reader import ProjectText, read_project
from ctxtui.tokens.models import ModelCard
from ctxtui.tokens.weights import prior_weights, weigh
from ctxtui.views.lists.run_report import project_lines
from ctxtui.views.text.span import Span

_COUNT_BATCH = 100
_MIN_TOKENS_TO_MEASURE = 1_000
"""Tokens of text needed to measure bytes per token."""


class RunPlan(Struct, frozen=True, kw_only=True):
    """The inputs of a run.

    - `model`: an id, or a path to its files.
    - `takes`: tokens by name. For ``system``, ``tools``, ``task``, ``memory`` and ``answer`` they replace the count or
      the default; any other name is in addition.

    - `memory`: texts of memory.
    - `window`: that of a running model (None: see `model_window`).
    - `apart`: returns those of the given paths that are memory or instructions: they are not selected as files.
    """

    model: str
    task: str = ""
    system: str = ""
    tools: Sequence[Json] = ()
    takes: Mapping[str, int] = field(default_factory=dict)
    memory: Sequence[str] = ()
    window: ModelWindow | None = None
    apart: Callable[[Iterable[str]], set[str]] = lambda paths: set()


class CountedProject(Struct, frozen=True):
    """The counted files of a project.

    - `half`: half of the 90 % interval of all tokens.
    - `rest`: binary and too large files, by kind: (number, bytes).
    - `more`: some files are not listed.
    """

    root: Path
    files: tuple[ProjectFile, ...]
    half: float
    rest: Mapping[str, tuple[int, int]]
    more: bool = False

    @property
    def tokens(self) -> int:
        return sum(file.tokens for file in self.files)

    @property
    def loadable(self) -> int:
        """Tokens of the files that may be loaded without being asked for."""
        return sum(file.tokens for file in self.files if is_loadable(file))

    @property
    def bytes(self) -> int:
        """Size of all text files as UTF-8."""
        return sum(len(file.text.encode("utf-8", "replace")) for file in self.files)

    def kinds(self) -> list[tuple[str, int, int]]:
        """List (kind, files, tokens) in the order of `KINDS`; uncounted files have no tokens."""
        kinds = []
        for kind in KINDS:
            files = [file for file in self.files if file.kind == kind]
            number = len(files) + self.rest.get(kind, (0, 0))[0]
            if number:
                kinds.append((kind, number, sum(file.tokens for file in files)))
        return kinds


class RunReport(Struct, frozen=True):
    """The report of a planned run; `project` and `selection` are None without a project.

    `per_token` is bytes per token, measured on the project's text if there is enough.
    """

    budget: ContextBudget
    project: CountedProject | None
    selection: Selection | None
    warnings: tuple[BudgetWarning, ...]
    per_token: float

    @property
    def kilobytes(self) -> float:
        """KB of text that fit into the available budget."""
        return self.budget.available * self.per_token / 1000

    def project_lines(self) -> Iterator[list[Span]]:
        """The project's files as lines; none without a project."""
        if self.project is not None and self.selection is not None:
            project = self.project
            yield from project_lines(self.budget, self.selection, project.kinds(), project.tokens, project.half)


class Meter:
    """Counts texts and tool definitions with the tokenizer of `card`."""

    def __init__(self, card: ModelCard, counter: Counter | None = None) -> None:
        self.card = card
        self._counter = counter or Counter()
        self._weights = prior_weights(card)

    @property
    def half_width(self) -> float:
        """Half of the 90 % interval of a whole context, as a share."""
        return 0.0 if self._weights.exact else self._weights.half_width

    def block(self, block: Block) -> int:
        return round(weigh(self._counter(self.card)(block), self._weights))

    def text(self, words: str) -> int:
        return self.texts([words])[0]

    def texts(self, words: Sequence[str]) -> list[int]:
        blocks = [block.text(item) for item in words]
        self._counter.prefetch(self.card, blocks)
        measure = self._counter(self.card)
        return [round(weigh(measure(item), self._weights)) for item in blocks]

    def tools(self, definitions: Sequence[Json]) -> int:
        """Tokens of tool definitions, with the provider's fixed tool prompt."""
        if not definitions:
            return 0
        measure = self._counter(self.card)
        counted = (weigh(measure(block.make(TOOL, definition)), self._weights) for definition in definitions)
        return round(sum(counted)) + self.card.tool_prompt


def lay_out_window(
    plan: RunPlan, config: Config, counter: Counter | None = None
) -> tuple[ContextBudget, ModelWindow, Meter]:
    """Divide the context window for `plan`.

    Raises what `model_window` raises, and `BadConfig` if nothing is left.
    """
    settings = config.settings
    window = plan.window or model_window(plan.model, config)
    meter = Meter(window.card, counter)
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
        model=window.name,
        window=window.window,
        usable=window.usable,
        origin=window.origin,
        system=system,
        tools=tools,
        task=task,
        answer=takes.get("answer", answer_limit(settings.answer_tokens, window.card.max_output or 0, window.window)),
        requests=tuple((name, n) for name, n in takes.items() if name not in (*PARTS, "answer")),
    )
    if not budget.available:
        raise BadConfig(
            f"system prompt, tools and task take {system + tools + task:,} tokens; usable are {window.usable:,} of the "
            f"{window.window:,} of {window.name}",
            place=window.origin,
            way_out="take fewer tools, a shorter task or a larger window",
        )
    return budget, window, meter


def count_project(root: Path, meter: Meter, progress: ReadingProgress | None = None) -> CountedProject:
    """Read and count the project in the folder `root`. Raises `NotFound`."""
    return count_text(read_project(root, progress), meter, progress)


def count_text(project: ProjectText, meter: Meter, progress: ReadingProgress | None = None) -> CountedProject:
    """Count the files of a project that was read, and sort them by kind."""
    texts, sizes = list(project.texts.values()), list[int]()
    while len(sizes) < len(texts):
        sizes += meter.texts(texts[len(sizes) : len(sizes) + _COUNT_BATCH])
        if progress is not None:
            progress.files_counted(len(sizes), len(texts))
    files = tuple(
        ProjectFile(path, text, kind_of(path, len(text)), size)
        for (path, text), size in zip(project.texts.items(), sizes, strict=True)
    )
    skipped = {
        kind: (len(own), sum(own.values())) for kind, own in ((MEDIA, project.media), (DATA, project.large)) if own
    }
    return CountedProject(project.root, files, meter.half_width * sum(sizes), skipped, project.more)


def loading_thresholds(settings: Settings) -> Thresholds:
    return Thresholds(settings.small_project, settings.medium_project, settings.whole_file)


def make_run_report(
    plan: RunPlan,
    config: Config,
    root: Path | None,
    counter: Counter | None = None,
    progress: ReadingProgress | None = None,
) -> RunReport:
    """Report on a run of `plan` on the project in `root` (None: no project).

    Raises what `lay_out_window` raises, and `NotFound` for a missing folder.
    """
    budget, _, meter = lay_out_window(plan, config, counter)
    project, selection, per_token = None, None, BYTES_PER_TOKEN
    if root is not None:
        project = count_project(root, meter, progress)
        memory = dict(budget.requests).get("memory", 0)
        room = round(max(0, budget.available - memory) * config.settings.files_share)
        apart = plan.apart(file.path for file in project.files)
        project_files = [file for file in project.files if file.path not in apart]
        selection = select(project_files, plan.task, room, loading_thresholds(config.settings), meter.text)
        if project.tokens >= _MIN_TOKENS_TO_MEASURE:
            per_token = project.bytes / project.tokens
    all_warnings = (*warnings(budget, selection), *_extra_warnings(selection))
    return RunReport(budget, project, selection, all_warnings, per_token)


def _extra_warnings(files: Selection | None) -> Iterator[BudgetWarning]:
    chosen = files.chosen if files is not None else ()
    outlined = sum(1 for file in chosen if file.form == SIGNATURES and lacks_parser(file.path))
    if outlined:
        text = f"{outlined:,} code files go in as outlines, not signatures: {install_command('code')}"
        yield BudgetWarning("outlines", text)
