"""A project's files: sizes as context, relevance to a task, the selection that fits a window."""
