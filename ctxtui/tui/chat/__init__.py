"""The chat screen: the inspector with a prompt and a running agent."""
