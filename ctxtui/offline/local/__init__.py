"""The offline provider in the part of a local server: Ollama, LM Studio, llama.cpp or vLLM."""
