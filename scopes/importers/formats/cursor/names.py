"""Words that the writers and readers of Cursor's records have in common; this imports nothing, for a fast hook."""

from __future__ import annotations

from typing import Final

NAME: Final = "cursor"
MARK: Final = "scopes_hook"
STOP: Final = "stop"
EDITOR_DATABASE: Final = "state.vscdb"
CHAT_DATABASE: Final = "store.db"
VALUES: Final = "cursorDiskKV"  # tables of the editor, with a key and a value in each row
ITEMS: Final = "ItemTable"
HEADERS: Final = "composerHeaders"
COMPOSER: Final = "composerData:"  # beginnings of keys
BUBBLE: Final = "bubbleId:"
CONTENT: Final = "composer.content."
PANEL: Final = "workbench.panel.aichat.view.aichat.chatdata"  # a key: the chats of the oldest versions
OTHER_KEYS: Final = ("messageRequestContext:", "codeBlockDiff:", "checkpointId:")  # what else belongs to a conversation
META: Final = "meta"  # tables of a chat of the command line
BLOBS: Final = "blobs"
