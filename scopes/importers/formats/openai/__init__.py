"""Message lists of the OpenAI chat completions API."""
