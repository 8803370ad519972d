"""Qwen Code: the session files of its chats, and what `qwen -p` prints."""
