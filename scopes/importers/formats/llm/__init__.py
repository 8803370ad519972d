"""simonw/llm: the conversations in its log database."""
