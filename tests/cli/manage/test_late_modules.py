"""TLS and others are loaded when they are first used, and are then what they would have been."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ctxtui.cli.manage import late_modules

pytest.importorskip("_ssl")
pytestmark = pytest.mark.slow

BEGIN = """
import sys
from pathlib import Path
from ctxtui.cli.manage.late_modules import load_late
load_late()
import asyncio
assert "_ssl" not in sys.modules
"""


def said(code: str) -> str:
    """What a fresh interpreter says that runs `code` after `BEGIN`."""
    done = subprocess.run([sys.executable, "-c", BEGIN + code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_another_import_is_no_use() -> None:
    assert said("import ssl, asyncio.sslproto, asyncio.base_events; print('_ssl' in sys.modules)") == "False"


def test_the_first_use_loads_it_where_asyncio_has_it_too() -> None:
    code = """
import ssl
context = ssl.create_default_context()
base, proto = asyncio.base_events, asyncio.sslproto
print(isinstance(context, base.ssl.SSLContext), type(ssl).__name__, ssl.__spec__.loader is ssl.__loader__)
print(issubclass(proto.SSLProtocol, asyncio.BufferedProtocol), base.sslproto is proto)
"""
    assert said(code) == "True module True\nTrue True"


def test_a_name_that_it_does_not_have_is_an_error() -> None:
    assert said("import ssl\ntry: ssl.nothing\nexcept AttributeError as error: print(error)") == (
        "module 'ssl' has no attribute 'nothing'"
    )


@pytest.mark.parametrize("name", sorted({*late_modules._LATE, *late_modules._TAKEN}))
def test_each_has_the_names_of_one_that_was_loaded_at_once(name: str) -> None:
    code = f"""
import {name}
late = sys.modules["{name}"]
getattr(late, "nothing", None)
print(type(late).__name__, *(name for name in vars(late) if not name.startswith("__")))
"""
    kind, *names = said(code).split()
    assert kind == "module"
    at_once = f"import sys, asyncio, {name}; print(*vars(sys.modules['{name}']))"
    plain = subprocess.run([sys.executable, "-c", at_once], capture_output=True, text=True, check=True)
    assert set(names) == {one for one in plain.stdout.split() if not one.startswith("__")}


def test_what_lacks_its_part_in_c_is_loaded_at_once() -> None:
    code = """
from ctxtui.cli.manage import late_modules
late_modules._LATE["bz2"] = "no_such_module"
import bz2
print(type(bz2).__name__)
"""
    assert said(code) == "module"


def test_threads_that_use_it_first_at_once_all_find_it() -> None:
    code = """
import threading
at_once, found = threading.Barrier(8), []
def use():
    import ssl
    at_once.wait()
    found.append((ssl.SSLContext, asyncio.sslproto.SSLProtocol, ssl.PROTOCOL_TLS_CLIENT))
sys.setswitchinterval(1e-6)
threads = [threading.Thread(target=use) for _ in range(8)]
[one.start() for one in threads], [one.join() for one in threads]
print(len(found), len(set(found)))
"""
    assert said(code) == "8 1"


def test_a_connection_is_made_with_it() -> None:
    code = """
async def talk():
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    try:
        await asyncio.open_connection("127.0.0.1", server.sockets[0].getsockname()[1], ssl=True)
    except OSError as error:  # the server does not speak it
        print(type(error).__name__, "_ssl" in sys.modules)
asyncio.run(talk())
"""
    error, loaded = said(code).split()
    assert loaded == "True"
    assert error.startswith(("SSL", "Connection"))


def test_where_it_cannot_be_loaded_the_use_fails_and_the_next_one_tries_again() -> None:
    code = """
import ssl
sys.modules["_ssl"] = None
try: ssl.SSLContext
except ImportError as error: print(type(error).__name__)
del sys.modules["_ssl"]
print(ssl.SSLContext.__name__)
"""
    assert said(code) == "ModuleNotFoundError\nSSLContext"


BEGIN_APP = """
import rich.console, textual.app, textual.theme, textual.design, textual.suggestions
from textual.pilot import Pilot
def loaded(name): return type(sys.modules[name]).__name__ == "module"
"""


def test_what_textual_takes_by_name_is_not_loaded_with_its_app() -> None:
    names = sorted(late_modules._TAKEN)
    code = f"print([loaded(name) for name in {names}], 'textual.widgets._input' in sys.modules)"
    assert said(BEGIN_APP + code) == f"{[False] * len(names)} False"


@pytest.mark.parametrize(
    ("use", "name"),
    [
        ("isinstance(3, textual.app.CommandPalette)", "textual.command"),
        ("issubclass(int, textual.app.CommandPalette)", "textual.command"),
        ("issubclass(textual.theme.ThemeProvider, textual.app.Provider)", "textual.command"),
        ("textual.app.CommandPalette.run_on_select", "textual.command"),
        ("textual.theme.ThemeProvider.matcher", "textual.command"),
        ("textual.design.Table()", "rich.table"),
        ("textual.suggestions.get_suggestion('widht', ['width'])", "difflib"),
        ("textual.app.user_downloads_path()", "platformdirs"),
        ("textual.widget.Widget().tree.__class__", "rich.tree"),
        ("textual.css.stylesheet.Panel('x').__class__", "rich.panel"),
        ("rich.console.Console().render_str('[b]x[/b]').plain", "rich.markup"),
    ],
)
def test_a_use_of_what_was_taken_is_one_of_the_real_thing(use: str, name: str) -> None:
    code = f"print(loaded('{name}'))\nprint({use}, loaded('{name}'))"
    real = "import rich.console, textual.app, textual.theme, textual.design, textual.suggestions\n"
    plain = subprocess.run([sys.executable, "-c", f"{real}print({use})"], capture_output=True, text=True)
    before, after = said(BEGIN_APP + code).splitlines()

    def steady(words: str) -> str:
        return words.partition(" at 0x")[0]

    assert (before, steady(after).removesuffix(" True")) == ("False", steady(plain.stdout.strip()))


def test_who_inherits_from_what_was_taken_inherits_from_the_real_class_then() -> None:
    code = """
heir = textual.theme.ThemeProvider
import textual.command
textual.command.CommandInput
print(heir.__mro__[1] is textual.command.Provider, issubclass(heir, textual.command.Provider))
"""
    assert said(BEGIN_APP + code) == "True True"


def test_textuals_own_palette_works_with_it() -> None:
    code = """
async def look():
    app = textual.app.App()
    async with app.run_test() as pilot:
        app.search_themes()
        await pilot.pause()
        await pilot.pause()
        found = app.screen.query_one(textual.command.CommandList)
        print(app.screen.__class__.__name__, found.option_count == len(app.available_themes))
asyncio.run(look())
"""
    assert said(BEGIN_APP + code) == "CommandPalette True"


# Modules of a folder, which tell how far they are by events of `meeting`.
MEETING = """
import os, threading, types
from ctxtui.cli.manage import late_modules
sys.path.insert(0, FOLDER)
sys.modules["meeting"] = meeting = types.ModuleType("meeting")
meeting.begun = begun = {name: threading.Event() for name in ("left", "right", "go on")}
late_modules._LATE.update(dict.fromkeys(LATE, ""))
"""

IN_A_RING = """
ends = {}
def use(name):
    try: ends[name] = (module := __import__(name)).whole and module.found
    except BaseException as error: ends[name] = repr(error)
threads = [threading.Thread(target=use, args=(name,), daemon=True) for name in ("left", "right")]
[one.start() for one in threads], [one.join(10) for one in threads]
print(*(ends.get(name, "waits") for name in ("left", "right")), flush=True)
os._exit(0)
"""


@pytest.mark.parametrize("late", [("left", "right"), ("left",), ("right",)])
def test_threads_that_fill_modules_which_import_each_other_do_not_wait_for_each_other(
    late: tuple[str, ...], tmp_path: Path
) -> None:
    for own, other in ("left", "right"), ("right", "left"):
        (tmp_path / f"{own}.py").write_text(
            f"from meeting import begun\nearly = '{own}'\nbegun['{own}'].set()\nassert begun['{other}'].wait(5)\n"
            f"import {other}\nfound = getattr({other}, 'nothing', {other}.early)\nwhole = True\n"
        )
    begin = MEETING.replace("FOLDER", repr(str(tmp_path))).replace("LATE,", f"{late!r},")
    assert said(begin + IN_A_RING) == "right left"


def test_a_thread_that_asks_a_module_which_another_one_fills_waits_for_it(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(
        "from meeting import begun\nbegun['left'].set()\nassert begun['go on'].wait(30)\nwhole = 1\n"
    )
    code = """
import slow
found = []
first, second = (threading.Thread(target=lambda: found.append(slow.whole)) for _ in range(2))
first.start(), begun["left"].wait(30)
second.start(), second.join(0.2)
print(second.is_alive(), found)
begun["go on"].set()
first.join(), second.join()
print(found)
"""
    begin = MEETING.replace("FOLDER", repr(str(tmp_path))).replace("LATE,", "['slow'],")
    assert said(begin + code) == "True []\n[1, 1]"
