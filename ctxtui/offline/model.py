"""Rules that answer in place of a model, with the tool calls that the user's text asks for.

An *intent* is one thing that the text asks for, such as reading a file. Once its calls are answered, an answer quotes
the lines of their results that are closest to the text.
"""

from __future__ import annotations

import json
import math
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.core.canonical import Json, dump_text
from ctxtui.core.json_values import as_dict, as_list
from ctxtui.offline.answer import CALLS, AnsweredCall, ModelAnswer, Part, PlainText, Thought
from ctxtui.offline.conversation import Task, ToolOffer, ToolOutcome, format_names, make_call, unwrap_script
from ctxtui.offline.simulated_models import is_simulated
from ctxtui.wire.definitions import Definition

SELF: Final = "This is ctxtui's offline provider; no model is running"
SKILLS: Final = "read, find, list, run, remember, write, `call TOOL name=value`, and `say N words`"


class AnswerOptions(Struct, frozen=True):
    """Requirements of the request on its answer.

    - `forced_tool`: the tool that must be called; "*": some tool must be called; "": no call is required.
    - `may_call`: tools may be called at all; `parallel`: several at once.
    - `thinks`: the answer begins with thinking.
    - `schema`: the JSON schema of the text; None: any text.
    - `model`: the requested model; "": the offline model.
    """

    forced_tool: str = ""
    may_call: bool = True
    parallel: bool = True
    thinks: bool = False
    schema: Json = None
    model: str = ""


class Intent(Struct, frozen=True):
    """One thing to do.

    - `verb`: read, find (in texts), files (find by name), list, run, remember, write, call (a tool), say.
    - `word`: the word that the user wrote for it.
    - `subject`, `place`: what to read, find or write, and in which folder or file; of a call, the tool and its
      arguments as written.
    - `step`: its number from 0; intents of one step can be done at once.
    - `has_reference`: the subject or the place is a pronoun, for a path of an earlier step.
    """

    verb: str
    word: str
    subject: str = ""
    place: str = ""
    step: int = 0
    has_reference: bool = False


_VERB_WORDS: Final = {
    "read": "read open show view cat print display load",
    "find": "find search grep locate look glob rg",
    "list": "list ls dir",
    "run": "run execute exec",
    "remember": "remember memorize note memorise",
    "write": "write create",
    "call": "call use invoke",
    "say": "say recite",
}
_VERBS: Final = {word: verb for verb, words in _VERB_WORDS.items() for word in words.split()}
_MAX_SENTENCE_CHARS: Final = 1000
"""The rest of a longer sentence is not parsed; each quotation counts as the few characters of its placeholder."""
_STEPS: Final = re.compile(r"\b(?:and )?(?:then|after that|afterwards|finally)\b|[.!?;](?=\s|$)|\n", re.I)
"""Separate steps."""
_CLAUSES: Final = re.compile(r",|\s+and\s+|\s*&\s*", re.I)
"""Separate intents of one step."""
_VERB: Final = re.compile(rf"\b({'|'.join(sorted(_VERBS, key=len, reverse=True))})\b", re.I)
_QUOTED: Final = re.compile(r"`([^`]+)`|\"([^\"]+)\"|'([^'\s][^']*)'")
"""A quotation: its content is not parsed."""
_WHOLE: Final = re.compile(r'\s*"((?:[^"\\]|\\.)*)"\s*\Z', re.S)
_PLACEHOLDER: Final = re.compile("\x00(\\d+)\x00")
"""Replaces a quotation while the sentence is parsed."""
_LEAD: Final = re.compile(
    r"^(?:(?:me|us|the|a|an|all|any|both|each|every|for|at|up|out|that|to|down|files?|folders?|director(?:y|ies)|"
    r"contents?|of|in|under|named|called|commands?|tools?|text|lines?|with|containing|matching|everything)\s+)+",
    re.I,
)
"""Words before the subject that carry no meaning here."""
_WHERE: Final = re.compile(r"^(.*?)\s+(?:in|under|within|inside|to|into|with|from)\s+(.+)$", re.I | re.S)
"""A subject, and the place to look in."""
_PRONOUN: Final = re.compile(
    r"^(?:it|them|that|this|those|these|what you find|the (?:first|(?:first )?(?:result|hit|file)))$", re.I
)
_MANNER: Final = re.compile(r"\b(?:in parallel|at once|at the same time|please|now|also)\b", re.I)
_FILE: Final = re.compile(r"(?<![\w/.@:])[\w./-]*\w\.[A-Za-z][A-Za-z0-9]{0,7}\b(?!\()")
"""A file's name in running text."""
_FILES: Final = re.compile(r"(?:(?:the|an?|any|all|every|each)\s+)*files?(?=\s|$)(?!\s+containing\b)", re.I)
"""The beginning of a subject that names files, such as ``all files named``."""
_GLOB: Final = re.compile(r"[*?]|^[\w./-]*\w\.[A-Za-z]\w{0,7}$")
"""A subject that names files rather than text."""
_PLAIN_PATH: Final = re.compile(r"^[\w./*~\x00-]+$")
"""One word, such as a path or a quotation: another subject of the same verb."""
_INTRODUCTIONS: Final = {
    "remember": r"^that\s+",
    "run": r"^(?:the )?(?:command|tests?:)\s+",
    "say": r"^that\s+",
}
"""Words between the verb and the subject, by verb."""


def parse_intents(text: str) -> list[Intent]:
    """The intents in `text`, in order.

    If there are none, but `text` has a question mark and names files, the intents are to read these.
    """
    text = strip_quotes(text)
    quotations: list[re.Match[str]] = []

    def stash(match: re.Match[str]) -> str:
        quotations.append(match)
        return f"\x00{len(quotations) - 1}\x00"

    def restore(text: str, verb: str) -> str:
        contents = [quotations[int(n)][quotations[int(n)].lastindex or 0] for n in _PLACEHOLDER.findall(text)]
        if verb in ("remember", "call", "say") and not _PLACEHOLDER.fullmatch(text):
            return _PLACEHOLDER.sub(lambda match: quotations[int(match[1])][0], text)
        # A single quoted part is the whole subject.
        return contents[0] if len(contents) == 1 else _PLACEHOLDER.sub(lambda _: contents.pop(0), text)

    intents: list[Intent] = []
    step = 0
    for sentence in _STEPS.split(_QUOTED.sub(stash, text)):
        sentence_intents = list(_parse_sentence(_MANNER.sub(" ", sentence.strip()[:_MAX_SENTENCE_CHARS]).strip()))
        for intent in sentence_intents:
            step += intent.has_reference and any(earlier.step == step for earlier in intents)
            subject, place = (restore(part, intent.verb) for part in (intent.subject, intent.place))
            intents.append(replace(intent, step=step, subject=subject, place=place))
        step += bool(sentence_intents)
    files = dict.fromkeys(_FILE.findall(text[:_MAX_SENTENCE_CHARS])) if "?" in text else ()
    return intents or [Intent("read", "read", path) for path in files]


def strip_quotes(text: str) -> str:
    """Remove quotes around all of `text`, and escapes, that clients add (facts §13.3)."""
    match = _WHOLE.match(text)
    return re.sub(r'\\(["\\])', r"\1", match[1]) if match else text


def _parse_sentence(text: str) -> Iterator[Intent]:
    first = _VERB.search(text)
    if first is None:
        return
    verb = _VERBS[first[1].lower()]
    if verb in ("remember", "write", "call", "say"):
        yield _parse_intent(verb, first[1], text[first.end() :])
        return
    last: Intent | None = None
    for clause in _CLAUSES.split(text[first.start() :]):
        match = _VERB.match(clause.strip())
        if match is not None:
            last = _parse_intent(_VERBS[match[1].lower()], match[1], clause.strip()[match.end() :])
            yield last
        elif last is not None and last.verb != "run" and _PLAIN_PATH.match(_LEAD.sub("", clause.strip())):
            last = _parse_intent(last.verb, last.word, clause)
            yield last


def _parse_intent(verb: str, word: str, arguments: str) -> Intent:
    arguments = arguments.strip(" :")
    if verb in _INTRODUCTIONS:
        return Intent(verb, word, re.sub(_INTRODUCTIONS[verb], "", arguments))
    if verb == "call":
        name, _, more = re.sub(r"^the\s+(?:tool\s+)?", "", arguments).partition(" ")
        return Intent(verb, word, name, re.sub(r"^\s*(?:tool\s+)?(?:(?:with|for|on)\s+)?", "", more))
    match = _WHERE.match(arguments) if verb in ("find", "write", "list") else None
    subject, place = (match[1], match[2]) if match else (arguments, "")
    by_name = bool(_FILES.match(subject))
    subject, place = (
        text if _PRONOUN.match(text) else _LEAD.sub("", text + " ").strip() for text in (subject.strip(), place.strip())
    )
    if verb == "list":
        subject, place = place or subject, ""
    elif verb == "find" and (by_name or _GLOB.search(subject)):
        verb, subject = "files", subject or "*"
    return Intent(verb, word, subject, place, has_reference=bool(_PRONOUN.match(subject) or _PRONOUN.match(place)))


_TOOLS: Final = {
    "read": ("read open view cat get fetch show load editor", "path file_path filepath filename file uri url name id"),
    "find": ("grep search rg query lookup find locate", "pattern query regex text q search needle term name keyword"),
    "files": ("find glob locate files search ls", "pattern glob name query path"),
    "list": ("list ls dir tree", "path dir directory folder root"),
    "run": ("run bash shell exec execute command terminal python sh", "command cmd code script input"),
    "remember": (
        "remember memory note notes save store memorize",
        "text note content memory fact value file_text insight",
    ),
    "write": ("write create save", "content text file_text contents body"),
}
"""By verb: words in the names of matching tools, and names of the argument for the subject; the likeliest first."""
_TOOL_WORDS: Final = {verb: names.split() for verb, (names, _) in _TOOLS.items()}
_MAIN_ARGUMENTS: Final = {verb: arguments.split() for verb, (_, arguments) in _TOOLS.items()}
_EXPLANATION_ARGUMENTS: Final = "description explanation reason title summary thought intent".split()
"""Arguments for an explanation, with any value."""
_PLACE_ARGUMENTS: Final = "path dir directory folder root file_path filename file".split()
_MEMORY: Final = "/memories/notes.md"
"""The file for what is to be remembered, if the tool requires one."""
_IMAGE: Final = re.compile(r"image|picture|screenshot", re.I)
_PICTURE: Final = re.compile(r"\.(?:png|jpe?g|gif|webp|bmp|svg|pdf)$", re.I)
_PAIR: Final = re.compile(r"\b(\w+)\s*[=:]\s*(?:\"([^\"]*)\"|'([^']*)'|`([^`]*)`|(\S+?)(?=,?\s|,?$))")
"""An explicit argument: ``name=value``."""
# The name or the description of a tool that takes the answer itself.
_FINAL_TOOL_NAME: Final = re.compile(
    r"(?:final_(?:result|answer|output)(?:_\w+)?|submit(?:_answer|_result)?|structured_?output|return_result)$", re.I
)
_DESCRIBED_AS_FINAL: Final = re.compile(r"\bfinal (?:response|answer|result|output)\b[^.]*\bends?\b", re.I)


def find_call(intent: Intent, tools: Sequence[Definition]) -> AnsweredCall | None:
    """The call that fulfils `intent`; None if no tool fits."""
    tool = _best_tool(intent, tools)
    if tool is None or _is_unsuitable(intent, tool) or not _has_main_argument(intent, tool):
        # Without a specific tool, a shell command does it.
        in_shell = Intent("run", "run", _shell_command(intent))
        shell = _best_tool(in_shell, tools) if in_shell.subject else None
        if shell is not None and _main_argument("run", shell) in ("command", "cmd"):
            intent, tool = in_shell, shell
    return make_call(tool, _make_arguments(intent, tool)) if tool is not None else None


def _shell_command(intent: Intent) -> str:
    quoted_subject, quoted_place = shlex.quote(intent.subject), shlex.quote(intent.place or ".")
    spelled = {
        "read": f"cat {quoted_subject}" if intent.subject else "",
        "list": f"ls {quoted_subject if intent.subject else quoted_place}",
        "find": f"grep -rn -e {quoted_subject} {quoted_place}" if intent.subject else "",
        "files": f"find {quoted_place} -name {quoted_subject}" if intent.subject else "",
        "write": f"printf '%s\\n' {quoted_subject} > {quoted_place}" if intent.place else "",
    }
    return spelled.get(intent.verb, "")


def _best_tool(intent: Intent, tools: Sequence[Definition]) -> Definition | None:
    """The tool that fits `intent` best; None if none does.

    Names, descriptions and names of arguments are compared; for an intent to call a tool, the name alone.
    """
    if intent.verb == "call":
        return next((tool for tool in tools if tool.name == intent.subject.strip("`'\"()")), None)
    scored = [(score, -n, tool) for n, tool in enumerate(tools) if (score := _score_tool(intent, tool)) > 0]
    best = max(
        scored,
        default=None,
        key=lambda entry: (not _is_unsuitable(intent, entry[2]), _has_main_argument(intent, entry[2]), *entry[:2]),
    )
    return best[2] if best is not None else None


def _score_tool(intent: Intent, tool: Definition) -> int:
    names = _TOOL_WORDS.get(intent.verb)
    if names is None or (isinstance(tool, ToolOffer) and tool.named_only):
        return 0
    words = [part.lower() for part in re.split(r"[_\W]+|(?<=[a-z])(?=[A-Z])", tool.name) if part]
    rank = min((names.index(word) for word in words if word in names), default=len(names))
    score = 3 * (intent.word.lower() in words) + 2 * (len(names) - rank)
    description_words = set(re.findall(r"[a-z]+", tool.description.lower()))
    score = score or 2 * bool(description_words & {*names, *(f"{name}s" for name in names)})
    return score and score + 2 * _has_main_argument(intent, tool)


def _is_unsuitable(intent: Intent, tool: Definition) -> bool:
    """Whether the arguments or results of `tool` do not fit `intent`.

    Such a tool has no argument for the subject, requires an unknown argument, or returns images that the intent does
    not ask for.
    """
    if intent.verb == "call" or _takes_free_text(tool):
        return False
    image = _IMAGE.search(tool.name) or (isinstance(tool, ToolOffer) and tool.image)
    if (intent.subject and _main_argument(intent.verb, tool) is None) or (
        image and not _PICTURE.search(intent.subject)
    ):
        return True
    known_names = {
        _normalize_name(name) for name in (*_MAIN_ARGUMENTS[intent.verb], *_PLACE_ARGUMENTS, *_EXPLANATION_ARGUMENTS)
    }
    unknown = [
        _properties(tool).get(name) for name in required(tool.schema) if _normalize_name(name) not in known_names
    ]
    return any(type_name(as_dict(schema)) in ("string", "integer", "number") for schema in unknown)


def _has_main_argument(intent: Intent, tool: Definition) -> bool:
    """Whether `tool` has an argument with the usual name for the subject, or takes text."""
    return _takes_free_text(tool) or _find_name(_MAIN_ARGUMENTS.get(intent.verb, ()), _properties(tool)) is not None


def _takes_free_text(tool: Definition) -> bool:
    return isinstance(tool, ToolOffer) and tool.free


def _properties(tool: Definition) -> Mapping[str, Json]:
    return as_dict(as_dict(tool.schema).get("properties"))


def _find_name(names: Iterable[str], properties: Iterable[str]) -> str | None:
    """The first of `names` in `properties`, as it is spelled there; None if none is.

    The name ``file_path`` also matches ``filePath``.
    """
    spelled = {_normalize_name(name): name for name in reversed([*properties])}
    return next((spelled[_normalize_name(name)] for name in names if _normalize_name(name) in spelled), None)


def _normalize_name(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _main_argument(verb: str, tool: Definition) -> str | None:
    """The argument for the subject; None if there is none.

    A usual name is preferred, then a required text or list, then any text or list.
    """
    properties = _properties(tool)
    texts = [name for name, inner in properties.items() if type_name(as_dict(inner)) in ("string", "array")]
    first = [name for name in texts if name in required(tool.schema)]
    return _find_name(_MAIN_ARGUMENTS[verb], properties) or next(iter([*first, *texts]), None)


def _ends_task(tool: Definition) -> bool:
    return bool(_FINAL_TOOL_NAME.match(tool.name) or _DESCRIBED_AS_FINAL.search(tool.description))


def _make_arguments(intent: Intent, tool: Definition) -> Json:
    if intent.verb == "call" or _takes_free_text(tool):
        return _explicit_arguments(intent.place if intent.verb == "call" else intent.subject, tool)
    properties = _properties(tool)
    arguments: dict[str, Json] = {}
    main = _main_argument(intent.verb, tool)
    if main is not None:
        subject = intent.subject or ("." if intent.verb == "list" else "")
        arguments[main] = [subject] if type_name(as_dict(properties[main])) == "array" else subject
    place = _find_name(_PLACE_ARGUMENTS, [name for name in properties if name != main])
    if place is not None and (intent.place or place in required(tool.schema)):
        arguments[place] = intent.place or (_MEMORY if intent.verb == "remember" else ".")
    for name in required(tool.schema):
        if name not in arguments:
            arguments[name] = make_instance(properties.get(name, {}), intent.subject, tool.schema)
    # In the order of the schema, like a model.
    return {name: arguments[name] for name in properties if name in arguments} | arguments


def _explicit_arguments(text: str, tool: Definition) -> Json:
    """The arguments that the user wrote, as JSON, ``name=value`` pairs or one value.

    One value is for the first required argument, else for the first one. Other required arguments get minimal values.
    A tool that takes free text gets `text`, or the only member of a JSON object if that is a text.
    """
    try:
        arguments: Any = json.loads(text)
    except (ValueError, RecursionError):
        arguments = None
    if _takes_free_text(tool):
        values = [*arguments.values()] if isinstance(arguments, dict) else []
        return values[0] if len(values) == 1 and isinstance(values[0], str) else text
    properties = _properties(tool)
    if not isinstance(arguments, dict) or not arguments:
        arguments = {match[1]: next(g for g in match.groups()[1:] if g is not None) for match in _PAIR.finditer(text)}
    if not arguments and text:
        arguments = dict.fromkeys([*required(tool.schema), *properties][:1], text)
    for name in required(tool.schema):
        arguments.setdefault(name, make_instance(properties.get(name, {}), text, tool.schema))
    return {name: _convert_value(value, as_dict(properties.get(name))) for name, value in arguments.items()}


def _convert_value(value: Json, schema: Mapping[str, Json]) -> Json:
    if not isinstance(value, str) or type_name(schema) not in ("integer", "number", "boolean"):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return make_instance(schema, "")


_FORMATS: Final = {
    "date": "2026-01-01",
    "date-time": "2026-01-01T00:00:00Z",
    "time": "00:00:00Z",
    "email": "nobody@example.org",
    "uri": "https://example.org",
    "uuid": "00000000-0000-0000-0000-000000000000",
}
_PLAIN: Final[dict[str, Json]] = {"boolean": False, "null": None}
_MAX_DEPTH: Final = 32
_MAX_ITEMS: Final = 100
_MAX_STRING_CHARS: Final = 10_000
_MIN_STEP: Final = 1e-9
"""A smaller ``multipleOf`` is ignored."""
_MAX_INSTANCE_SIZE: Final = 100_000
"""Characters and values in all: nested schemas multiply."""


def make_instance(schema: Json, text: str, root: Json = None) -> Json:
    """Make a minimal value of `schema`, which is a part of the schema `root` (None: all of it).

    Strings are `text` by default. Supports the providers' structured outputs: types, enum, const, default, anyOf,
    oneOf, allOf (of these the first alternative), $ref into `root`, lengths and bounds. Values that are nested too
    deeply, or beyond `_MAX_INSTANCE_SIZE`, are null.
    """
    return _InstanceMaker(schema if root is None else root, text).make(schema, 0)


class _InstanceMaker:
    def __init__(self, root: Json, text: str) -> None:
        self._root = root
        self._text = text
        self._remaining_size = _MAX_INSTANCE_SIZE

    def make(self, schema: Json, depth: int) -> Json:
        schema_members = as_dict(schema)
        self._remaining_size -= 1
        if depth > _MAX_DEPTH or self._remaining_size < 0:
            return None
        if isinstance(schema_members.get("$ref"), str):
            return self.make(_resolve_reference(schema_members["$ref"], self._root), depth + 1)
        preset = [schema_members[key] for key in ("const", "default") if key in schema_members]
        preset += as_list(schema_members.get("enum"))
        if preset:
            return self._spend(preset[0])
        for several in ("anyOf", "oneOf", "allOf"):
            if as_list(schema_members.get(several)):
                return self.make(schema_members[several][0], depth + 1)
        kind = type_name(schema_members)
        if kind == "object":
            inner = as_dict(schema_members.get("properties"))
            return {name: self.make(inner.get(name, {}), depth + 1) for name in required(schema_members)}
        if kind == "array":
            first = [
                self.make(item_schema, depth + 1)
                for item_schema in as_list(schema_members.get("prefixItems"))[:_MAX_ITEMS]
            ]
            count = _clamp_length(schema_members.get("minItems"), _MAX_ITEMS)
            return first + [self.make(schema_members.get("items", {}), depth + 1) for _ in range(count - len(first))]
        if kind in ("integer", "number"):
            return _nearest_number(schema_members, is_integer=kind == "integer")
        return _PLAIN[kind] if kind in _PLAIN else self._spend(_make_string(schema_members, self._text))

    def _spend(self, value: Json) -> Json:
        self._remaining_size -= len(dump_text(value)) if isinstance(value, str | list | dict) else 0
        return value


def _resolve_reference(reference: str, root: Json) -> Json:
    value = root
    for step in reference.removeprefix("#").strip("/").split("/"):
        value = as_dict(value).get(step.replace("~1", "/").replace("~0", "~"), {}) if step else value
    return value


def required(schema: Json) -> list[str]:
    return [name for name in as_list(as_dict(schema).get("required")) if isinstance(name, str)]


def type_name(schema: Mapping[str, Json]) -> str:
    """The first type of a schema that is not null.

    A schema without a type is an object if it has properties, else a string.
    """
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((name for name in kind if name != "null"), "null")
    return str(kind) if kind else "object" if "properties" in schema else "string"


def _clamp_length(value: Json, limit: int) -> int:
    return min(value, limit) if isinstance(value, int) and value > 0 else 0


def _nearest_number(schema: Mapping[str, Json], *, is_integer: bool) -> Json:
    """The integer nearest to 0 within the bounds of `schema`, or the multiple of ``multipleOf``.

    If there is none, it is a number between the bounds, unless `is_integer`. Bounds above 2**53 are ignored, as is a
    fractional ``multipleOf`` for an integer.
    """

    def bound(key: str) -> float | None:
        value = schema.get(key)
        if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) <= 2**53:
            return None
        return value

    least, over, most, under, step = map(
        bound, ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf")
    )
    unit = step if step and step >= _MIN_STEP and not (is_integer and step % 1) else 1
    lower = [math.ceil(least / unit)] if least is not None else []
    lower += [math.floor(over / unit) + 1] if over is not None else []
    upper = [math.floor(most / unit)] if most is not None else []
    upper += [math.ceil(under / unit) - 1] if under is not None else []
    count = min([max([0, *lower]), *upper])
    if lower and upper and count < max(lower) and not is_integer and not step:
        return (max(n for n in (least, over) if n is not None) + min(n for n in (most, under) if n is not None)) / 2
    value = count * unit
    return value if value % 1 else int(value)


def _make_string(schema: Mapping[str, Json], text: str) -> str:
    value = _FORMATS.get(str(schema.get("format")), text)
    value = value.ljust(_clamp_length(schema.get("minLength"), _MAX_STRING_CHARS), "-")
    most = schema.get("maxLength")
    return value[: max(0, most)] if isinstance(most, int) else value


_STOP_WORDS: Final = frozenset(
    "a an the of in on at to for from with by and or not is are was were be been do does did what which who whom whose "
    "when where why how many much it its this that these those there here i you we they he she me my your our please "
    "can could would should will tell say says said show give read find list run file files then now have has had "
    "remember asked about as so if than into".split()
)
"""Words that are ignored when lines are compared with the task."""
_WORD: Final = re.compile(r"[a-z0-9_]+")
_MAX_WORDS: Final = 200
_MAX_LINE_CHARS: Final = 200
# Anchored at word starts: in one very long word the search would start at every letter.
_PATH: Final = re.compile(r"(?<![\w.-])(?:[\w.-]+/)+[\w.-]+|(?<![\w.-])[\w-]+\.[A-Za-z][A-Za-z0-9]{0,7}\b")
_SUMMARY_ASKED: Final = re.compile(
    r"context checkpoint|checkpoint summary|handoff summary|summary of (?:the|our|this) conversation|"
    r"summarize (?:the|our|this) conversation|prompt for continuing our conversation",
    re.I,
)
"""Requests of clients for a summary, to compact the conversation."""
_TEXT_ONLY: Final = re.compile(r"do not call any tools?\b|respond with text only", re.I)
_MAX_SUMMARY_LINES: Final = 200
_FILLER: Final = ("offline", "text", "that", "no", "model", "wrote", "and", "nobody", "needs", "to", "read")
"""Fills a text up to its required length."""


def answer_task(task: Task, options: AnswerOptions) -> ModelAnswer:
    """The calls that `task` asks for and that are not done; else a text: summary, JSON, quotes."""
    intents = parse_intents(task.task)
    calls = _next_calls(task, options, intents)
    if calls:
        calls_text = ", ".join(" ".join(unwrap_script(call.name, call.arguments_text)) for call in calls)
        parts: list[Part] = [PlainText(f"I call {calls_text}.")] if not options.forced_tool else []
        return ModelAnswer(
            (*_make_thought(f"To do: {shorten(task.task)!r}. {calls_text} fits.", options), *parts, *calls), CALLS
        )
    if _SUMMARY_ASKED.search(task.task):
        text = f"{SELF}. So far:\n{summarize(task, with_task=False)}"
        text = f"<summary>\n{text}\n</summary>" if "<summary>" in task.task else text
    elif options.schema is not None:
        text = dump_text(make_instance(options.schema, shorten(task.task) or "offline"))
    else:
        text = _answer_text(task, options, intents)
    return ModelAnswer(
        (*_make_thought(f"Nothing left to call for {shorten(task.task)!r}; I quote.", options), PlainText(text))
    )


def _make_thought(text: str, options: AnswerOptions) -> tuple[Thought, ...]:
    return (Thought(f"{SELF}. {text}"),) if options.thinks else ()


def _next_calls(task: Task, options: AnswerOptions, intents: Sequence[Intent]) -> list[AnsweredCall]:
    """The calls of the next step that is not done; empty if nothing is to be called.

    After the last step, it is a call of the tool that ends the task. If parallel calls are not allowed, it is only the
    first call of the step.
    """
    silent = _SUMMARY_ASKED.search(task.task) or _TEXT_ONLY.search(task.task)
    if not options.may_call or not task.tools or (silent and not options.forced_tool):
        return []
    tools = [
        tool
        for tool in task.tools
        if options.forced_tool in ("", "*", tool.name)
        or (isinstance(tool, ToolOffer) and tool.code == options.forced_tool)
    ]
    fitting = [
        (intent, call) for intent in intents for call in (find_call(_resolve(intent, task), tools),) if call is not None
    ]
    remaining = fitting[task.call_count :]
    step = [call for intent, call in remaining if intent.step == remaining[0][0].step]
    last = _last_tool(task, options, tools) if not step else None
    if last is not None:
        # A tool for the answer with one argument gets the answer; others get minimal values, with the task as text.
        is_only_argument = len(_properties(last)) == 1 and _ends_task(last)
        text = (
            _answer_text(task, options, intents) if is_only_argument else shorten(strip_quotes(task.task)) or "offline"
        )
        step = [make_call(last, make_instance(last.schema, text))]
    return step if options.parallel else step[:1]


def _last_tool(task: Task, options: AnswerOptions, tools: Sequence[Definition]) -> Definition | None:
    """The tool to call after the last step; None: no call.

    It is the tool that takes the answer, once, or again if a call is required. Without such a tool, a required call
    goes to the tool that was called least.
    """
    called = Counter(outcome.name for outcome in task.outcomes)
    ends = next((tool for tool in tools if _ends_task(tool)), None)
    if ends is not None and (not called[ends.name] or options.forced_tool):
        return ends
    # Repeating the same one would never end.
    return min(tools, key=lambda tool: called[tool.name], default=None) if options.forced_tool else None


def _resolve(intent: Intent, task: Task) -> Intent:
    """Replace pronouns by paths of the results and calls so far, if there are any.

    A subject becomes the first returned path; a place becomes the last requested path, else the last returned one.
    """
    if not intent.has_reference:
        return intent
    returned_paths, requested_paths = (
        list(dict.fromkeys(path for text in texts for path in _PATH.findall(text)))
        for texts in ([outcome.text for outcome in task.outcomes], [outcome.arguments for outcome in task.outcomes])
    )
    subject = returned_paths[0] if returned_paths and _PRONOUN.match(intent.subject) else intent.subject
    place = (requested_paths or returned_paths or [intent.place])[-1] if _PRONOUN.match(intent.place) else intent.place
    return replace(intent, subject=subject, place=place)


def _answer_text(task: Task, options: AnswerOptions, intents: Sequence[Intent]) -> str:
    requested = next((intent for intent in intents if intent.verb == "say"), None)
    if requested is not None:
        # As many words as requested.
        number, _, unit = requested.subject.partition(" ")
        if number.isdecimal() and unit.startswith(("word", "token")):
            return " ".join(_FILLER[n % len(_FILLER)] for n in range(min(int(number[:9]), 200_000)))
        return requested.subject or "nothing"
    sender = SELF + (f", with the rules of {options.model}" if is_simulated(options.model) else "")
    quoted = _quote_lines(task)
    if task.outcomes:
        return "\n".join([f"{sender}. What came back:", *map(_report_outcome, task.outcomes), *quoted])
    notes = [intent.subject for intent in intents if intent.verb == "remember"]
    if notes:
        return f"{sender}. Noted, as long as it is in the context: {'; '.join(notes)}."
    if intents:
        verbs = ", ".join(sorted({intent.verb for intent in intents}))
        return f"{sender}. I would {verbs}, but no tool offered fits: {format_names(task.tools)}."
    if quoted:
        return "\n".join([f"{sender}.", *quoted])
    return (
        f"{sender}. I understand {SKILLS}, one after the other with `then`. Tools offered: {format_names(task.tools)}."
    )


def _report_outcome(outcome: ToolOutcome) -> str:
    if outcome.failed:
        return f"- {outcome.name} {outcome.arguments} failed: {shorten(outcome.text.strip())}"
    lines = outcome.text.splitlines()
    first = next((line.strip() for line in lines if line.strip()), "nothing")
    count = "1 line" if len(lines) == 1 else f"{len(lines)} lines"
    return f"- {outcome.name} {outcome.arguments}: {count}, `{shorten(first)}`"


def _quote_lines(task: Task) -> list[str]:
    """The three lines that share most words with the task, best first, under a heading.

    They are from the results, or from the context if there are no results. Empty if no line shares a word.
    """
    sources = [(f"{outcome.name} {outcome.arguments}", outcome.text) for outcome in task.outcomes] or task.earlier_texts
    words = dict.fromkeys(_WORD.findall(task.task.lower()))
    task_words = {*[word for word in words if word not in _STOP_WORDS and len(word) > 1][:_MAX_WORDS]}
    lines = [(source, line) for source, text in sources for line in text.splitlines()] if task_words else []
    shared_words = [_shared_words(line.lower(), task_words) for _, line in lines]
    common = Counter(word for shared in shared_words for word in shared)
    scores = [sum(1 + 1 / common[word] for word in shared) for shared in shared_words]
    # By number of words, rare words first, the later of two equal lines.
    best = sorted((n for n in range(len(lines)) if scores[n] > 0), key=lambda n: (-scores[n], -n))[:3]
    quotes = [f"- {lines[n][0]}: `{shorten(lines[n][1].strip())}`" for n in best]
    return ["Closest to what you ask:", *quotes] if quotes else []


def _shared_words(line: str, words: set[str]) -> set[str]:
    # A substring test first is many times as fast.
    return words.intersection(_WORD.findall(line)) if any(word in line for word in words) else set()


def shorten(line: str) -> str:
    return line if len(line) <= _MAX_LINE_CHARS else f"{line[: _MAX_LINE_CHARS - 1]}…"


def summarize(task: Task, *, with_task: bool) -> str:
    """The first three lines of each text and result; of these, the last `_MAX_SUMMARY_LINES`.

    System and developer messages are left out: clients send them again after a compaction.
    """
    task_text = [("user", task.task)] if with_task else []
    results = [(outcome.name, outcome.text) for outcome in task.outcomes]
    lines: list[str] = []
    for source, text in [*task.earlier_texts, *task_text, *results]:
        if source not in ("developer", "system"):
            text_lines = [line.strip() for line in text.splitlines() if line.strip()]
            lines += [f"{source}: {shorten(line)}" for line in text_lines[:3]]
    return "\n".join(lines[-_MAX_SUMMARY_LINES:])
