"""Parts of the relay's benchmark: an upstream, a raw relay as the floor, a client, each in plain asyncio."""
