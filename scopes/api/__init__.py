"""The Python API: handles of a store and its conversations with the operations of the command line as methods.

`import scopes` gives all names and loads them at first use. `WritableStore` and `WritableConversation` extend the
handles that only read, `Store` and `Conversation` of `scopes.history.handles`. Results and exceptions are those of the
command line. Nothing is printed and nothing is asked.
"""
