"""Stands for a Python program that is forked from one that has imported everything (`tests/warm`): hands its arguments,
environment, folder and open streams to it, passes signals on, and ends as it ends.

``python -I -S warm_launch.py SOCKET -m module | -c code | file [argument ...]``. It starts for each of many programs,
so it imports nothing but what an interpreter has in itself or beside it.
"""

import _signal
import _socket
import marshal
import os
import select
import sys

STREAMS = (0, 1, 2)
PASSED_ON = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP, _signal.SIGQUIT, _signal.SIGUSR1, _signal.SIGUSR2)


def opened() -> list[int]:
    """The standard streams that are open."""
    found = []
    for stream in STREAMS:
        try:
            os.fstat(stream)
        except OSError:
            continue
        found.append(stream)
    return found


def number(link: _socket.socket) -> int:
    """The next number that the server says."""
    said = link.recv(8)
    if len(said) < 8:
        os.write(2, b"warm_launch: the process that forks programs is gone\n")
        os._exit(255)
    return int.from_bytes(said, "big")


def main() -> int:
    """The status of the program, as `os.waitpid` gives it."""
    streams = opened()
    link = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    link.connect(sys.argv[1])
    _signal.pthread_sigmask(_signal.SIG_BLOCK, PASSED_ON)
    asked = marshal.dumps((os.getcwd(), sys.argv[2:], dict(os.environb), streams))
    asked = len(asked).to_bytes(8, "big") + asked
    rights = b"".join(stream.to_bytes(4, sys.byteorder) for stream in streams)
    sent = link.sendmsg([asked], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)] if streams else [])
    while sent < len(asked):
        sent += link.send(asked[sent:])
    pid = number(link)

    def pass_on(sign: int, _frame: object) -> None:
        try:  # noqa: SIM105
            os.kill(pid, sign)
        except ProcessLookupError:
            pass

    # A signal that comes just before a blocking read would be handled when that has ended only: a byte in a pipe ends
    # the wait for it.
    woken, wake = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wake, False)
    _signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    for sign in PASSED_ON:
        _signal.signal(sign, pass_on)
    _signal.pthread_sigmask(_signal.SIG_UNBLOCK, PASSED_ON)
    while link not in select.select([link, woken], [], [])[0]:
        try:  # noqa: SIM105
            os.read(woken, 512)
        except BlockingIOError:
            pass
    return number(link)


if __name__ == "__main__":
    status = main()
    if os.WIFSIGNALED(status):
        _signal.signal(os.WTERMSIG(status), _signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.waitstatus_to_exitcode(status))
