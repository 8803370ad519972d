"""scopes: git for agent conversations.

One message is one commit in a real git object database; branches, merges and history walks are git's own.

    import scopes

    store = scopes.open_store(create=True)
    conversation = store.new("Login fails on Safari")
    conversation.append("The cookie is set twice.", author="alice")
    for message in conversation.log():
        print(message.author.name, message.text)

The names below are loaded at first use (PEP 562): the command line, which lives in `scopes.cli`, has to start quickly.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scopes.api import WritableConversation, WritableStore, open_store
    from scopes.errors import ScopesError
    from scopes.history.handles import Branch, Conversation, Store
    from scopes.history.revisions import Revision
    from scopes.model.message import Message

__version__ = "0.1.0"
__all__ = [
    "Branch",
    "Conversation",
    "Message",
    "Revision",
    "ScopesError",
    "Store",
    "WritableConversation",
    "WritableStore",
    "__version__",
    "open_store",
]
_MODULES = {
    "Branch": "scopes.history.handles",
    "Conversation": "scopes.history.handles",
    "Message": "scopes.model.message",
    "Revision": "scopes.history.revisions",
    "ScopesError": "scopes.errors",
    "Store": "scopes.history.handles",
    "WritableConversation": "scopes.api",
    "WritableStore": "scopes.api",
    "open_store": "scopes.api",
}


def __getattr__(name: str) -> object:
    """Load a name of the API."""
    if name not in _MODULES:
        raise AttributeError(f"module 'scopes' has no attribute {name!r}")
    __import__(_MODULES[name])
    return getattr(sys.modules[_MODULES[name]], name)


def __dir__() -> list[str]:
    """List the API."""
    return sorted(__all__)
