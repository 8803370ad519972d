"""Message lists of OpenAI's chat completions interface."""
