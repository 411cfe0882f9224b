"""Rules that answer instead of a model: the request's intents, the matching tools, the answer's text.

Arguments are taken from the context; no other knowledge exists.
"""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.core.canonical import Json, dump_text
from ctxtui.offline.answer import CALLS, AnsweredCall, ModelAnswer, Part, Thought, Words
from ctxtui.offline.conversation import ScriptTask, ToolOffer, ToolOutcome, format_names, make_call, unwrap_script
from ctxtui.offline.json_shape import members, rows
from ctxtui.wire.definitions import Definition

SELF: Final = "I am no model: this is ctxtui's offline provider"
SKILLS: Final = "read, find, list, run, remember, write, and `call TOOL name=value`"


class Manner(Struct, frozen=True):
    """Requirements of the request on its answer.

    `forced` is a tool's name, "*" for any tool, "" for none, `calls`: tools may be called at all, `parallel`: several
    at once. `thinks`: with thinking. `form` is the JSON schema of the text. `stands_for` is the model whose rules are
    simulated.
    """

    forced: str = ""
    calls: bool = True
    parallel: bool = True
    thinks: bool = False
    form: Json = None
    stands_for: str = ""


class Intent(Struct, frozen=True):
    """One thing to do: `verb` (read, find in texts, files by name ...), the original `word`, `what` and `where`.

    Intents of one `step` (from 0) can be done at once; `refers`: an argument is the subject or result of an earlier
    step.
    """

    verb: str
    word: str
    what: str = ""
    where: str = ""
    step: int = 0
    refers: bool = False


_SAID: Final = {
    "read": "read open show view cat print display load",
    "find": "find search grep locate look glob rg",
    "list": "list ls dir",
    "run": "run execute exec",
    "remember": "remember memorize note memorise",
    "write": "write create",
    "call": "call use invoke",
    "say": "say recite",
}
_VERBS: Final = {word: verb for verb, words in _SAID.items() for word in words.split()}
_LONGEST_SENTENCE: Final = 1000
"""Maximum characters of a sentence, without quotations: a longer one is no plain sentence, and is not parsed."""
_STEPS: Final = re.compile(r"\b(?:and )?(?:then|after that|afterwards|finally)\b|[.!?;](?=\s|$)|\n", re.I)
_CLAUSES: Final = re.compile(r",|\s+and\s+|\s*&\s*", re.I)
_VERB: Final = re.compile(rf"\b({'|'.join(sorted(_VERBS, key=len, reverse=True))})\b", re.I)
_QUOTED: Final = re.compile(r"`([^`]+)`|\"([^\"]+)\"|'([^'\s][^']*)'")
_WHOLE: Final = re.compile(r'\s*"((?:[^"\\]|\\.)*)"\s*\Z', re.S)
_HELD: Final = re.compile("\x00(\\d+)\x00")
_LEAD: Final = re.compile(
    r"^(?:(?:me|us|the|a|an|all|any|both|each|every|for|at|up|out|that|to|down|files?|folders?|director(?:y|ies)|"
    r"contents?|of|in|under|named|called|commands?|tools?|text|lines?|with|containing|matching|everything)\s+)+",
    re.I,
)
_WHERE: Final = re.compile(r"^(.*?)\s+(?:in|under|within|inside|to|into|with|from)\s+(.+)$", re.I | re.S)
_PRONOUN: Final = re.compile(
    r"^(?:it|them|that|this|those|these|what you find|the (?:first|result|hit|file)\b.*)$", re.I
)
_PARALLEL: Final = re.compile(r"\b(?:in parallel|at once|at the same time|please|now|also)\b", re.I)
_FILE: Final = re.compile(r"(?<![\w/.@:])[\w./-]*\w\.[A-Za-z][A-Za-z0-9]{0,7}\b(?!\()")
_FILES: Final = re.compile(r"\b(?:\w+\s+)?files?\s", re.I)
_GLOB: Final = re.compile(r"[*?]|^[\w./-]*\w\.[A-Za-z]\w{0,7}$")
_PLAIN_PATH: Final = re.compile(r"^[\w./*~\x00-]+$")
_INTRODUCED: Final = {
    "remember": r"^that\s+",
    "run": r"^(?:the )?(?:command|tests?:)\s+",
    "say": r"^(?:the )?(?:command|tests?:)\s+",
}


def parse_intents(text: str) -> list[Intent]:
    """All intents in `text`, in order, ignoring quotes around the whole.

    A question about a file means reading it.
    """
    text = strip_quotes(text)
    held: list[str] = []

    def hold(found: re.Match[str]) -> str:
        held.append(next(group for group in found.groups() if group is not None))
        return f"\x00{len(held) - 1}\x00"

    def back(text: str) -> str:
        # Only the quoted part if there is one, as it is the subject.
        found = _HELD.findall(text)
        return held[int(found[0])] if len(found) == 1 else _HELD.sub(lambda one: held[int(one[1])], text)

    made: list[Intent] = []
    step = 0
    for sentence in _STEPS.split(_QUOTED.sub(hold, text)):
        found = list(_sentence(_PARALLEL.sub(" ", sentence.strip()[:_LONGEST_SENTENCE]).strip()))
        for wish in found:
            step += wish.refers and any(w.step == step for w in made)
            made.append(replace(wish, step=step, what=back(wish.what), where=back(wish.where)))
        step += bool(found)
    asked = dict.fromkeys(_FILE.findall(text[:_LONGEST_SENTENCE])) if "?" in text else ()
    return made or [Intent("read", "read", path) for path in asked]


def strip_quotes(text: str) -> str:
    """Remove quotes around the whole `text`, as clients add them to a command-line argument (facts §13.3)."""
    whole = _WHOLE.match(text)
    return re.sub(r'\\(["\\])', r"\1", whole[1]) if whole else text


def _sentence(text: str) -> Iterator[Intent]:
    first = _VERB.search(text)
    if first is None:
        return
    verb = _VERBS[first[1].lower()]
    if verb in ("remember", "write", "call", "say"):
        yield _wish(verb, first[1], text[first.end() :])
        return
    last: Intent | None = None
    for clause in _CLAUSES.split(text[first.start() :]):
        found = _VERB.match(clause.strip())
        if found is not None:
            last = _wish(_VERBS[found[1].lower()], found[1], clause.strip()[found.end() :])
            yield last
        elif last is not None and last.verb != "run" and _PLAIN_PATH.match(_LEAD.sub("", clause.strip())):
            last = _wish(last.verb, last.word, clause)
            yield last


def _wish(verb: str, word: str, rest: str) -> Intent:
    rest = rest.strip(" :")
    if verb in _INTRODUCED:
        return Intent(verb, word, re.sub(_INTRODUCED[verb], "", rest))
    if verb == "call":
        name, _, more = re.sub(r"^the\s+(?:tool\s+)?", "", rest).partition(" ")
        return Intent(verb, word, name, re.sub(r"^(?:tool\s+)?(?:with|for|on)?\s*", "", more))
    parted = _WHERE.match(rest) if verb in ("find", "write", "list") else None
    what, where = (parted[1], parted[2]) if parted else (rest, "")
    by_name = bool(_FILES.match(what))
    what, where = (_LEAD.sub("", text.strip() + " ").strip() for text in (what, where))
    if verb == "list":
        what, where = where or what, ""
    elif verb == "find" and (by_name or _GLOB.search(what)):
        verb = "files"
    return Intent(verb, word, what, where, refers=bool(_PRONOUN.match(what) or _PRONOUN.match(where)))


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
"""By verb: words in the names of matching tools, the likeliest first; and the main argument."""
_NAMES: Final = {verb: names.split() for verb, (names, _) in _TOOLS.items()}
_MAIN: Final = {verb: arguments.split() for verb, (_, arguments) in _TOOLS.items()}
_BY_THE_WAY: Final = "description explanation reason title summary thought intent".split()
"""Arguments for an explanation, with any value."""
_PLACE: Final = "path dir directory folder root file_path filename file".split()
_MEMORY: Final = "/memories/notes.md"
_IMAGE: Final = re.compile(r"image|picture|screenshot", re.I)
_PICTURE: Final = re.compile(r"\.(?:png|jpe?g|gif|webp|bmp|svg|pdf)$", re.I)
_PAIR: Final = re.compile(r"\b(\w+)\s*[=:]\s*(?:\"([^\"]*)\"|'([^']*)'|(\S+?)(?=,?\s|,?$))")
_ENDS: Final = re.compile(
    r"(?:final_(?:result|answer|output)(?:_\w+)?|submit(?:_answer|_result)?|structured_?output|return_result)$", re.I
)
_TOLD_TO_END: Final = re.compile(r"\bfinal (?:response|answer|result|output)\b[^.]*\bends?\b", re.I)


def find_call(wish: Intent, tools: Sequence[Definition]) -> AnsweredCall | None:
    """The call that fulfils `wish`; None if no tool fits."""
    tool = _best_tool(wish, tools)
    if tool is None or _is_unsuitable(wish, tool) or not _says(wish, tool):
        # A shell does what no specific tool does.
        in_shell = Intent("run", "run", _command(wish))
        shell = _best_tool(in_shell, tools) if in_shell.what else None
        if shell is not None and _main("run", shell) in ("command", "cmd"):
            wish, tool = in_shell, shell
    return make_call(tool, _arguments(wish, tool)) if tool is not None else None


def _command(wish: Intent) -> str:
    """The shell command for an intent; "" if there is none."""
    what, where = shlex.quote(wish.what), shlex.quote(wish.where or ".")
    spelled = {
        "read": f"cat {what}" if wish.what else "",
        "list": f"ls {what if wish.what else where}",
        "find": f"grep -rn -e {what} {where}" if wish.what else "",
        "files": f"find {where} -name {what}" if wish.what else "",
        "write": f"printf '%s\\n' {what} > {where}" if wish.where else "",
    }
    return spelled.get(wish.verb, "")


def _best_tool(wish: Intent, tools: Sequence[Definition]) -> Definition | None:
    """The tool that fits `wish` best, by its name, its description and the names of its arguments."""
    if wish.verb == "call":
        return next((tool for tool in tools if tool.name == wish.what.strip("`'\"()")), None)
    scored = [(score, -n, tool) for n, tool in enumerate(tools) if (score := _score(wish, tool)) > 0]
    best = max(scored, default=None, key=lambda one: (not _is_unsuitable(wish, one[2]), _says(wish, one[2]), *one[:2]))
    return best[2] if best is not None else None


def _score(wish: Intent, tool: Definition) -> int:
    names = _NAMES.get(wish.verb)
    if names is None or (isinstance(tool, ToolOffer) and tool.named_only):
        return 0
    words = [part.lower() for part in re.split(r"[_\W]+|(?<=[a-z])(?=[A-Z])", tool.name) if part]
    rank = min((names.index(word) for word in words if word in names), default=len(names))
    score = 3 * (wish.word.lower() in words) + 2 * (len(names) - rank)
    description_words = set(re.findall(r"[a-z]+", tool.description.lower()))
    score = score or 2 * bool(description_words & {*names, *(f"{name}s" for name in names)})
    return score and score + 2 * _says(wish, tool)


def _is_unsuitable(wish: Intent, tool: Definition) -> bool:
    """Whether `tool` does not fit: no argument for the subject, unknown required arguments, or unrequested pictures."""
    if wish.verb == "call" or _is_free(tool):
        return False
    image = _IMAGE.search(tool.name) or (isinstance(tool, ToolOffer) and tool.image)
    if (wish.what and _main(wish.verb, tool) is None) or (image and not _PICTURE.search(wish.what)):
        return True
    known = {_letters(name) for name in (*_MAIN[wish.verb], *_PLACE, *_BY_THE_WAY)}
    unknown = [_properties(tool).get(name) for name in required(tool.schema) if _letters(name) not in known]
    return any(type_name(members(schema)) in ("string", "integer", "number") for schema in unknown)


def _says(wish: Intent, tool: Definition) -> bool:
    """Whether `tool` has an argument with the usual name for the subject, or takes text."""
    return _is_free(tool) or _named(_MAIN.get(wish.verb, ()), _properties(tool)) is not None


def _is_free(tool: Definition) -> bool:
    return isinstance(tool, ToolOffer) and tool.free


def _properties(tool: Definition) -> Mapping[str, Json]:
    return members(members(tool.schema).get("properties"))


def _named(names: Iterable[str], properties: Iterable[str]) -> str | None:
    """The first of `names` in `properties`, in their spelling: ``file_path`` may be ``filePath``."""
    spelled = {_letters(name): name for name in reversed([*properties])}
    return next((spelled[_letters(name)] for name in names if _letters(name) in spelled), None)


def _letters(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _main(verb: str, tool: Definition) -> str | None:
    """The argument for the subject."""
    properties = _properties(tool)
    texts = [name for name, inner in properties.items() if type_name(members(inner)) in ("string", "array")]
    first = [name for name in texts if name in required(tool.schema)]
    return _named(_MAIN[verb], properties) or next(iter([*first, *texts]), None)


def _ends_task(tool: Definition) -> bool:
    """Whether `tool` takes the answer itself, as in agents that return their output by a tool."""
    return bool(_ENDS.match(tool.name) or _TOLD_TO_END.search(tool.description))


def _arguments(wish: Intent, tool: Definition) -> Json:
    """The arguments with which `tool` fulfils `wish`."""
    if wish.verb == "call" or _is_free(tool):
        return _spelled(wish.where if wish.verb == "call" else wish.what, tool)
    properties = _properties(tool)
    made: dict[str, Json] = {}
    main = _main(wish.verb, tool)
    if main is not None:
        what = wish.what or ("." if wish.verb == "list" else "")
        made[main] = [what] if type_name(members(properties[main])) == "array" else what
    place = _named(_PLACE, [name for name in properties if name != main])
    if place is not None and (wish.where or place in required(tool.schema)):
        made[place] = wish.where or (_MEMORY if wish.verb == "remember" else ".")
    for name in required(tool.schema):
        if name not in made:
            made[name] = make_instance(properties.get(name, {}), wish.what)
    # In the order of the schema, like a model.
    return {name: made[name] for name in properties if name in made} | made


def _spelled(text: str, tool: Definition) -> Json:
    """Explicit arguments of the user: JSON, ``name=value`` pairs, or the value of the first argument.

    For a tool that takes text, that text, also out of an object with one text.
    """
    try:
        given: Any = json.loads(text)
    except ValueError:
        given = None
    if _is_free(tool):
        values = [*given.values()] if isinstance(given, dict) else []
        return values[0] if len(values) == 1 and isinstance(values[0], str) else text
    properties = _properties(tool)
    if not isinstance(given, dict) or not given:
        given = {found[1]: next(g for g in found.groups()[1:] if g is not None) for found in _PAIR.finditer(text)}
    if not given and text:
        given = dict.fromkeys([*required(tool.schema), *properties][:1], text)
    for name in required(tool.schema):
        given.setdefault(name, make_instance(properties.get(name, {}), text))
    return {name: _converted(value, members(properties.get(name))) for name, value in given.items()}


def _converted(value: Json, schema: Mapping[str, Json]) -> Json:
    if not isinstance(value, str) or type_name(schema) not in ("integer", "number", "boolean"):
        return value
    try:
        return json.loads(value)
    except ValueError:
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
_DEEPEST: Final = 32
_MOST_ITEMS: Final = 100
_LONGEST_STRING: Final = 10_000
_MAX_MADE: Final = 100_000
"""Maximum characters and values in all: nested schemas multiply."""


def make_instance(schema: Json, text: str) -> Json:
    """Make a minimal value of `schema`; strings are `text` by default.

    Supports the providers' structured outputs: types, enum, const, anyOf, allOf, $ref into the same schema, lengths and
    bounds. Values nested too deeply are null.
    """
    return _Maker(schema, text).make(schema, 0)


class _Maker:
    def __init__(self, root: Json, text: str) -> None:
        self._root = root
        self._text = text
        self._left = _MAX_MADE

    def make(self, schema: Json, depth: int) -> Json:
        here = members(schema)
        self._left -= 1
        if depth > _DEEPEST or self._left < 0:
            return None
        if isinstance(here.get("$ref"), str):
            return self.make(_pointed(here["$ref"], self._root), depth + 1)
        for value in (*(here[key] for key in ("const", "default") if key in here), *rows(here.get("enum"))):
            return self._spent(value)
        for several in ("anyOf", "oneOf", "allOf"):
            if rows(here.get(several)):
                return self.make(here[several][0], depth + 1)
        kind = type_name(here)
        if kind == "object":
            inner = members(here.get("properties"))
            return {name: self.make(inner.get(name, {}), depth + 1) for name in required(here)}
        if kind == "array":
            first = [self.make(one, depth + 1) for one in rows(here.get("prefixItems"))[:_MOST_ITEMS]]
            count = _bounded(here.get("minItems"), _MOST_ITEMS)
            return first + [self.make(here.get("items", {}), depth + 1) for _ in range(count - len(first))]
        if kind in ("integer", "number"):
            return _nearest_number(here)
        return _PLAIN[kind] if kind in _PLAIN else self._spent(_string(here, self._text))

    def _spent(self, value: Json) -> Json:
        self._left -= len(dump_text(value)) if isinstance(value, str | list | dict) else 0
        return value


def _pointed(reference: str, root: Json) -> Json:
    value = root
    for step in reference.removeprefix("#").strip("/").split("/"):
        value = members(value).get(step.replace("~1", "/").replace("~0", "~"), {}) if step else value
    return value


def required(schema: Json) -> list[str]:
    """The required members of an object of `schema`."""
    return [name for name in rows(members(schema).get("required")) if isinstance(name, str)]


def type_name(schema: Mapping[str, Json]) -> str:
    """The type of a schema; the first one of several, object if it has properties."""
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), "null")
    return str(kind) if kind else "object" if "properties" in schema else "string"


def _bounded(value: Json, most: int) -> int:
    return min(value, most) if isinstance(value, int) and value > 0 else 0


def _nearest_number(schema: Mapping[str, Json]) -> Json:
    """The allowed number closest to 0."""

    def bound(key: str) -> float | None:
        value = schema.get(key)
        return value if isinstance(value, int | float) and not isinstance(value, bool) else None

    least, over, most, step = map(bound, ("minimum", "exclusiveMinimum", "maximum", "multipleOf"))
    value: float = 0 if most is None else min(0, most)
    value = value if least is None else max(value, least)
    value = over + 1 if over is not None and over >= value else value
    return value if not step or step < 0 else -(-value // step) * step


def _string(schema: Mapping[str, Json], text: str) -> str:
    made = _FORMATS.get(str(schema.get("format")), text)
    made = made.ljust(_bounded(schema.get("minLength"), _LONGEST_STRING), "-")
    most = schema.get("maxLength")
    return made[: max(0, most)] if isinstance(most, int) else made


_STOP: Final = frozenset(
    "a an the of in on at to for from with by and or not is are was were be been do does did what which who whom whose "
    "when where why how many much it its this that these those there here i you we they he she me my your our please "
    "can could would should will tell say says said show give read find list run file files then now have has had "
    "remember asked about as so if than into".split()
)
_WORD: Final = re.compile(r"[a-z0-9_]+")
_MOST_WORDS: Final = 200
_LONGEST_LINE: Final = 200
# Anchored at word starts: in one very long word the search would start at every letter.
_PATH: Final = re.compile(r"(?<![\w.-])(?:[\w.-]+/)+[\w.-]+|(?<![\w.-])[\w-]+\.[A-Za-z][A-Za-z0-9]{0,7}\b")
_SUMMARY_ASKED: Final = re.compile(
    r"context checkpoint|checkpoint summary|handoff summary|summary of (?:the|our|this) conversation|"
    r"summarize (?:the|our|this) conversation|prompt for continuing our conversation",
    re.I,
)
_TEXT_ONLY: Final = re.compile(r"do not call any tools?\b|respond with text only", re.I)
_MAX_SUMMARY_LINES: Final = 200
"""Maximum lines of a summary."""
_FILLER: Final = ("offline", "text", "that", "no", "model", "wrote", "and", "nobody", "needs", "to", "read")


def answer(talk: ScriptTask, manner: Manner) -> ModelAnswer:
    """The answer to `talk`."""
    asked = parse_intents(talk.task)
    made = _next_calls(talk, manner, asked)
    if made:
        calls_text = ", ".join(" ".join(unwrap_script(call.name, call.arguments_text)) for call in made)
        said: list[Part] = [Words(f"I call {calls_text}.")] if not manner.forced else []
        return ModelAnswer(
            (*_thought(f"To do: {shorten(talk.task)!r}. {calls_text} fits.", manner), *said, *made), CALLS
        )
    if _SUMMARY_ASKED.search(talk.task):
        words = f"{SELF}. So far:\n{summarize(talk, task=False)}"
        words = f"<summary>\n{words}\n</summary>" if "<summary>" in talk.task else words
    elif manner.form is not None:
        words = dump_text(make_instance(manner.form, shorten(talk.task) or "offline"))
    else:
        words = _said(talk, manner, asked)
    return ModelAnswer((*_thought(f"Nothing left to call for {shorten(talk.task)!r}; I quote.", manner), Words(words)))


def _thought(text: str, manner: Manner) -> tuple[Thought, ...]:
    return (Thought(f"{SELF}. {text}"),) if manner.thinks else ()


def _next_calls(talk: ScriptTask, manner: Manner, asked: Sequence[Intent]) -> list[AnsweredCall]:
    """The calls of the next step that is not done; after the last one, the tool that ends the task."""
    silent = _SUMMARY_ASKED.search(talk.task) or _TEXT_ONLY.search(talk.task)
    if not manner.calls or not talk.tools or (silent and not manner.forced):
        return []
    tools = [
        tool
        for tool in talk.tools
        if manner.forced in ("", "*", tool.name) or (isinstance(tool, ToolOffer) and tool.code == manner.forced)
    ]
    fitting = [(wish, made) for wish in asked for made in (find_call(_resolve(wish, talk), tools),) if made is not None]
    left = fitting[talk.call_count :]
    step = [made for wish, made in left if wish.step == left[0][0].step]
    last = _last_tool(talk, manner, tools) if not step else None
    if last is not None:
        # The answer if it takes one text, else the simplest value of its schema.
        alone = len(_properties(last)) == 1 and _ends_task(last)
        words = _said(talk, manner, asked) if alone else shorten(strip_quotes(talk.task)) or "offline"
        step = [make_call(last, make_instance(last.schema, words))]
    return step if manner.parallel else step[:1]


def _last_tool(talk: ScriptTask, manner: Manner, tools: Sequence[Definition]) -> Definition | None:
    """The final tool: the one that takes the answer, once; else any if a call is required."""
    called = Counter(heard.name for heard in talk.outcomes)
    ends = next((tool for tool in tools if _ends_task(tool)), None)
    if ends is not None and (not called[ends.name] or manner.forced):
        return ends
    # Repeating the same one would never end.
    return min(tools, key=lambda tool: called[tool.name], default=None) if manner.forced else None


def _resolve(wish: Intent, talk: ScriptTask) -> Intent:
    """Resolve "it": the first returned path; for searches in "it", the last requested one."""
    if not wish.refers:
        return wish
    came, asked = (
        list(dict.fromkeys(path for text in texts for path in _PATH.findall(text)))
        for texts in ([heard.text for heard in talk.outcomes], [heard.arguments for heard in talk.outcomes])
    )
    what = came[0] if came and _PRONOUN.match(wish.what) else wish.what
    where = (asked or came or [wish.where])[-1] if _PRONOUN.match(wish.where) else wish.where
    return replace(wish, what=what, where=where)


def _said(talk: ScriptTask, manner: Manner, asked: Sequence[Intent]) -> str:
    spoken = next((wish for wish in asked if wish.verb == "say"), None)
    if spoken is not None:
        # As many words as requested.
        number, _, unit = spoken.what.partition(" ")
        if number.isdigit() and unit.startswith(("word", "token")):
            return " ".join(_FILLER[n % len(_FILLER)] for n in range(min(int(number), 200_000)))
        return spoken.what or "nothing"
    who = SELF + (f", with the rules of {manner.stands_for}" if manner.stands_for else "")
    quoted = _quoted(talk)
    if talk.outcomes:
        return "\n".join([f"{who}. What came back:", *map(_reported, talk.outcomes), *quoted])
    kept = [wish.what for wish in asked if wish.verb == "remember"]
    if kept:
        return f"{who}. Noted, as long as it stands in the context: {'; '.join(kept)}."
    if asked:
        lacking = ", ".join(sorted({wish.verb for wish in asked}))
        return f"{who}. I would {lacking}, but no tool offered fits: {format_names(talk.tools)}."
    if quoted:
        return "\n".join([f"{who}.", *quoted])
    return f"{who}. I understand {SKILLS}, one after the other with `then`. Tools offered: {format_names(talk.tools)}."


def _reported(heard: ToolOutcome) -> str:
    if heard.failed:
        return f"- {heard.name} {heard.arguments} failed: {shorten(heard.text.strip())}"
    lines = heard.text.splitlines()
    first = next((line.strip() for line in lines if line.strip()), "nothing")
    count = "1 line" if len(lines) == 1 else f"{len(lines)} lines"
    return f"- {heard.name} {heard.arguments}: {count}, `{shorten(first)}`"


def _quoted(talk: ScriptTask) -> list[str]:
    """The lines that share most words with the task, best first: from results, else from the context."""
    sources = [(f"{heard.name} {heard.arguments}", heard.text) for heard in talk.outcomes] or talk.earlier_texts
    words = dict.fromkeys(_WORD.findall(talk.task.lower()))
    wanted = {*[word for word in words if word not in _STOP and len(word) > 1][:_MOST_WORDS]}
    lines = [(source, line) for source, text in sources for line in text.splitlines()] if wanted else []
    held = [_shared(line.lower(), wanted) for _, line in lines]
    common = Counter(word for shared in held for word in shared)
    scores = [sum(1 + 1 / common[word] for word in shared) for shared in held]
    # By number of words, rare words first, the later of two equal lines.
    best = sorted((n for n in range(len(lines)) if scores[n] > 0), key=lambda n: (-scores[n], -n))[:3]
    found = [f"- {lines[n][0]}: `{shorten(lines[n][1].strip())}`" for n in best]
    return ["Closest to what you ask:", *found] if found else []


def _shared(line: str, wanted: set[str]) -> set[str]:
    # A substring test first is many times as fast.
    return wanted.intersection(_WORD.findall(line)) if any(word in line for word in wanted) else set()


def shorten(line: str) -> str:
    """Shorten a line for quoting."""
    return line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 1]}…"


def summarize(talk: ScriptTask, *, task: bool) -> str:
    """The first lines of all texts and results, the newest if too many; `task`: including the task.

    Text that clients resend after a compaction is left out.
    """
    asked = [("user", talk.task)] if task else []
    heard = [(heard.name, heard.text) for heard in talk.outcomes]
    lines: list[str] = []
    for source, text in [*talk.earlier_texts, *asked, *heard]:
        if source not in ("developer", "system"):
            kept = [line.strip() for line in text.splitlines() if line.strip()]
            lines += [f"{source}: {shorten(line)}" for line in kept[:3]]
    return "\n".join(lines[-_MAX_SUMMARY_LINES:])
