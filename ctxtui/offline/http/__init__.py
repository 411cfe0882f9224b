"""The offline provider over HTTP: server, paths, faults; in a thread, an event loop or a child process."""
