"""One neutral reading for every dialect's parts; unknown ones are shown as their JSON, never as nothing."""

import pytest

from ctxtui.core import block
from ctxtui.core.block_content import BlockContent, Media, arguments_value, read, read_value

CASES = [
    ({"type": "text", "text": "hi"}, BlockContent(text="hi")),
    ({"type": "input_text", "text": "hi"}, BlockContent(text="hi")),
    ({"type": "refusal", "refusal": "no"}, BlockContent(text="no")),
    ({"type": "thinking", "thinking": "hm", "signature": "s" * 9}, BlockContent(text="hm")),
    ({"type": "thinking", "thinking": "", "signature": "s" * 9}, BlockContent(hidden=9)),
    ({"type": "redacted_thinking", "data": "d" * 7}, BlockContent(hidden=7)),
    (
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "so"}], "encrypted_content": "e" * 5},
        BlockContent(text="so", hidden=5),
    ),
    (
        {"type": "tool_use", "id": "t", "name": "Read", "input": {"p": 1}},
        BlockContent(name="Read", call_id="t", arguments='{"p":1}'),
    ),
    (
        {"type": "function_call", "call_id": "c", "name": "sh", "arguments": '{"a": 1}'},
        BlockContent(name="sh", call_id="c", arguments='{"a": 1}'),
    ),
    (
        {"type": "custom_tool_call", "call_id": "c", "name": "apply", "input": "*** Begin"},
        BlockContent(name="apply", call_id="c", arguments="*** Begin"),
    ),
    (
        {"type": "local_shell_call", "call_id": "c", "action": {"command": ["ls"]}},
        BlockContent(name="local_shell", call_id="c", arguments='{"command":["ls"]}'),
    ),
    (
        {"type": "code_interpreter_call", "id": "c", "code": "print(4)", "outputs": None},
        BlockContent(name="code_interpreter", call_id="c", arguments="print(4)"),
    ),
    (
        {"type": "file_search_call", "id": "f", "queries": ["q"]},
        BlockContent(name="file_search", call_id="f", arguments='["q"]'),
    ),
    (
        {"type": "tool_result", "tool_use_id": "t", "content": "ok", "is_error": True},
        BlockContent(text="ok", call_id="t", is_error=True),
    ),
    (
        {
            "type": "tool_result",
            "tool_use_id": "t",
            "content": [
                {"type": "text", "text": "a"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}},
            ],
        },
        BlockContent(text="a", call_id="t", media=(Media("image/png", "QUJD"),)),
    ),
    ({"type": "function_call_output", "call_id": "c", "output": "out"}, BlockContent(text="out", call_id="c")),
    (
        {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "out"}]},
        BlockContent(text="out", call_id="c"),
    ),
    (
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
        BlockContent(media=(Media("image/png", "QUJD"),)),
    ),
    ({"type": "input_image", "image_url": "https://x/y.png"}, BlockContent(media=(Media("", "", "https://x/y.png"),))),
    (
        {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "words"}]}},
        BlockContent(text="words"),
    ),
    ({"type": "document", "source": {"type": "content", "content": "words"}}, BlockContent(text="words")),
    (
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "words"}},
        BlockContent(text="words"),
    ),
    ({"type": "never_heard_of", "x": 1}, BlockContent(text='{"type":"never_heard_of","x":1}')),
]


@pytest.mark.parametrize(("value", "reading"), CASES, ids=[c[0]["type"] + str(i) for i, c in enumerate(CASES)])
def test_readings(value: dict, reading: BlockContent) -> None:
    assert read(block.from_part(value)) == reading


def test_chat_calls_wrap_their_function_once_more() -> None:
    value = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    assert read(block.make("tool_call", value)) == BlockContent(name="f", call_id="c", arguments="{}")


@pytest.mark.parametrize(
    "value",
    [
        None,
        3,
        "s",
        [],
        [1],
        {"type": None},
        {"type": "text", "text": 4},
        {"type": "tool_result", "content": [None, 4, []]},
    ],
)
def test_no_shape_of_json_breaks_a_reading(value: object) -> None:
    for kind in ("text", "tool_use", "tool_result", "thinking", "reasoning", "image", "document", "tool", "x"):
        assert isinstance(read_value(kind, value), BlockContent)


def test_arguments_that_are_no_json_stay_text() -> None:
    assert arguments_value(BlockContent(arguments='{"a": 1}')) == {"a": 1}
    assert arguments_value(BlockContent(arguments="*** Begin")) == "*** Begin"
