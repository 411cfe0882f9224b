"""Run an agent's commands, confined if the machine allows, with limits on time, memory and output."""
