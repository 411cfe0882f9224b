"""The lab: simulates a recorded session under many variants at once, without a model call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ctxtui.analysis.lab.recorded_steps import recorded_steps, simulated_calls
from ctxtui.analysis.lab.shared_context import SharedContext
from ctxtui.analysis.lab.variant import Variant, VariantRun
from ctxtui.analysis.lab.variant_pass import LabInputs, VariantPass

Progress = Callable[[int, int], bool]
"""Called with the numbers of calls done and in all; returns whether to continue."""


class Experiment:
    """The session of `inputs` under each of `variants`; everything in its book must be counted.

    Iterating simulates the calls and yields the number done; then `runs` has the results.
    """

    def __init__(self, inputs: LabInputs, variants: Sequence[Variant]) -> None:
        self._inputs = inputs
        self._passes = [VariantPass(inputs, variant) for variant in variants]
        self.total = len(simulated_calls(inputs.book.session))
        self.runs: list[VariantRun] = []

    def __iter__(self) -> Iterator[int]:
        threads: dict[str, SharedContext] = {}
        for done, step in enumerate(recorded_steps(self._inputs.book, self._inputs.rules), 1):
            shared = threads.setdefault(step.call.thread, SharedContext(self._inputs.book))
            context = shared.move_to(step.call)
            for pass_ in self._passes:
                pass_.add_call(step, shared, context)
            yield done
        self.runs = [pass_.finish() for pass_ in self._passes]


def run_experiment(
    inputs: LabInputs, variants: Sequence[Variant], progress: Progress = lambda done, of: True
) -> list[VariantRun]:
    """Run an experiment at once; empty if `progress` stops it."""
    running = Experiment(inputs, variants)
    for done in running:
        if not progress(done, running.total):
            return []
    return running.runs
