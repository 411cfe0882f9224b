"""Which of the offered tools does what is asked for, and with which arguments.

Arguments are taken out of what stands in the context: nothing else is known.
"""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.offline.answer import AnsweredCall
from ctxtui.offline.json_shape import members
from ctxtui.offline.model.request_parser import Intent
from ctxtui.offline.model.schema_example import instance, required, type_name
from ctxtui.offline.offered import ToolOffer, call
from ctxtui.wire.definitions import Definition

_NAMES: Final = {
    "read": "read open view cat get fetch show load editor".split(),
    "find": "grep search rg query lookup find locate".split(),
    "files": "find glob locate files search ls".split(),
    "list": "list ls dir tree".split(),
    "run": "run bash shell exec execute command terminal python sh".split(),
    "remember": "remember memory note notes save store memorize".split(),
    "write": "write create save".split(),
}
_MAIN: Final = {
    "read": "path file_path filepath filename file uri url name id".split(),
    "find": "pattern query regex text q search needle term name keyword".split(),
    "files": "pattern glob name query path".split(),
    "list": "path dir directory folder root".split(),
    "run": "command cmd code script input".split(),
    "remember": "text note content memory fact value file_text insight".split(),
    "write": "content text file_text contents body".split(),
}
"""By verb: words in the names of the tools that do it, the likeliest first; and the argument that says what."""

_BY_THE_WAY: Final = "description explanation reason title summary thought intent".split()
"""Arguments that say why and may say anything."""
_ASKED: Final = ("string", "integer", "number")
_COMMAND: Final = ("command", "cmd")
_IMAGE: Final = re.compile(r"image|picture|screenshot", re.I)
_PICTURE: Final = re.compile(r"\.(?:png|jpe?g|gif|webp|bmp|svg|pdf)$", re.I)
_PLACE: Final = "path dir directory folder root file_path filename file".split()
_MEMORY: Final = "/memories/notes.md"
_PAIR: Final = re.compile(r"\b(\w+)\s*[=:]\s*(?:\"([^\"]*)\"|'([^']*)'|(\S+?)(?=,?\s|,?$))")


def call_for(wish: Intent, tools: Sequence[Definition]) -> AnsweredCall | None:
    """The call that fulfils `wish`; None where no tool fits."""
    tool = fitting(wish, tools)
    if tool is None or _strange(wish, tool) or not _says(wish, tool):
        # A shell does what no tool of its own does.
        command = _in_shell(wish)
        shell = fitting(Intent("run", "run", command), tools) if command else None
        if shell is not None and _main("run", _properties(shell), shell.schema) in _COMMAND:
            wish, tool = Intent("run", "run", command), shell
    return call(tool, arguments(wish, tool)) if tool is not None else None


def _in_shell(wish: Intent) -> str:
    """The command that does what is asked for; "" where there is none."""
    what, where = shlex.quote(wish.what), shlex.quote(wish.where or ".")
    spelled = {
        "read": f"cat {what}" if wish.what else "",
        "list": f"ls {what if wish.what else where}",
        "find": f"grep -rn -e {what} {where}" if wish.what else "",
        "files": f"find {where} -name {what}" if wish.what else "",
        "write": f"printf '%s\\n' {what} > {where}" if wish.where else "",
    }
    return spelled.get(wish.verb, "")


def _strange(wish: Intent, tool: Definition) -> bool:
    """Whether `tool` cannot be told what is wished, must be told more than is known, or shows pictures where none is
    asked for."""
    if wish.verb == "call":
        return False
    if isinstance(tool, ToolOffer) and tool.free:
        return False
    if wish.what and _main(wish.verb, _properties(tool), tool.schema) is None:
        return True
    image = _IMAGE.search(tool.name) or (isinstance(tool, ToolOffer) and tool.image)
    if image and not _PICTURE.search(wish.what):
        return True
    known = {_letters(name) for name in (*_MAIN[wish.verb], *_PLACE, *_BY_THE_WAY)}
    unknown = [name for name in required(tool.schema) if _letters(name) not in known]
    return any(type_name(members(_properties(tool).get(name))) in _ASKED for name in unknown)


def _properties(tool: Definition) -> Mapping[str, Json]:
    return members(members(tool.schema).get("properties"))


def fitting(wish: Intent, tools: Sequence[Definition]) -> Definition | None:
    """The tool that fits `wish` best: by its name, its description and the names of its arguments."""
    if wish.verb == "call":
        return next((tool for tool in tools if tool.name == wish.what.strip("`'\"()")), None)
    scored = [(score, -n, tool) for n, tool in enumerate(tools) if (score := _score(wish, tool)) > 0]
    best = max(scored, default=None, key=lambda one: (not _strange(wish, one[2]), _says(wish, one[2]), *one[:2]))
    return best[2] if best is not None else None


def _says(wish: Intent, tool: Definition) -> bool:
    """Whether `tool` has an argument of the usual name for what is wished, or takes text."""
    free = isinstance(tool, ToolOffer) and tool.free
    return free or _named(_MAIN.get(wish.verb, ()), _properties(tool)) is not None


def _named(names: Iterable[str], properties: Iterable[str]) -> str | None:
    """The first of `names` that `properties` have, as they spell it: ``file_path`` may be ``filePath``."""
    spelled = {_letters(name): name for name in reversed([*properties])}
    return next((spelled[_letters(name)] for name in names if _letters(name) in spelled), None)


def _letters(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


_ENDS: Final = re.compile(
    r"(?:final_(?:result|answer|output)(?:_\w+)?|submit(?:_answer|_result)?|structured_?output|return_result)$", re.I
)
_TOLD_TO_END: Final = re.compile(r"\bfinal (?:response|answer|result|output)\b[^.]*\bends?\b", re.I)


def ends_task(tool: Definition) -> bool:
    """Whether `tool` takes the answer itself, as agents have it that want their output by a tool."""
    return bool(_ENDS.match(tool.name) or _TOLD_TO_END.search(tool.description))


def _score(wish: Intent, tool: Definition) -> int:
    names = _NAMES.get(wish.verb)
    if names is None or (isinstance(tool, ToolOffer) and tool.named_only):
        return 0
    parts = [part for part in re.split(r"[_\W]+|(?<=[a-z])(?=[A-Z])", tool.name) if part]
    words = [part.lower() for part in parts]
    rank = min((names.index(word) for word in words if word in names), default=len(names))
    score = 3 * (wish.word.lower() in words) + 2 * (len(names) - rank)
    told = set(re.findall(r"[a-z]+", tool.description.lower()))
    score += 2 * bool(told & {*names, *(f"{name}s" for name in names)}) if not score else 0
    if not score:
        return 0
    return score + 2 * _says(wish, tool)


def arguments(wish: Intent, tool: Definition) -> Json:
    """The arguments with which `tool` fulfils `wish`."""
    if isinstance(tool, ToolOffer) and tool.free:
        return _free(wish)
    properties = _properties(tool)
    if wish.verb == "call":
        return _spelled(wish.where, tool)
    made: dict[str, Json] = {}
    main = _main(wish.verb, properties, tool.schema)
    if main is not None:
        made[main] = _typed(_what(wish), members(properties[main]))
    place = _named(_PLACE, [name for name in properties if name != main])
    if place is not None and (wish.where or place in required(tool.schema)):
        made[place] = wish.where or (_MEMORY if wish.verb == "remember" else ".")
    for name in required(tool.schema):
        if name not in made:
            made[name] = instance(properties.get(name, {}), wish.what)
    # In the order of the schema, as a model would.
    return {name: made[name] for name in properties if name in made} | made


def _free(wish: Intent) -> str:
    """The text for a tool that takes text; out of an object of one text, for some people think of objects."""
    text = wish.where if wish.verb == "call" else wish.what
    try:
        given = json.loads(text)
    except ValueError:
        return text
    values = [*given.values()] if isinstance(given, dict) else []
    return values[0] if len(values) == 1 and isinstance(values[0], str) else text


def _what(wish: Intent) -> str:
    return wish.what or ("." if wish.verb == "list" else "")


def _main(verb: str, properties: Mapping[str, Json], schema: Json) -> str | None:
    named = _named(_MAIN[verb], properties)
    texts = [name for name, inner in properties.items() if type_name(members(inner)) in ("string", "array")]
    first = [name for name in texts if name in required(schema)]
    return named or next(iter([*first, *texts]), None)


def _typed(text: str, schema: Mapping[str, Json]) -> Json:
    return [text] if type_name(schema) == "array" else text


def _spelled(text: str, tool: Definition) -> Json:
    """Arguments that the person spelled out: JSON, ``name=value`` pairs, or the value of the first one."""
    properties = _properties(tool)
    try:
        given = json.loads(text)
    except ValueError:
        given = {found[1]: next(g for g in found.groups()[1:] if g is not None) for found in _PAIR.finditer(text)}
    if not isinstance(given, dict) or not given:
        main = next(iter([*required(tool.schema), *properties]), None)
        given = {main: text} if main is not None and text else {}
    for name in required(tool.schema):
        given.setdefault(name, instance(properties.get(name, {}), text))
    return {name: _number(value, members(properties.get(name))) for name, value in given.items()}


def _number(value: Json, schema: Mapping[str, Json]) -> Json:
    kind = type_name(schema)
    if isinstance(value, str) and kind in ("integer", "number", "boolean"):
        try:
            return json.loads(value)
        except ValueError:
            return instance(schema, "")
    return value


_STOP: Final = frozenset(
    "a an the of in on at to for from with by and or not is are was were be been do does did what which who whom whose "
    "when where why how many much it its this that these those there here i you we they he she me my your our please "
    "can could would should will tell say says said show give read find list run file files then now have has had "
    "remember asked about as so if than into".split()
)
_WORD: Final = re.compile(r"[A-Za-z0-9_]+")
MOST_LINES: Final = 3
_MOST_WORDS: Final = 200
_LONGEST: Final = 200
# Begun only where a word begins: in a text of one long word the search would start at every letter.
_PATH: Final = re.compile(r"(?<![\w.-])(?:[\w.-]+/)+[\w.-]+|(?<![\w.-])[\w-]+\.[A-Za-z][A-Za-z0-9]{0,7}\b")


def keywords(text: str) -> list[str]:
    """The words of a question that can be looked for."""
    found = [word.lower() for word in _WORD.findall(text)]
    return [word for word in dict.fromkeys(found) if word not in _STOP and len(word) > 1][:_MOST_WORDS]


def closest(question: str, texts: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The lines of `texts`, (where from, text), that share most words with `question`, best first."""
    wanted = keywords(question)
    if not wanted:
        return []
    pattern = re.compile(rf"(?<![a-z0-9_])(?:{'|'.join(map(re.escape, wanted))})(?![a-z0-9_])")
    lines = [(source, line) for source, text in texts for line in text.splitlines()]
    held = [_held(line.lower(), wanted, pattern) for _, line in lines]
    common = Counter(word for words in held for word in words)
    scores = [sum(1 + 1 / common[word] for word in words) for words in held]
    # Words in front of others, rare words more than frequent ones, the later of two equal lines.
    best = sorted((n for n in range(len(lines)) if scores[n] > 0), key=lambda n: (-scores[n], -n))
    return [(lines[n][0], cut(lines[n][1].strip())) for n in best[:MOST_LINES]]


def _held(line: str, wanted: list[str], pattern: re.Pattern[str]) -> frozenset[str]:
    # Looking for the letters first is many times as fast as the expression.
    return frozenset(pattern.findall(line)) if any(word in line for word in wanted) else frozenset()


def cut(line: str) -> str:
    """A line short enough to quote."""
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def paths(texts: Sequence[str]) -> list[str]:
    """The paths named in `texts`, each once, in order."""
    return list(dict.fromkeys(found for text in texts for found in _PATH.findall(text)))
