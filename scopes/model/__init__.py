"""What is stored: messages, parts, typed payloads, claims, and their one encoding. No input or output here."""
