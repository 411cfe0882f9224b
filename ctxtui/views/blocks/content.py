"""Lines of an opened block: Markdown, code, diff, arguments, JSON, image facts, raw JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import chain
from typing import Final

from msgspec import Struct

from ctxtui.analysis.content.search import Find
from ctxtui.analysis.money.ledger import CostLedger
from ctxtui.core.block import NOT_RECORDED, Block
from ctxtui.core.block_content import BlockContent, Media, arguments_value
from ctxtui.core.canonical import Json, loads
from ctxtui.core.category import CATEGORIES
from ctxtui.core.file_accesses import PATH_KEYS
from ctxtui.tokens.image import media_size
from ctxtui.views.blocks import code_text, json_text, markdown
from ctxtui.views.blocks.body import Body
from ctxtui.views.blocks.markdown import Highlight
from ctxtui.views.model.preview import media_line
from ctxtui.views.model.scene import Scene
from ctxtui.views.text import numbers, safe_text
from ctxtui.views.text.span import Span, Spans, plain

MAX_INDENTED_JSON_CHARS: Final = 2_000_000
# Arguments of editing tools with the replaced and the new text.
OLD_TEXT_KEYS: Final = ("old_string", "old_str", "old", "oldString", "oldText")
NEW_TEXT_KEYS: Final = ("new_string", "new_str", "new", "newString", "newText")


class Content(Struct, frozen=True):
    """The lines of a block, made on demand.

    - `total`: their number, None if unknown.
    - `hang`: indent of continuation lines.
    - `lead`: so many first lines are about the block and are always shown.
    - `texts`: yields the lines again without styles, if that is cheaper.
    """

    lines: Iterator[Spans]
    total: int | None = None
    hang: int = 0
    lead: int = 0
    texts: Callable[[], Iterator[str]] | None = None

    def body(self, room: int, find: Find | None = None) -> Body:
        return Body(self.lines, room, self.total, self.hang, find, self.lead, self.texts)


def raw(block: Block) -> Content:
    text = block.body.decode("utf-8", "replace")
    texts = partial(safe_text.lines, text)
    return Content((safe_text.spans(line, "dim") for line in texts()), 1, texts=texts)


def content(
    category: int,
    block_content: BlockContent,
    value: Json,
    *,
    call: BlockContent | None = None,
    highlight: Highlight | None = None,
    facts: tuple[str, ...] = (),
) -> Content:
    """The lines of an opened block of `category`.

    - `value`: the block's JSON, from which a tool definition is shown.
    - `call`: the call that a result answers; its path gives the language.
    - `facts`: lines about images and files, in the order of the block's media.
    """
    name = CATEGORIES[category]
    if name == "tool_call":
        return Content(_argument_lines(block_content, highlight))
    parts: list[Iterator[Spans]] = []
    total: int | None = 0
    if block_content.text or not block_content.media:
        main = _tool_definition(value) if name == "tools" else _text_content(name, block_content, call, highlight)
        parts.append(main.lines)
        total = main.total
        if not block_content.media and not facts:
            return main
    for number, media in enumerate(block_content.media):
        label = facts[number] if number < len(facts) else media_line(media)
        line: Spans = [Span("□ ", "cat-image"), Span(safe_text.line(label))]
        parts.append(iter([line]))
    return Content(chain.from_iterable(parts), None if total is None else total + len(block_content.media))


def _text_content(
    name: str, block_content: BlockContent, call: BlockContent | None, highlight: Highlight | None
) -> Content:
    text = block_content.text
    if not text:
        withheld = (
            f"{block_content.hidden:,} encrypted characters: the provider withholds the text"
            if block_content.hidden
            else "(empty)"
        )
        return Content(iter([[Span(withheld, "dim italic")]]), 1)
    total = text.count("\n") + (not text.endswith("\n"))
    if name == "tool_result":
        return _result_content(text, total, call, highlight)
    voice = "dim italic" if name == "thinking" else "ink"
    return Content(markdown.lines(safe_text.lines(text), voice, highlight), total, texts=partial(safe_text.lines, text))


def _result_content(text: str, total: int, call: BlockContent | None, highlight: Highlight | None) -> Content:
    hint = _path_of(call) if call else ""
    if code_text.is_numbered(text):
        return Content(code_text.numbered_lines(text, hint, highlight), total, hang=4)
    if text[:1] in "{[" and len(text) <= MAX_INDENTED_JSON_CHARS:
        laid_out = _json_content(text)
        if laid_out is not None:
            return laid_out
    if text.startswith(("diff --git ", "--- a/", "Index: ")):
        hint = "diff"
    texts = partial(safe_text.lines, text)
    if not hint or highlight is None:
        return Content((safe_text.spans(line, "ink") for line in texts()), total, texts=texts)
    return Content(code_text.styled_lines(text, hint, highlight), total, texts=partial(code_text.plain_lines, text))


def _json_content(text: str) -> Content | None:
    try:
        value = loads(text)
    except (ValueError, RecursionError):
        return None
    return Content(json_text.lines(value)) if isinstance(value, Mapping | list) else None


def _path_of(call: BlockContent) -> str:
    arguments = arguments_value(call) if call.arguments else None
    if not isinstance(arguments, Mapping):
        return ""
    return next((str(arguments[key]) for key in PATH_KEYS if isinstance(arguments.get(key), str)), "")


def _argument_lines(block_content: BlockContent, highlight: Highlight | None) -> Iterator[Spans]:
    arguments = arguments_value(block_content) if block_content.arguments else {}
    if isinstance(arguments, str):
        yield from (safe_text.spans(line, "ink") for line in safe_text.lines(arguments))
        return
    if not isinstance(arguments, Mapping):
        yield from json_text.lines(arguments)
        return
    hint = _path_of(block_content)
    for key, item in arguments.items():
        name = Span(safe_text.line(str(key)) + "  ", "cat-call")
        if isinstance(item, str) and "\n" not in item:
            yield [name, *safe_text.spans(safe_text.line(item), "ink")]
        elif isinstance(item, str):
            yield [name]
            yield from _long_argument(str(key), item, hint, highlight)
        elif isinstance(item, Mapping | list) and item:
            yield [name]
            yield from ([Span("  "), *line] for line in json_text.lines(item))
        else:
            yield [name, *json_text.scalar(item)]
    if not arguments:
        yield [Span("(no input)", "dim")]


def _long_argument(key: str, text: str, hint: str, highlight: Highlight | None) -> Iterator[Spans]:
    if key in OLD_TEXT_KEYS or key in NEW_TEXT_KEYS:
        sign, style = ("-", "del on-del-bg") if key in OLD_TEXT_KEYS else ("+", "add on-add-bg")
        yield from ([Span(f"  {sign} ", style.split()[0]), Span(line, style)] for line in safe_text.lines(text))
        return
    language = hint or ("bash" if key in ("command", "cmd") else "")
    if highlight and language:
        yield from ([Span("  "), *line] for line in code_text.styled_lines(text, language, highlight))
    else:
        yield from ([Span("  "), *line] for line in markdown.lines(safe_text.lines(text), "ink", highlight))


def _tool_definition(value: Json) -> Content:
    inner = value.get("function", value) if isinstance(value, Mapping) else value
    if not isinstance(inner, Mapping) or not isinstance(inner.get("description"), str):
        return Content(json_text.lines(value))
    about = markdown.lines(safe_text.lines(inner["description"]))
    rest = {key: item for key, item in inner.items() if key != "description"}
    return Content(chain(about, json_text.lines(rest)))


def excerpt(text: str, at: int) -> Content:
    """The lines of `text` from character `at` on, after a line with the number of lines above."""
    above = text.count("\n", 0, at)
    heading: list[Spans] = [[Span(f"⋯ {numbers.many(above, 'line')} above", "dim")]] if above else []
    below = text.count("\n", at) + (at < len(text) and not text.endswith("\n"))
    return Content(
        chain(heading, (safe_text.spans(line, "ink") for line in safe_text.lines(text, at))), len(heading) + below
    )


def prepend(head: list[Spans], rest: Content) -> Content:
    if not head:
        return rest
    total = None if rest.total is None else rest.total + len(head)
    rest_texts = rest.texts
    texts = (lambda: chain(map(plain, head), rest_texts())) if rest_texts is not None else None
    return Content(chain(head, rest.lines), total, rest.hang, len(head), texts)


def loading() -> Content:
    return Content(iter([[Span("·", "faint")]]), 1)


def describe_unrecorded(tokens: int, low: int, high: int, name: str, attached: int | None) -> Content:
    """Explain the unrecorded part of a context.

    `low` and `high` bound its `tokens`, `name` says what it is. `attached` more came after a compaction; None: the
    request is recorded completely.
    """
    kind = NOT_RECORDED.replace("_", " ")
    likely = "" if attached is None else "most likely "
    sentences = [f"{kind}: about {tokens:,} tokens ({low:,} to {high:,}), {likely}{name}."]
    if attached is None:
        sentences.append("Inferred from this call's report: its input minus the blocks of the request.")
    else:
        sentences.append(
            "Inferred once per epoch: the input that the provider reported for its first call, minus the recorded "
            "blocks."
        )
        if attached:
            sentences.append(
                f"Re-attached: about {attached:,} tokens that the client sent again after the compaction (files it had "
                "read, lists, reminders). The recording does not contain them."
            )
    return Content(iter([[Span(line, "dim")] for line in sentences]), len(sentences))


def media_facts(block_content: BlockContent, scene: Scene, node: int, ledger: CostLedger | None) -> tuple[str, ...]:
    """One line for each image and file of the block, which has at least one.

    The last row has tokens and cost.
    """
    lines = [_media_fact(media) for media in block_content.media]
    if scene.running.is_counted(node):
        tokens = scene.running.block_tokens(node)
        usd = ledger.block_usd(node, tokens, scene.number) if ledger else None
        lines[-1] += f" · {numbers.tokens(tokens)} tokens"
        if usd is not None:
            lines[-1] += f" · {numbers.money(usd)} so far"
    return tuple(lines)


def _media_fact(media: Media) -> str:
    size = media_size(media)
    return media_line(media) + (f", {size[1]} × {size[2]} pixels" if size else "")
