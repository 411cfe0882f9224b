"""The lab: a recorded session under many variants at once, call by call, without a model call."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ctxtui.analysis.lab.recorded import recorded_steps, simulated_calls
from ctxtui.analysis.lab.shared_context import SharedContext
from ctxtui.analysis.lab.variant import Variant, VariantRun
from ctxtui.analysis.lab.variant_pass import Bench, VariantPass

Progress = Callable[[int, int], bool]
"""Is told how many of how many calls are done; whether to go on."""


def experiment(
    bench: Bench, variants: Sequence[Variant], progress: Progress = lambda done, of: True
) -> list[VariantRun]:
    """The session of `bench` under each of `variants`, in their order; everything in its book must be counted. Nothing
    where `progress` says to stop."""
    passes = [VariantPass(bench, variant) for variant in variants]
    threads: dict[str, SharedContext] = {}
    total = len(simulated_calls(bench.book.session))
    for done, step in enumerate(recorded_steps(bench.book, bench.rules)):
        if not progress(done, total):
            return []
        shared = threads.setdefault(step.call.thread, SharedContext(bench.book))
        context = shared.go(step.call)
        for one in passes:
            one.take(step, shared, context)
    return [one.done() for one in passes]
