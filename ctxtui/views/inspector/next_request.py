"""What the next request of a chat would hold: the context at the end of the record, and the answer that comes in."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from ctxtui.analysis.figures import figures
from ctxtui.core.call import Call, Fidelity
from ctxtui.views.inspector.composition import Composition
from ctxtui.views.inspector.composition_row import CategoryPart
from ctxtui.views.model.scene import Scene


def next_scene(scene: Scene, model: str) -> Scene | None:
    """The scene of the request that would be sent now, in `scene`'s thread; None while it is not counted."""
    last = scene.calls[-1]
    tip = scene.tip
    if tip == scene.head and not last.id:
        return scene if scene.counted else None
    call = Call("", scene.thread, tip, tip, tip, model=model or last.model, fidelity=Fidelity.WIRE, epoch=last.epoch)
    if not scene.running.counted(tip) or not scene.book.counted(call.model, tip):
        return None
    return replace(scene, calls=[*scene.calls, call], index=len(scene.calls), figures=figures(scene.book, call))


def with_answer(what: Composition, tokens: Mapping[int, int]) -> Composition:
    """`what` with the `tokens` by category of an answer that comes in."""
    more = sum(tokens.values())
    if not more or not what.parts:
        return what
    total = what.total + more
    parts = {part.category: part for part in what.parts}
    for category, count in tokens.items():
        old = parts.get(category) or CategoryPart(category=category, tokens=0, share=0.0)
        parts[category] = replace(old, tokens=old.tokens + count)
    shared = [replace(part, share=part.tokens / total if total else 0.0) for part in parts.values()]
    return replace(what, total=total, reported=False, parts=tuple(sorted(shared, key=lambda part: part.category)))
