"""Google's generateContent and cached contents, as the offline provider serves them.

Their requests are validated.
"""
