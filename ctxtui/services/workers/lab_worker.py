"""The lab of an open session: try variants step by step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from ctxtui.analysis.lab.lab import Experiment
from ctxtui.analysis.lab.on_record import apply_to_record
from ctxtui.analysis.lab.report import LabRow, SessionLab, session_lab
from ctxtui.analysis.lab.variant import Variant, VariantRun
from ctxtui.analysis.lab.variant_session import variant_session
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.count_cache import cached_counter
from ctxtui.services.editing.variant_files import VariantFile, variants_dir, write_variant
from ctxtui.services.lab.experiment import freeze_loaded, lab_inputs_of_session
from ctxtui.services.lab.variants import candidate_variants, make_variants, own_models
from ctxtui.services.recordings.open_by_name import locate, open_named
from ctxtui.transcripts.formats.ctxtui import write
from ctxtui.views.lists.lab import describe_variant, has_several_models

STEP_CALLS: Final = 8
"""Calls between two progress steps, under all variants."""


class LabProgress(NamedTuple):
    """Calls done, of all calls, under so many variants; `result` is set at the end."""

    done: int
    total: int
    variants: int
    result: SessionLab | None = None


class OpenLab:
    """The lab of the session `name`, counted once, with all variants tried so far.

    For a `Worker`. Raises `CtxtuiError`.
    """

    def __init__(self, name: str, cwd: Path, settings: Settings) -> None:
        self._loaded = open_named(locate(name, cwd, settings), settings)
        self._folder, self._own = variants_dir(settings.data_dir), own_models(settings)
        with cached_counter(settings) as counter:
            self._inputs = lab_inputs_of_session(self._loaded.session, counter, settings)
        freeze_loaded()
        self._runs: list[VariantRun] = []
        self._rows: Sequence[LabRow] = ()

    def try_variants(
        self, policies: Sequence[str] = (), caches: Sequence[str] = (), models: Sequence[str] = ()
    ) -> Iterator[LabProgress]:
        """Try these variants in addition to earlier ones. The last step has all rows."""
        yield from self._try_each(make_variants(policies, caches, models, self._own))

    def try_candidates(self) -> Iterator[LabProgress]:
        """Try the policies and cache strategies among which the best are searched."""
        yield from self._try_each(candidate_variants())

    def _try_each(self, variants: Sequence[Variant]) -> Iterator[LabProgress]:
        tried = [run.variant for run in self._runs]
        new = [variant for variant in variants if variant not in tried]
        trial = Experiment(self._inputs, new)
        yield LabProgress(0, trial.total, len(new))
        steps, done = iter(trial), 0
        while batch := list(islice(steps, STEP_CALLS)):
            done = batch[-1]
            yield LabProgress(done, trial.total, len(new))
        self._runs += trial.runs
        result = session_lab(self._inputs, self._runs, self._loaded.name)
        self._rows = result.rows
        yield LabProgress(done, trial.total, len(new), result)

    def write(self, index: int) -> VariantFile:
        """Write the variant of row `index` (from 0) as a session."""
        session, run = self._loaded.session, apply_to_record(self._inputs, self._runs[0], self._runs[index])
        variant = describe_variant(self._rows[index], model=has_several_models(self._rows))
        title = f"{session.about.title or self._loaded.name} (what if: {variant})"
        name = session.about.id or self._loaded.name
        written = write(variant_session(session, run, title))
        return write_variant(self._folder, name, describe_variant(self._rows[index], model=True), written)
