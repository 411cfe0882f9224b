"""Ollama, LM Studio, llama.cpp, vLLM."""
