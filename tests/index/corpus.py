"""Open an index, and dump its content in a form that can be compared."""

from __future__ import annotations

import os

from scopes.index.full_text import open_index
from scopes.search.text import Documents

_TERMS = 'SELECT term, "col", id, "offset" FROM terms JOIN message ON message.number = doc ORDER BY 1, 2, 3, 4'
_DUMP = {
    "messages": """
        SELECT id, who.text, sort.text, k.text, m.text, time FROM message JOIN value who ON who.number = author
        JOIN value sort ON sort.number = author_kind JOIN value k ON k.number = message.kind
        LEFT JOIN value m ON m.number = message.model ORDER BY id""",
    "touched": """
        SELECT field, text, id FROM touched JOIN value ON value.number = touched.value
        JOIN message ON message.number = touched.message ORDER BY 1, 2, 3""",
    "commits": "SELECT oid, id FROM commits LEFT JOIN message ON message.number = commits.message ORDER BY oid",
    "edges": """
        SELECT c.oid, p.oid FROM edge JOIN commits c ON c.number = child JOIN commits p ON p.number = parent ORDER BY 1, 2""",
    "places": """
        SELECT text, oid FROM place JOIN value ON value.number = conversation JOIN commits ON commits.number = entry
        ORDER BY 1, 2""",
    "branches": "SELECT conversation, name, oid FROM branch JOIN commits ON commits.number = tip ORDER BY 1, 2",
    "property": "SELECT key, value FROM property WHERE key <> 'store' ORDER BY key",
}


def opened(repository, directory, **options):
    """Open the index of a store in a directory."""
    return open_index(str(directory), repository, Documents(repository), **options)


def status_and_notes(repository, directory):
    """Open the index; return its state and the notes."""
    with opened(repository, directory) as index:
        return index.status, [note.text for note in index.notes]


def dump(repository, directory):
    """Return the content of an index without its internal row numbers."""
    with opened(repository, directory) as index:
        index.rows("CREATE VIRTUAL TABLE temp.terms USING fts5vocab(main, full_text, instance)")
        return {name: index.rows(statement) for name, statement in {**_DUMP, "terms": _TERMS}.items()}


def matches(repository, directory, expression):
    """Return the ids of the messages that a full-text expression finds."""
    with opened(repository, directory) as index:
        found = index.rows(
            "SELECT id FROM full_text JOIN message ON number = full_text.rowid WHERE full_text MATCH ? ORDER BY 1",
            (expression,),
        )
        return [name for (name,) in found]


def file_in(directory):
    """Return the path of the index's file."""
    return os.path.join(str(directory), "index.sqlite")
