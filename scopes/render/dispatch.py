"""Which modules render which Result: they are imported one noun at a time, when a Result of it is shown."""

from __future__ import annotations

# The module that defines a Result: the noun whose modules in `text` and `wire` render it.
NOUN_OF: dict[str, str] = {
    "scopes.context.budget": "context",
    "scopes.context.count": "tokens",
    "scopes.tokens.fetch": "tokens",
    "scopes.context.result": "context",
    "scopes.tokens.status": "tokens",
    "scopes.conversation.abandon": "branch",
    "scopes.conversation.amend": "message",
    "scopes.conversation.append": "message",
    "scopes.conversation.blame": "blame",
    "scopes.conversation.branch": "branch",
    "scopes.conversation.cat": "message",
    "scopes.conversation.changes": "changes",
    "scopes.conversation.cherry_pick": "cherry_pick",
    "scopes.conversation.cherry_pick_continue": "cherry_pick",
    "scopes.conversation.config": "config",
    "scopes.conversation.conflicts": "conflicts",
    "scopes.conversation.decisions": "decisions",
    "scopes.conversation.delete": "lifecycle",
    "scopes.conversation.diff": "diff",
    "scopes.conversation.doctor": "store",
    "scopes.conversation.files": "files",
    "scopes.conversation.gc": "store",
    "scopes.conversation.import_sample": "import_",
    "scopes.conversation.init": "store",
    "scopes.conversation.list_cached": "list_",
    "scopes.conversation.log": "log",
    "scopes.conversation.merge": "merge",
    "scopes.conversation.merge_continue": "merge",
    "scopes.conversation.new": "lifecycle",
    "scopes.conversation.operations": "operations",
    "scopes.conversation.rebase": "rebase",
    "scopes.conversation.rebase_continue": "rebase",
    "scopes.conversation.rename": "lifecycle",
    "scopes.conversation.resolve_conflict": "conflicts",
    "scopes.conversation.rewind": "branch",
    "scopes.conversation.show": "show",
    "scopes.conversation.stats": "stats",
    "scopes.conversation.switch": "branch",
    "scopes.conversation.tag": "tag",
    "scopes.conversation.undo": "operations",
    "scopes.conversation.verify": "store",
    "scopes.exporters.atomic_save": "export",
    "scopes.importers.verify_source": "verify_source",
    "scopes.importers.results": "import_",
    "scopes.memory.actions": "memory",
    "scopes.memory.add": "memory",
    "scopes.memory.context": "memory",
    "scopes.memory.list": "memory",
    "scopes.memory.prune": "memory",
    "scopes.memory.search": "memory",
    "scopes.memory.stats": "memory",
    "scopes.memory.summaries": "summarize",
    "scopes.memory.summarize": "summarize",
    "scopes.memory.update": "memory",
    "scopes.search.hits": "search",
    "scopes.search.search": "search",
}


def load_renderings(kind: str, result: type) -> None:
    """Import what registers the `text` or `wire` rendering of a Result, where its noun is known."""
    noun = NOUN_OF.get(result.__module__)
    if noun is not None:
        __import__(f"scopes.render.{kind}.{noun}")
