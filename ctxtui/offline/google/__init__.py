"""Google's generateContent as the offline provider serves it, with validators and cached contents."""
