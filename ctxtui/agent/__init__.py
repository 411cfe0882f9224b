"""The agent that ctxtui hosts: a pure turn machine, the runner that carries it out, its conversation."""
