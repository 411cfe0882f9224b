"""ctxtui: a debugger for the LLM context window."""

__version__ = "0.1.0"
