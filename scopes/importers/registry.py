"""Every format that scopes reads, in the order in which they are tried."""

from __future__ import annotations

from scopes.importers.claude_code.format import ClaudeCode
from scopes.importers.codex.format import Codex
from scopes.importers.format import Format
from scopes.importers.openai_messages import OpenAIMessages

FORMATS: tuple[Format, ...] = (ClaudeCode(), Codex(), OpenAIMessages())
