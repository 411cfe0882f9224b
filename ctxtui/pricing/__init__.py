"""Money: usage and a date in, cost out; thin over genai-prices."""
