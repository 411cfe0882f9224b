"""LLuMa Musume: a vision agent that plays a game turn by turn, with memory files and cache breakpoints."""
