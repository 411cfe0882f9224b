"""Run an agent's commands, confined if possible, with limits on time, memory and output."""
