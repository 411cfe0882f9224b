"""Contents of screens and commands as frozen values and styled text, without a terminal."""
