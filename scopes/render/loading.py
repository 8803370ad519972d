"""Which modules render which Result: they are imported one noun at a time, when a Result of it is shown."""

from __future__ import annotations

# The module that defines a Result: the noun whose modules in `text` and `wire` render it.
NOUN_OF: dict[str, str] = {
    "scopes.context.budget": "context",
    "scopes.context.count": "token",
    "scopes.context.fetch": "token",
    "scopes.context.prompt": "context",
    "scopes.context.result": "context",
    "scopes.context.status": "token",
    "scopes.conversation.abandon": "branch",
    "scopes.conversation.amend": "message",
    "scopes.conversation.append": "message",
    "scopes.conversation.blame": "blame",
    "scopes.conversation.branch": "branch",
    "scopes.conversation.cat": "message",
    "scopes.conversation.changes": "change",
    "scopes.conversation.cherry_pick": "cherry_pick",
    "scopes.conversation.cherry_pick_resume": "cherry_pick",
    "scopes.conversation.config": "config",
    "scopes.conversation.conflicts": "conflict",
    "scopes.conversation.decisions": "decision",
    "scopes.conversation.delete": "lifecycle",
    "scopes.conversation.diff": "difference",
    "scopes.conversation.doctor": "store",
    "scopes.conversation.files": "file",
    "scopes.conversation.gc": "store",
    "scopes.conversation.import_sample": "imported",
    "scopes.conversation.init": "store",
    "scopes.conversation.listed": "listing",
    "scopes.conversation.log": "log",
    "scopes.conversation.merge": "merge",
    "scopes.conversation.merge_resume": "merge",
    "scopes.conversation.new": "lifecycle",
    "scopes.conversation.operations": "operation",
    "scopes.conversation.rebase": "rebase",
    "scopes.conversation.rebase_resume": "rebase",
    "scopes.conversation.rename": "lifecycle",
    "scopes.conversation.resolve_conflict": "conflict",
    "scopes.conversation.rewind": "branch",
    "scopes.conversation.show": "conversation",
    "scopes.conversation.stats": "stats",
    "scopes.conversation.switch": "branch",
    "scopes.conversation.tag": "tag",
    "scopes.conversation.undo": "operation",
    "scopes.conversation.verify": "store",
    "scopes.exporters.saving": "exported",
    "scopes.importers.certify": "certificate",
    "scopes.importers.results": "imported",
    "scopes.memory.actions": "memory",
    "scopes.memory.add": "memory",
    "scopes.memory.context": "memory",
    "scopes.memory.list": "memory",
    "scopes.memory.prune": "memory",
    "scopes.memory.search": "memory",
    "scopes.memory.stats": "memory",
    "scopes.memory.summaries": "summary",
    "scopes.memory.summarize": "summary",
    "scopes.memory.update": "memory",
    "scopes.search.search": "search",
}


def load_renderings(kind: str, result: type) -> None:
    """Import what registers the `text` or `wire` rendering of a Result, where its noun is known."""
    noun = NOUN_OF.get(result.__module__)
    if noun is not None:
        __import__(f"scopes.render.{kind}.{noun}")
