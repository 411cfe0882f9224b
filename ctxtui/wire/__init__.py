"""The JSON and streams of each provider API to blocks and back, byte for byte; one module for each dialect."""
