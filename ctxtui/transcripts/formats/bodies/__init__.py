"""Plain bodies of API requests and answers in any dialect, one or many in a file."""
