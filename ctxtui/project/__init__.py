"""A project's files: what each would come to, which matter for a task, what of them fits into a window."""
