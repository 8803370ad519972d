"""Gemini CLI: the session files of its chats, and what `gemini -p` prints."""
