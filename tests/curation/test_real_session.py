"""A real recording of over 100k tokens, curated by hand: pinned, summarised, cut, priced, undone, exported, resumed."""

from __future__ import annotations

from itertools import count as numbers

from ctxtui.analysis.call_choice import choose_call
from ctxtui.core import canonical
from ctxtui.core.block import HEADER
from ctxtui.core.edit import make
from ctxtui.core.edit_kinds import DROP, PIN, SUMMARIZE
from ctxtui.curation.apply.apply import apply
from ctxtui.curation.legality.request_check import encode_outgoing
from ctxtui.curation.record_summary import summarize
from ctxtui.offline.anthropic import validate
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import book_for
from ctxtui.services.counting.counting import Counter, count_all
from ctxtui.services.counting.pricing import prices_for
from ctxtui.services.editing.curate import curate_context
from ctxtui.services.editing.edited_context import copy_to_resume
from ctxtui.services.editing.overlay import ThreadEdits
from ctxtui.services.recordings.open import load
from tests.corpus import need_corpus
from tests.transcripts.resumable import claude_code_faults


def test_a_real_session_is_curated_by_hand() -> None:
    (path,) = need_corpus("claude_code", "happy-cli__400429ba.jsonl")
    loaded, counter = load(path), Counter()
    book = book_for(loaded.session, counter, Settings())
    count_all(book, counter)
    chosen = choose_call(loaded.session, "", 205)
    plain = curate_context(book, counter, chosen, prices=prices_for(Settings()))
    context = plain.context
    assert plain.tag.before > 100_000
    ids = (f"a{n}" for n in numbers())
    overlay = ThreadEdits(now=lambda: 1.0, new_id=lambda: next(ids))
    heavy = sorted(range(len(context)), key=lambda p: -len(context.items[p].block.body))
    results = [p for p in heavy if context.items[p].block.kind == "tool_result"][:5]
    pinned = next(p for p in heavy if context.items[p].block.kind == "text")
    overlay.stage_all([make(PIN, [context.target(pinned)])])
    overlay.stage_all([make(DROP, [context.target(p)]) for p in results])
    third = len(context) // 3
    kept = (pinned, *results)
    run = [p for p in range(third, third + 120) if context.items[p].block.kind != HEADER and p not in kept]
    words = summarize(context, run, 1000, lambda block: len(block.body) // 4, "the middle")
    overlay.stage_all([make(SUMMARIZE, context.targets(run), {"text": words})])
    found = curate_context(book, counter, chosen, edits=overlay.in_force, prices=prices_for(Settings()))
    assert found.tag.freed > 5_000 and found.tag.moments[-1].once is not None and found.tag.moments[-1].once < 0
    assert pinned not in found.applied.changes and not found.applied.refused
    overlay.apply()
    body = encode_outgoing(found.applied, None, dialect="anthropic", model="claude-opus-4-5")
    assert validate.refusals(canonical.loads(body.body)) == [] and body.violations == []
    resumed = copy_to_resume(found, path, "claude-code")
    assert claude_code_faults(resumed.data, path.read_bytes(), resumed.id) == []
    while overlay.undo():
        pass
    assert overlay.in_force == ()
    assert apply(context, overlay.in_force).sent == plain.applied.sent
