"""A project's files: their sizes as context, their relevance to a task, and the selection that fits a window."""
