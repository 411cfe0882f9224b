"""The model that is none: what it understands, which tool it takes, what it says."""

from __future__ import annotations

from typing import Any
from unittest.mock import ANY

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.offline.answer import CALLS, LENGTH, STOP, AnsweredCall, ModelAnswer, PlainText, Thought, limit_answer
from ctxtui.offline.conversation import Task, ToolOutcome, strip_reminders
from ctxtui.offline.exchange import split_text
from ctxtui.offline.model import AnswerOptions, Intent, answer_task, find_call, make_instance, parse_intents
from ctxtui.wire.definitions import Definition


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("read README.md", [("read", "README.md", "", 0)]),
        ("Please open a.txt, b.txt and docs/c.md.", [("read", p, "", 0) for p in ("a.txt", "b.txt", "docs/c.md")]),
        ("find 'TODO: x' in src, then read it", [("find", "TODO: x", "src", 0), ("read", "it", "", 1)]),
        ("list the files in src and read pyproject.toml", [("list", "src", "", 0), ("read", "pyproject.toml", "", 0)]),
        ("run `make test && ls`", [("run", "make test && ls", "", 0)]),
        ("remember that a is 1 and b is 2", [("remember", "a is 1 and b is 2", "", 0)]),
        ("What is in a.txt?", [("read", "a.txt", "", 0)]),
        (
            "search for Fault under tests and list docs in parallel",
            [("find", "Fault", "tests", 0), ("list", "docs", "", 0)],
        ),
        ("write `hi there` to out.txt", [("write", "hi there", "out.txt", 0)]),
        ("use the tool get_weather with city=Paris", [("call", "get_weather", "city=Paris", 0)]),
        ("read a.txt. Then find port in it", [("read", "a.txt", "", 0), ("find", "port", "it", 1)]),
        ("find files named conf", [("files", "conf", "", 0)]),
        ("find *.py in src", [("files", "*.py", "src", 0)]),
        ("look for conf.toml", [("files", "conf.toml", "", 0)]),
        ('"read a.txt"', [("read", "a.txt", "", 0)]),
        ('"read a.txt then run \\"ls -la\\""\n', [("read", "a.txt", "", 0), ("run", "ls -la", "", 1)]),
        (
            'run "ls" then find "x"',
            [("run", "ls", "", 0), ("find", "x", "", 1)],
        ),
        ('"find \\"a b\\" in src"', [("find", "a b", "src", 0)]),
        ('call f a="New York", b=2', [("call", "f", 'a="New York", b=2', 0)]),
        ('call f {"a": "x. y"}', [("call", "f", '{"a": "x. y"}', 0)]),
        ("call `f` online=1", [("call", "f", "online=1", 0)]),
        ('call f "New York"', [("call", "f", "New York", 0)]),
        ("remember that `a` is 1", [("remember", "`a` is 1", "", 0)]),
        ("say the command ls", [("say", "the command ls", "", 0)]),
        ("find port then read the first file", [("find", "port", "", 0), ("read", "the first file", "", 1)]),
        ("find port and read that", [("find", "port", "", 0), ("read", "that", "", 1)]),
        ("read the file a.txt and the first.txt", [("read", "a.txt", "", 0), ("read", "first.txt", "", 0)]),
        ("find all files in src", [("files", "*", "src", 0)]),
        ("find files containing port", [("find", "port", "", 0)]),
        ("find python files", [("find", "python files", "", 0)]),
        ("find file_name in src", [("find", "file_name", "src", 0)]),
        ("good morning", []),
        ("", []),
    ],
)
def test_what_is_understood(text: str, found: list[tuple[str, str, str, int]]) -> None:
    assert [(w.verb, w.subject, w.place, w.step) for w in parse_intents(text)] == found


@given(st.text(max_size=200))
def test_any_text_is_understood_somehow(text: str) -> None:
    steps = [wish.step for wish in parse_intents(text)]
    assert steps == sorted(steps)


def tool(name: str, description: str = "", **properties: Any) -> Definition:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return Definition(name, description, schema)


TEXT = {"type": "string"}
TOOLS = [
    tool("read_file", path=TEXT),
    tool("list_dir", path=TEXT),
    tool("find", pattern=TEXT, path=TEXT),
    tool("grep", pattern=TEXT, path=TEXT),
    tool("bash", command=TEXT, timeout={"type": "integer"}),
    tool("save_insight", "Remembers a note for later", insight=TEXT),
    tool("write_file", path=TEXT, content=TEXT),
    tool("get_weather", city=TEXT, days={"type": "integer"}),
]


@pytest.mark.parametrize(
    ("wish", "call"),
    [
        (Intent("read", "open", "a.txt"), ("read_file", {"path": "a.txt"})),
        (Intent("list", "list", ""), ("list_dir", {"path": "."})),
        (Intent("files", "find", "*.py", "src"), ("find", {"pattern": "*.py", "path": "src"})),
        (Intent("find", "find", "port", "a.txt"), ("grep", {"pattern": "port", "path": "a.txt"})),
        (Intent("find", "grep", "TODO"), ("grep", {"pattern": "TODO", "path": "."})),
        (Intent("run", "run", "make"), ("bash", {"command": "make", "timeout": 0})),
        (Intent("remember", "remember", "x is 1"), ("save_insight", {"insight": "x is 1"})),
        (Intent("write", "write", "hi", "o.txt"), ("write_file", {"path": "o.txt", "content": "hi"})),
        (Intent("call", "use", "get_weather", "city=Paris, days=3"), ("get_weather", {"city": "Paris", "days": 3})),
        (Intent("call", "use", "get_weather", '{"city": "Rome"}'), ("get_weather", {"city": "Rome", "days": 0})),
        (Intent("call", "use", "get_weather", "Oslo"), ("get_weather", {"city": "Oslo", "days": 0})),
        (Intent("call", "use", "get_weather", "city=`New York`"), ("get_weather", {"city": "New York", "days": 0})),
        (Intent("call", "use", "get_weather", f"days='{'[' * 100_000}'"), ("get_weather", {"days": 0, "city": ANY})),
        (Intent("call", "use", "nothing", ""), None),
        (Intent("say", "say", "hello"), None),
    ],
)
def test_which_tool_fits(wish: Intent, call: tuple[str, Any] | None) -> None:
    assert find_call(wish, TOOLS) == (AnsweredCall(*call) if call else None)
    assert find_call(wish, []) is None


def test_arguments_in_other_spellings() -> None:
    """OpenCode's tools: a skill takes a name too, but is not what reads."""
    tools = [
        Definition("skill", "Loads a skill", {"type": "object", "properties": {"name": TEXT}, "required": ["name"]}),
        tool("read", filePath=TEXT),
        tool("write", filePath=TEXT, content=TEXT),
    ]
    assert find_call(Intent("read", "read", "a.txt"), tools) == AnsweredCall("read", {"filePath": "a.txt"})
    written = find_call(Intent("write", "write", "hi", "o.txt"), tools)
    assert written == AnsweredCall("write", {"filePath": "o.txt", "content": "hi"})


def test_required_arguments_follow_references_within_the_tools_schema() -> None:
    properties = {"content": TEXT, "level": {"$ref": "#/$defs/Level"}}
    schema = {"$defs": {"Level": {"enum": ["low", "high"]}}, "type": "object", "properties": properties}
    tools = [Definition("write", "", {**schema, "required": ["content", "level"]})]
    wanted = AnsweredCall("write", {"content": "x", "level": "low"})
    assert find_call(Intent("write", "write", "x"), tools) == wanted
    assert find_call(Intent("call", "call", "write", "content=x"), tools) == wanted


SHELL = [tool("bash", command=TEXT)]


@pytest.mark.parametrize(
    ("wish", "command"),
    [
        (Intent("read", "read", "my file.txt"), "cat 'my file.txt'"),
        (Intent("list", "list", ""), "ls ."),
        (Intent("find", "find", "it's", "src"), """grep -rn -e 'it'"'"'s' src"""),
        (Intent("files", "find", "*.py"), "find . -name '*.py'"),
        (Intent("write", "write", "hi there", "o.txt"), "printf '%s\\n' 'hi there' > o.txt"),
        (Intent("write", "write", "hi there"), None),
        (Intent("remember", "remember", "x"), None),
    ],
)
def test_a_shell_does_what_no_tool_does(wish: Intent, command: str | None) -> None:
    assert find_call(wish, SHELL) == (AnsweredCall("bash", {"command": command}) if command else None)


def test_a_tool_that_must_be_told_more_comes_last() -> None:
    resource = tool("read_resource", server=TEXT, uri=TEXT)
    web = tool("web_run", "Runs searches", query=TEXT)
    assert find_call(Intent("read", "read", "a.txt"), [resource]) == AnsweredCall(
        "read_resource", {"server": "a.txt", "uri": "a.txt"}
    )
    assert find_call(Intent("read", "read", "a.txt"), [resource, *SHELL]) == AnsweredCall(
        "bash", {"command": "cat a.txt"}
    )
    picture = tool("view_image", path=TEXT)
    assert find_call(Intent("read", "view", "a.txt"), [picture, *SHELL]) == AnsweredCall(
        "bash", {"command": "cat a.txt"}
    )
    assert find_call(Intent("read", "view", "a.png"), [picture, *SHELL]) == AnsweredCall(
        "view_image", {"path": "a.png"}
    )
    assert find_call(Intent("run", "run", "ls"), [web, *SHELL]) == AnsweredCall("bash", {"command": "ls"})


def talk(task: str, *heard: ToolOutcome, tools: list[Definition] | None = None) -> Task:
    return Task(tuple(TOOLS if tools is None else tools), task, heard, len(heard), ())


def test_steps_one_after_the_other() -> None:
    task = "find port then read it and run `ls`"
    first = answer_task(talk(task), AnswerOptions())
    assert [c.name for c in first.calls] == ["grep"]
    found = ToolOutcome("grep", "{}", "src/conf.py:3: port = 8080")
    second = answer_task(talk(task, found), AnswerOptions())
    assert [(c.name, c.arguments) for c in second.calls] == [
        ("read_file", {"path": "src/conf.py"}),
        ("bash", {"command": "ls", "timeout": 0}),
    ]
    done = answer_task(
        talk(task, found, ToolOutcome("read_file", "{}", "x"), ToolOutcome("bash", "{}", "no such file", True)),
        AnswerOptions(),
    )
    assert not done.calls
    assert "bash {} failed: no such file" in done.text


FINAL = Definition(
    "final_result",
    "The final response which ends this conversation",
    {
        "type": "object",
        "properties": {"city": TEXT, "days": {"type": "integer", "exclusiveMinimum": 2}},
        "required": ["city", "days"],
    },
)


@pytest.mark.parametrize("forced", ["", "*"])
@pytest.mark.parametrize("first", [True, False])
def test_output_by_a_tool_comes_last_and_once(forced: str, first: bool) -> None:
    tools = [FINAL, *TOOLS] if first else [*TOOLS, FINAL]
    manner = AnswerOptions(forced_tool=forced)
    begun = answer_task(talk("read a.txt", tools=tools), manner)
    assert [c.name for c in begun.calls] == ["read_file"]
    read = ToolOutcome("read_file", "{}", "x")
    done = answer_task(talk("read a.txt", read, tools=tools), manner)
    assert [(c.name, c.arguments) for c in done.calls] == [("final_result", {"city": "read a.txt", "days": 3})]
    rest = answer_task(talk("read a.txt", read, ToolOutcome("final_result", "{}", "ok"), tools=tools), AnswerOptions())
    assert not rest.calls


def test_an_answer_is_submitted_in_words() -> None:
    submit = tool("submit", "Submit an answer for evaluation.", answer=TEXT)
    read = ToolOutcome("read_file", "{}", "the port is 8080")
    done = answer_task(talk("read a.txt", read, tools=[*TOOLS, submit]), AnswerOptions())
    assert done.calls[0].name == "submit"
    assert "the port is 8080" in str(done.calls[0].arguments)


def test_a_forced_call_without_end_goes_round() -> None:
    """The provider must call; that it is not always the same tool is all that can be done."""
    tools = [tool("one"), tool("two")]
    heard: list[ToolOutcome] = []
    for _ in range(4):
        made = answer_task(talk("hello", *heard, tools=tools), AnswerOptions(forced_tool="*")).calls[0]
        heard.append(ToolOutcome(made.name, "{}", "x"))
    assert [one.name for one in heard] == ["one", "two", "one", "two"]


def test_rules_of_the_client_are_no_task() -> None:
    rules = "# *SEARCH/REPLACE block* Rules:\n\nThe user will say when to run `rm`."
    assert strip_reminders(f"<system-reminder>read x.txt</system-reminder>read a.txt\n\n{rules}") == "read a.txt"


@pytest.mark.parametrize(
    ("task", "begins", "ends"),
    [
        ("Do NOT call any tools. Create a summary of the conversation: a <summary> block.", "<summary>", "</summary>"),
        ("You are performing a CONTEXT CHECKPOINT COMPACTION. Read all.", "This is ctxtui's", "the port is 8080"),
    ],
)
def test_a_summary_is_asked_for(task: str, begins: str, ends: str) -> None:
    """Clients ask so before they drop a conversation; a call in place of it is asked for again and again."""
    earlier = (("system", "be kind"), ("user", "The port?"), ("bash", "the port is 8080"))
    said = answer_task(Task(tuple(TOOLS), task, (), 0, earlier), AnswerOptions())
    assert not said.calls
    assert said.text.startswith(begins) and said.text.endswith(ends)
    assert "user: The port?" in said.text and "bash: the port is 8080" in said.text
    assert "be kind" not in said.text and "COMPACTION" not in said.text


def test_no_tool_where_none_may_be_called() -> None:
    assert not answer_task(talk("Respond with TEXT ONLY: read a.txt"), AnswerOptions()).calls


def test_what_the_client_notes_is_no_task() -> None:
    noted = "<local-command-caveat>was run `x`</local-command-caveat>\n<command-name>/compact</command-name>\n"
    assert strip_reminders(noted + "read a.txt") == "read a.txt"
    assert strip_reminders("<task-notification>run `x`</task-notification>") == ""
    assert strip_reminders("<info-msg>\nWorking directory: /x\n</info-msg>") == ""


def test_looking_in_it() -> None:
    read = ToolOutcome("read_file", '{"path":"a.txt"}', "port = 8080 in src/conf.py")
    found = answer_task(talk("read a.txt then find port in it", read), AnswerOptions())
    assert [(c.name, c.arguments) for c in found.calls] == [("grep", {"pattern": "port", "path": "a.txt"})]


def test_only_the_context_is_known() -> None:
    conversation = Task((), "which port was it?", (), 0, (("user", "the port is 8080"), ("user", "hello")))
    assert "user: `the port is 8080`" in answer_task(conversation, AnswerOptions()).text
    forgotten = Task((), "which port was it?", (), 0, (("user", "hello"),))
    assert "8080" not in answer_task(forgotten, AnswerOptions()).text


def test_says_that_it_is_no_model() -> None:
    for task in ("hello", "read a.txt", "remember x"):
        said = answer_task(talk(task, tools=[]), AnswerOptions(thinks=True, model="gpt-5"))
        assert "no model" in said.text and "rules of gpt-5" in said.text
        assert isinstance(said.parts[0], Thought)


def test_cut_to_length_and_at_stops() -> None:
    said = ModelAnswer((Thought("a b"), PlainText("one two three"), AnsweredCall("x", {"a": 1})), CALLS)

    def words(text: str) -> int:
        return len(text.split())

    assert limit_answer(said, [], 100, words) == said
    assert limit_answer(said, ["two"], 100, words) == ModelAnswer((Thought("a b"), PlainText("one ")), STOP, "two")
    cut = limit_answer(said, [], 4, words)
    assert (cut.parts[:1], cut.text.strip(), cut.ended) == ((Thought("a b"),), "one two", LENGTH)
    assert limit_answer(said, [], 5, words) == ModelAnswer((Thought("a b"), PlainText("one two three")), LENGTH)


NAMES = st.text("ab", min_size=1, max_size=2)


def of_object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties]}


SCHEMAS: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from(
        [
            {"type": "string"},
            {"type": "integer", "minimum": 3},
            {"type": "integer", "exclusiveMinimum": 4, "multipleOf": 4},
            {"type": "number", "maximum": -2},
            {"type": ["null", "number"]},
            {"enum": ["a", "b"]},
            {"const": 4},
            {"type": "boolean"},
            {"type": "string", "minLength": 5, "maxLength": 9},
        ]
    ),
    lambda inner: st.one_of(
        st.builds(lambda item, least: {"type": "array", "items": item, "minItems": least}, inner, st.integers(0, 2)),
        st.dictionaries(NAMES, inner, max_size=3).map(of_object),
        st.builds(lambda one, two: {"anyOf": [one, two]}, inner, inner),
    ),
    max_leaves=6,
)


@given(SCHEMAS)
def test_instances_fit_their_schema(schema: Any) -> None:
    assert fits(make_instance(schema, "text"), schema)
    wrapped = {"$defs": {"x": schema}, "type": "object", "properties": {"y": {"$ref": "#/$defs/x"}}, "required": ["y"]}
    assert fits(make_instance(wrapped, "text")["y"], schema)


def fits(value: Any, schema: Any) -> bool:
    """Whether a value is an instance, in the plainest reading of the keywords used here."""
    if "anyOf" in schema:
        return any(fits(value, one) for one in schema["anyOf"])
    if "enum" in schema or "const" in schema:
        return value in schema.get("enum", [schema.get("const")])
    kind = schema["type"]
    if kind == "array":
        return len(value) >= schema["minItems"] and all(fits(item, schema["items"]) for item in value)
    if kind == "object":
        return all(fits(value[name], inner) for name, inner in schema["properties"].items())
    if kind == "string":
        return isinstance(value, str) and schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", 99)
    if kind == "boolean":
        return isinstance(value, bool)
    least, most, over = schema.get("minimum", value), schema.get("maximum", value), schema.get("exclusiveMinimum", -9)
    return (
        isinstance(value, (int, float))
        and least <= value <= most
        and value > over
        and not value % schema.get("multipleOf", 1)
    )


BOUNDS = st.one_of(st.none(), st.integers(-6, 6), st.integers(-6, 6).map(lambda n: n / 2))


@given(BOUNDS, BOUNDS, BOUNDS, BOUNDS, st.sampled_from([None, 0.5, 2, 3]), st.booleans())
def test_numbers_fit_their_bounds(
    least: float | None, over: float | None, most: float | None, under: float | None, step: float | None, whole: bool
) -> None:
    def fit(value: float) -> bool:
        return (
            (least is None or value >= least)
            and (over is None or value > over)
            and (most is None or value <= most)
            and (under is None or value < under)
            and (not step or value % step == 0)
            and (not whole or value % 1 == 0)
        )

    bounds = {
        "minimum": least,
        "exclusiveMinimum": over,
        "maximum": most,
        "exclusiveMaximum": under,
        "multipleOf": step,
    }
    schema = {name: value for name, value in bounds.items() if value is not None}
    value: Any = make_instance({"type": "integer" if whole else "number", **schema}, "")
    if any(fit(n / 4) for n in range(-48, 49)):
        assert fit(value), value
    assert isinstance(value, int) or not whole


@pytest.mark.parametrize("words", [0, 1, 60, 101, 5_000])
def test_an_answer_streams_in_tokens_and_a_long_one_in_at_most_a_hundred_parts(words: int) -> None:
    text = "word " * words
    parts = split_text(text)
    assert "".join(parts) == text and "" not in parts
    assert len(parts) <= 100 and (words > 60 or len(parts) >= words)


def test_odd_numbers_and_arguments() -> None:
    assert answer_task(Task((), "say ² words", (), 0, ()), AnswerOptions()).text == "² words"
    tool = Definition("t", "", {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]})
    deep = "[" * 100_000
    assert find_call(Intent("call", "call", "t", deep), [tool]) == AnsweredCall("t", {"a": deep})
    assert make_instance({"type": "number", "minimum": 10**400, "multipleOf": 0.5}, "") == 0
    assert make_instance({"type": "number", "minimum": 2**53, "multipleOf": 5e-324}, "") == 2**53
