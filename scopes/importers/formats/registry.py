"""The list of all transcript formats, in the order in which they are tried."""

from __future__ import annotations

from scopes.importers.formats.aider import Aider
from scopes.importers.formats.atif import Atif
from scopes.importers.formats.base import Format
from scopes.importers.formats.chatgpt import ChatGpt
from scopes.importers.formats.claude_ai import ClaudeAi
from scopes.importers.formats.claude_code import ClaudeCode
from scopes.importers.formats.codex import Codex
from scopes.importers.formats.collection import DatabaseCollection, FolderCollection
from scopes.importers.formats.copilot_cli import CopilotCli
from scopes.importers.formats.cursor import Cursor
from scopes.importers.formats.cursor_chat import CursorChatDatabase
from scopes.importers.formats.cursor_editor import CursorEditorDatabase
from scopes.importers.formats.gemini import Gemini
from scopes.importers.formats.grok import Grok
from scopes.importers.formats.iflow import Iflow
from scopes.importers.formats.kimi import Kimi
from scopes.importers.formats.llm import Llm, LlmDatabase
from scopes.importers.formats.mini_swe_agent import MiniSweAgent
from scopes.importers.formats.openai import OpenAIMessages
from scopes.importers.formats.opencode import OpenCode, OpenCodeDatabase, OpenCodeFolder
from scopes.importers.formats.openhands import OpenHands, OpenHandsFolder
from scopes.importers.formats.pi import Pi
from scopes.importers.formats.qwen import Qwen
from scopes.importers.formats.specstory import SpecStory
from scopes.importers.formats.swe_agent import SweAgent

FORMATS: tuple[Format, ...] = (
    ClaudeCode(),
    Codex(),
    Gemini(),
    OpenCode(),
    Qwen(),
    Pi(),
    Cursor(),
    SweAgent(),
    MiniSweAgent(),
    OpenHands(),
    Atif(),
    ChatGpt(),
    ClaudeAi(),
    CopilotCli(),
    Iflow(),
    Kimi(),
    Grok(),
    Llm(),
    OpenAIMessages(),
    Aider(),
    SpecStory(),
)
DATABASES: tuple[DatabaseCollection, ...] = (
    OpenCodeDatabase(),
    LlmDatabase(),
    CursorEditorDatabase(),
    CursorChatDatabase(),
)
FOLDERS: tuple[FolderCollection, ...] = (OpenCodeFolder(), OpenHandsFolder())
