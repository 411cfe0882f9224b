"""TLS and others are loaded when they are first used, and are then what they would have been."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

from ctxtui.cli.manage import late_modules

pytest.importorskip("_ssl")

BEGIN = """
import sys
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


@pytest.mark.parametrize("name", sorted(late_modules._LATE))
def test_each_has_the_names_of_one_that_was_loaded_at_once(name: str) -> None:
    code = f"""
import {name}
late = sys.modules["{name}"]
getattr(late, "nothing", None)
print(type(late).__name__, *(name for name in vars(late) if not name.startswith("__")))
"""
    kind, *names = said(code).split()
    assert kind == "module"
    assert set(names) == {one for one in vars(import_module(name)) if not one.startswith("__")}


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
