"""The hosted agent: a pure turn machine, its async runner, and the tools it may use."""
