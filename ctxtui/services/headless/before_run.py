"""What a run finds before its first request: the model's window laid out, the project, whether a budget can be held."""

from __future__ import annotations

from ctxtui.core.block import HEADER
from ctxtui.core.call import Call
from ctxtui.core.usage import Usage
from ctxtui.services.chat.host import Host
from ctxtui.services.chat.model_choice import params_for
from ctxtui.services.counting.books import book_for
from ctxtui.services.counting.counting import Counter
from ctxtui.services.counting.pricing import price_here, prices_for
from ctxtui.services.project.model_window import ModelWindow
from ctxtui.services.project.progress import ReadingProgress
from ctxtui.services.project.report import RunPlan, RunReport, analysed
from ctxtui.tokens.weights import tokens
from ctxtui.wire.request import ANSWER_LIMITS
from ctxtui.wire.speech import user_message


def found_before(host: Host, task: str, counter: Counter, progress: ReadingProgress) -> RunReport:
    """The window and the project of `host`'s chat, which has begun, before it does `task`; for a worker thread, which
    tells `progress` how far it is. Raises
    `BadConfig` where nothing of the window is left."""
    partner, runner, settings = host.partner, host.runner, host.config.settings
    assert partner is not None and runner is not None
    book = book_for(host.session, counter, settings)
    card, weights = book.card(partner.model), book.weights(partner.model)
    takes = {"system": 0, "tools": 0, "task": 0}
    said = [("task", item.block) for item in user_message(runner.conversation.dialect, task)]
    there = [(item.place.section, item.block) for item in host.session.tree.items(runner.conversation.head)]
    for part, block in (*there, *said):
        if part in takes and block.kind != HEADER:
            takes[part] += round(tokens(counter(card)(block), weights))
    params = params_for(partner, settings.answer_tokens)
    limits = [n for n in map(params.get, ANSWER_LIMITS) if isinstance(n, int)]
    takes |= {"answer": limits[0]} if limits else {}
    memory, own = host.files.memory_for(task), host.files.card
    plan = RunPlan(
        model=partner.model,
        task=task,
        takes=takes,
        window=ModelWindow(
            partner.model, own, partner.window or own.window or 0, host.files.usable, partner.origin or "model table"
        ),
        apart=host.files.apart,
        memory=memory.texts if memory is not None else (),
    )
    return analysed(plan, host.config, host.cwd, counter, progress)


def has_price(host: Host) -> bool:
    """Whether it is known what the requests of `host`'s chat cost."""
    partner = host.partner
    assert partner is not None
    one = Call("", "", provider=partner.endpoint.name, model=partner.model, usage=Usage(1), started=host.clock())
    return price_here(prices_for(host.config.settings))([one])[0][0] is not None
