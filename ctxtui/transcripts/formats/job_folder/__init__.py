"""Job folders (Pedroceli's numbered prompts, responses, calls and results) and logs of single turns (LLuMa's)."""

from ctxtui.transcripts.formats.job_folder.reader import NAME, reader, sniff

__all__ = ["NAME", "reader", "sniff"]
