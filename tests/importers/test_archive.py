"""The lines of segments in the record of a source."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from scopes.importers.archive import Segment, _read_segment, _write_segment
from scopes.importers.formats.events import ByteRange
from scopes.model import canonical_json

TEXTS = st.none() | st.text(st.characters(exclude_categories=()))


MESSAGES = st.none() | st.text("abcdefghijklmnopqrstuvwxyz234567", min_size=26, max_size=26)
NAMES = st.text("aZ9_-") | st.text(st.characters(exclude_categories=()))


@given(st.integers(0, 2**40), MESSAGES, TEXTS, TEXTS, st.lists(NAMES, max_size=3).map(tuple))
@example(7, None, "file-history-snapshot", None, ())
@example(7, None, "", "", ())
@example(7, None, 'progress/"\n\ud83d', None, ())
@example(7, "a" * 26, None, None, ())
@example(7, "a" * 26, None, None, ("msg_01", "0f-1"))
@example(7, "a" * 26, None, None, ("", "a\n"))
@example(7, "a" * 26, "", None, ("a",))
def test_a_segment_is_canonical_json_and_is_read_back(offset, message, state, unparsed, native):
    segment = Segment(ByteRange(offset, offset + 1), message, state, unparsed, native)
    line = _write_segment(segment)
    fields = {
        "offset": offset,
        "length": offset + 1,
        "message": message,
        "state": state,
        "unparsed": unparsed,
        "native": list(native) or None,
    }
    assert line == canonical_json.dump({name: value for name, value in fields.items() if value is not None})
    assert _read_segment(line).span == segment.span
