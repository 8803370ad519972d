"""The list of all transcript formats, in the order in which they are tried."""

from __future__ import annotations

from scopes.importers.formats.base import Format
from scopes.importers.formats.claude_code.format import ClaudeCode
from scopes.importers.formats.codex.format import Codex
from scopes.importers.formats.collection import DatabaseCollection, FolderCollection
from scopes.importers.formats.cursor.format import Cursor
from scopes.importers.formats.gemini.format import Gemini
from scopes.importers.formats.llm.format import Llm
from scopes.importers.formats.llm.rows import LlmDatabase
from scopes.importers.formats.openai.format import OpenAIMessages
from scopes.importers.formats.opencode.format import OpenCode
from scopes.importers.formats.opencode.rows import OpenCodeDatabase, OpenCodeFolder
from scopes.importers.formats.pi.format import Pi
from scopes.importers.formats.qwen.format import Qwen

FORMATS: tuple[Format, ...] = (
    ClaudeCode(),
    Codex(),
    Gemini(),
    OpenCode(),
    Qwen(),
    Pi(),
    Cursor(),
    Llm(),
    OpenAIMessages(),
)
DATABASES: tuple[DatabaseCollection, ...] = (OpenCodeDatabase(), LlmDatabase())
FOLDERS: tuple[FolderCollection, ...] = (OpenCodeFolder(),)
