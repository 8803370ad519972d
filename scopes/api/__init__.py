"""The Python API: handles of a store and its conversations with the most used operations as methods.

`import scopes` gives all names and loads them at first use. `Store`, `Conversation` and `Branch` extend the handles of
`scopes.history.handles`, which resolve names and only read. Results and exceptions are those of the command line.
Nothing is printed and nothing is asked. A method calls the function that the command calls, and raises what it raises:
NotFound or Ambiguous for a name, Invalid for a value, Refused for what cannot be done now, Busy for a locked store.
"""
