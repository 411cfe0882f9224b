"""OpenAI's Chat Completions and Responses as the offline provider serves them.

Their requests are validated.
"""
