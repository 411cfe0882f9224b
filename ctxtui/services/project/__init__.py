"""Reads a project's folder, lays out a model's window for it, and picks the files that go into a context."""
