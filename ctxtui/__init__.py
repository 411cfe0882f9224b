"""ctxtui: a debugger for the LLM context window."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    # Not at run time: importing `typing` alone would take longer than all of this.
    from collections.abc import Sequence
    from os import PathLike
    from typing import Any

__version__ = "0.1.0"

NEEDS_POSIX = "ctxtui runs on Linux and macOS", "on Windows, install it in WSL 2"
"""Message and way out of the error on a system without POSIX."""


def record(
    function: Any = None,
    *,
    session: str = "",
    thread: str = "",
    tags: Sequence[str] = (),
    folder: str | PathLike[str] | None = None,
) -> Any:
    """Record this program's model requests through httpx or httpx2, and their answers.

    The record has their bytes, without keys, and the times. The SDKs of Anthropic and OpenAI use one of the two (sync,
    async or streamed), and so does what is built on them.

        import ctxtui
        ctxtui.record(session="nightly")            # from now to the program's end, or to .stop()

        with ctxtui.record(session="a run") as run:  # in this block
            ...
        print(run.path)

        @ctxtui.record(session="my agent")          # while the function runs
        def agent(): ...

    `session` names the recording; one that exists is continued. By default it has a new name, inside another recording
    that recording's name. `thread` names the line of context (default: conversations are told apart by how they begin).
    `tags` are stored with the recording, `folder` is where its file is written (default: where ctxtui looks).
    ``ctxtui open SESSION`` shows it, also while it grows. Requests are not changed or delayed, and a fault in
    ctxtui raises nothing.
    """
    # Imported here: reading the version should load nothing.
    from importlib import import_module

    in_process: Any = import_module("ctxtui.services.attach.in_process")
    return in_process.record(function, session=session, thread=thread, tags=tags, folder=folder)


def edits(session: str, thread: str = "main") -> Any:
    """The edits applied to `session` until now, for requests of this program.

        overlay = ctxtui.edits("nightly")

        client.messages.create(**overlay.apply({"model": ..., "max_tokens": ..., "messages": messages}))

    They target blocks, so they also apply to later requests that resend the whole history. A request without their
    blocks, or that its provider would then refuse, is returned unchanged: ``overlay.proof`` lists the applied, inactive
    and refused edits. ``ctxtui edits nightly --json`` reads the same overlay.
    """
    from importlib import import_module

    return import_module("ctxtui.services.attach.session_edits").edits(session, thread)
