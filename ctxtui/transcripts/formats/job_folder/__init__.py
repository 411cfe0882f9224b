"""Reads job folders (Pedroceli's) and logs of single turns (LLuMa's)."""
