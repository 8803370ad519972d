"""The table of conflict types, and conflicts as records."""

from __future__ import annotations

import pytest

from scopes.errors import Corrupt
from scopes.model import canonical_json
from scopes.model.conflicts import (
    CHOICES,
    CONFLICT_TYPES,
    Conflict,
    Position,
    Resolution,
    conflict_id,
    decode_conflict,
    encode_conflict,
)

OPEN = Conflict(
    id="0123456789ab",
    type="decision-disagreement",
    key="decisions/auth",
    base=(),
    source=(Position("tokens", "b" * 40, "reviewer", 0.75),),
    target=(Position("sessions"),),
)


def test_the_table_has_the_severities_of_the_specification():
    """S4-13."""
    assert {name: row.severity for name, row in CONFLICT_TYPES.items()} == {
        "edit-edit": "medium",
        "delete-edit": "high",
        "delete-delete": "low",
        "add-add": "low",
        "structural": "high",
        "competing-proposals": "high",
        "contradictory-analysis": "high",
        "decision-disagreement": "high",
        "methodology-dispute": "high",
        "priority-disagreement": "medium",
        "resource-contention": "low",
        "unknown": "medium",
    }


def test_a_group_of_keys_has_one_type():
    groups = [row.group for row in CONFLICT_TYPES.values() if row.group is not None]
    assert len(groups) == len(set(groups))


def test_no_conflict_of_high_severity_resolves_automatically():
    """S4-14."""
    automatic = {name: row.automatic for name, row in CONFLICT_TYPES.items() if row.automatic is not None}
    assert automatic == {"delete-delete": "target", "resource-contention": "both"}
    assert set(automatic.values()) <= set(CHOICES)


def test_a_type_of_a_newer_version_is_of_medium_severity():
    assert decode_conflict(encode_conflict(OPEN).replace(b"decision-disagreement", b"newer")).severity == "medium"


@pytest.mark.parametrize(
    "resolution",
    [
        None,
        Resolution("manual", "source", "agreed", "alice", ("sessions",)),
        Resolution("manual", "value", "agreed", "alice", ("sessions", "tokens"), {"both": True}),
    ],
)
def test_a_decoded_conflict_equals_the_encoded_one(resolution):
    conflict = Conflict(
        id=OPEN.id,
        type=OPEN.type,
        key=OPEN.key,
        base=OPEN.base,
        source=OPEN.source,
        target=OPEN.target,
        automatic_resolution="target",
        status="resolved" if resolution else "open",
        resolution=resolution,
    )
    assert decode_conflict(encode_conflict(conflict)) == conflict


def test_decoding_another_document_is_refused():
    with pytest.raises(Corrupt, match="the record of a conflict is damaged"):
        decode_conflict(b'{"id": 1}\n')


def test_the_id_does_not_depend_on_the_direction_or_on_the_order_of_the_bases():
    one = conflict_id("edit-edit", "messages/m", ["a", "b"], "x", "y")
    assert one == conflict_id("edit-edit", "messages/m", ["b", "a"], "y", "x")
    assert len(one) == 12
    assert one != conflict_id("add-add", "messages/m", ["a", "b"], "x", "y")


@pytest.mark.parametrize("confidence", [10**400, -1, 1.5, True, "0.5", None])
def test_a_confidence_that_is_no_number_from_0_to_1_is_unknown(confidence):
    """A record may come from a store of somebody else."""
    document = canonical_json.load(encode_conflict(OPEN))
    document["source"][0]["confidence"] = confidence
    assert decode_conflict(canonical_json.dump(document)).source[0].confidence is None
