"""OpenAI's two APIs, Chat Completions and Responses, as the offline provider serves and validates them."""
