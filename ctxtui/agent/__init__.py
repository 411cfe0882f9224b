"""The agent that ctxtui hosts: a pure turn machine, its runner, and the conversation."""
