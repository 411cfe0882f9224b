"""The offline provider over HTTP: the server, its paths and faults, and its start.

It runs in a thread, an event loop or a child process.
"""
