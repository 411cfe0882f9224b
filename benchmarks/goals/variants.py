"""The lab: ten variants of a recorded session against one simulation of it as recorded (goal G16)."""

from __future__ import annotations

import gc
import time
from pathlib import Path

from benchmarks.measure import Result, ratio
from benchmarks.sessions import session

LIMIT = 15.0


def results(folder: Path, runs: int) -> list[Result]:
    """A session of 2,000 messages and 4 MB, counted before the clock starts; processor time."""
    from ctxtui.services.config.settings import Settings
    from ctxtui.services.counting.counting import Counter
    from ctxtui.services.lab.experiment import bench_of, run
    from ctxtui.services.lab.variants import variants
    from ctxtui.services.recordings.open import load

    loaded, settings, counter = load(session(folder, 2_000, 4_000_000)).session, Settings(), Counter()
    bench_of(loaded, counter, settings)
    ten, alone = variants((), (), ()), variants((), (), ())[:1]

    def spent(some) -> float:  # type: ignore[no-untyped-def]
        bench = bench_of(loaded, counter, settings)
        gc.collect()
        begun = time.process_time()
        run(bench, some)
        return time.process_time() - begun

    found = ratio(lambda: spent(ten), lambda: spent(alone), max(1, runs // 3))
    note = f"{found[1]:.2f} / {found[2]:.3f} s, {len(loaded.calls)} calls"
    return [Result("G16", f"{len(ten)} variants of a session", "one simulation of it", found[0], LIMIT, note=note)]
