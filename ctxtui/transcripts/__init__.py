"""Reads the recordings of other tools: bytes in, events of a session out.

The format is chosen by content, helped by the file's name.
"""
