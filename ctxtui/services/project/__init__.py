"""Read a project's files, divide the context window, and select the files that fit."""
