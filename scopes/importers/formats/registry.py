"""The list of all transcript formats, in the order in which they are tried."""

from __future__ import annotations

from scopes.importers.formats.base import Format
from scopes.importers.formats.claude_code.format import ClaudeCode
from scopes.importers.formats.codex.format import Codex
from scopes.importers.formats.openai.format import OpenAIMessages

FORMATS: tuple[Format, ...] = (ClaudeCode(), Codex(), OpenAIMessages())
