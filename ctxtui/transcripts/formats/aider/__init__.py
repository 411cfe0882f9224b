"""aider's records: its chat history in Markdown, and the messages that it sent."""
