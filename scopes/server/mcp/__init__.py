"""The Model Context Protocol: agents search, read and write conversations through tools, resources and prompts."""
