"""A project's files: sizes as context, relevance to a task, selection for a window."""
