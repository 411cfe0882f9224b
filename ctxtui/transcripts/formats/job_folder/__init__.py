"""Reads job folders (Pedroceli's) and logs of single turns (LLuMa's).

A job folder has numbered prompts, responses, calls and results.
"""

from ctxtui.transcripts.formats.job_folder.reader import NAME, reader, sniff

__all__ = ["NAME", "reader", "sniff"]
