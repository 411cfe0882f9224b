"""The lab of an open session, in a process of its own: variants are tried while every key still answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from ctxtui.analysis.lab.lab import Experiment
from ctxtui.analysis.lab.on_record import on_record
from ctxtui.analysis.lab.report import LabRow, SessionLab, session_lab
from ctxtui.analysis.lab.variant import VariantRun
from ctxtui.analysis.lab.variant_session import variant_session
from ctxtui.core.errors import CtxtuiError
from ctxtui.services.child_process import ChildGone, ChildProcess
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.count_cache import counter_with_memory
from ctxtui.services.editing.variant_files import VariantFile, keep_variant, variants_dir
from ctxtui.services.lab.experiment import bench_of, keep_loaded
from ctxtui.services.lab.variants import own_models, sought, variants
from ctxtui.services.recordings.open_by_name import locate, open_named
from ctxtui.transcripts.formats.ctxtui import write
from ctxtui.views.lists.lab import variant_words

SLICE: Final = 8
"""Calls under all variants between two answers of the child."""
TRY, GO, WRITE = "try", "go", "write"
Asked = tuple[str, str, Settings]
Tried = tuple[Sequence[str], Sequence[str], Sequence[str]] | None
"""Policies, caches and models to try; None: all among which the best is sought."""


class LabProgress(NamedTuple):
    """How many of how many calls are gone through, under so many variants; `found` is what came of it at the end."""

    done: int
    total: int
    variants: int
    found: SessionLab | None = None


class LabWorker:
    """Tries variants on the session that `name` stands for; `close` ends it at once."""

    def __init__(self, name: str, settings: Settings) -> None:
        self._asked = (name, str(Path.cwd()), settings)
        self._child = ChildProcess("ctxtui.services.workers.lab_worker:make")

    def steps(
        self, policies: Sequence[str] = (), caches: Sequence[str] = (), models: Sequence[str] = ()
    ) -> Iterator[LabProgress]:
        """Try these besides what was tried before; for a worker thread. The last step has all rows. Raises
        `CtxtuiError`."""
        yield from self._stepped((tuple(policies), tuple(caches), tuple(models)))

    def seek(self) -> Iterator[LabProgress]:
        """The same with everything among which the best is sought."""
        yield from self._stepped(None)

    def _stepped(self, asked: Tried) -> Iterator[LabProgress]:
        step = self._ask(TRY, asked)
        while step.found is None:
            yield step
            step = self._ask(GO, None)
        yield step

    def written(self, index: int) -> VariantFile:
        """A file with the variant of row `index` as a session. Raises `CtxtuiError`."""
        found: VariantFile = self._ask(WRITE, index)
        return found

    def close(self) -> None:
        """No more."""
        self._child.close()

    def _ask(self, kind: str, what: object) -> Any:
        try:
            found = self._child.ask((kind, what, self._asked))
        except ChildGone as error:
            raise CtxtuiError("the process of the lab ended", way_out="ctxtui lab works without one") from error
        if isinstance(found, CtxtuiError):
            raise found
        return found


def make() -> Callable[[tuple[str, Any, Asked]], object]:
    """What the child answers with."""
    known: list[_OpenLab] = []

    def answer(request: tuple[str, Any, Asked]) -> object:
        kind, what, asked = request
        try:
            lab = known[0] if known else _OpenLab(*asked)
            known[:] = [lab]
            return lab.begin(what) if kind == TRY else lab.write(what) if kind == WRITE else lab.go()
        except CtxtuiError as error:
            return CtxtuiError(error.message, place=error.place, way_out=error.way_out)

    return answer


class _OpenLab:
    """The session, counted once, with every variant that was tried on it."""

    def __init__(self, name: str, cwd: str, settings: Settings) -> None:
        found = locate(name, Path(cwd), settings)
        self._loaded = open_named(found, settings)
        self._folder, self._own = variants_dir(settings.data_dir), own_models(settings)
        with counter_with_memory(settings) as counter:
            self._bench = bench_of(self._loaded.session, counter, settings)
        keep_loaded()
        self._runs: list[VariantRun] = []
        self._rows: Sequence[LabRow] = ()
        self._trial = Experiment(self._bench, ())
        self._steps: Iterator[int] = iter(())
        self._done = self._count = 0

    def begin(self, asked: Tried) -> LabProgress:
        """Begin to try what was not tried yet."""
        known = [run.variant for run in self._runs]
        new = [one for one in (sought() if asked is None else variants(*asked, self._own)) if one not in known]
        self._trial = Experiment(self._bench, new)
        self._steps, self._done, self._count = iter(self._trial), 0, len(new)
        return LabProgress(0, self._trial.total, self._count)

    def go(self) -> LabProgress:
        """A few calls more."""
        done = list(islice(self._steps, SLICE))
        if done:
            self._done = done[-1]
            return LabProgress(self._done, self._trial.total, self._count)
        self._runs += self._trial.runs
        found = session_lab(self._bench, self._runs, self._loaded.name)
        self._rows = found.rows
        return LabProgress(self._done, self._trial.total, self._count, found)

    def write(self, index: int) -> VariantFile:
        """Write the variant of row `index` as a session."""
        session, run = self._loaded.session, on_record(self._bench, self._runs[0], self._runs[index])
        title = f"{session.about.title or self._loaded.name} (what if: {variant_words(self._rows[index])})"
        name = session.about.id or self._loaded.name
        written = write(variant_session(session, run, title))
        return keep_variant(self._folder, name, variant_words(self._rows[index], model=True), written)
