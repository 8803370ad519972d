"""scopes: git for agent conversations.

One message is one commit in a real git object database; branches, merges and history walks are git's own.
The command line lives in `scopes.cli`; the operations that it calls are plain functions in `scopes.conversation`.
"""

__version__ = "0.1.0"
