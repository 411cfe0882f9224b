"""The agent that ctxtui hosts: a pure turn machine, the runner that executes its commands, and the conversation."""
