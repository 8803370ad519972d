"""What had to be repaired in sessions is told in one line for each kind, not for each session."""

from __future__ import annotations

from dataclasses import replace

from scopes.importers.formats.events import Ending
from scopes.importers.import_sources import import_sources
from tests.importers.demo_format import DemoFormat, session_records, write_transcript

NOTES = ("2 messages name missing parents", "1 message has the id of another one")


class Irregular(DemoFormat):
    """Reads the demo format, and finds the same two irregularities in every session."""

    def walk_events(self, source):
        for event in super().walk_events(source):
            yield replace(event, notes=NOTES) if isinstance(event, Ending) else event


def test_several_sessions_have_one_note_for_each_kind(repository, tmp_path):
    sources = [write_transcript(tmp_path / f"{n}.jsonl", *session_records(f"s{n}", f"a b{n}")) for n in range(3)]
    done = import_sources(repository, sources, (Irregular(),))
    assert [note.text.partition(";")[0] for note in done.notes] == [
        "3 sessions have links to missing parents",
        "3 sessions have messages with the ids of others",
    ]
    assert len(done.details) == 6


def test_one_session_is_named_with_what_it_has(repository, tmp_path):
    done = import_sources(
        repository, [write_transcript(tmp_path / "a.jsonl", *session_records("s", "a b"))], (Irregular(),)
    )
    assert [note.text for note in done.notes] == [f"session s: {text}" for text in NOTES]
