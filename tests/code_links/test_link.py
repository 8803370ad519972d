"""The type that all parts of `code_links` share."""

from typing import get_args

from scopes.code_links.link import EVIDENCE_KINDS, LINK_LEVELS, CodeLink, CommitId, Evidence, EvidenceKind, LinkLevel
from scopes.ids import ConversationId


def test_the_order_of_evidence_and_of_levels_names_every_kind_once():
    assert get_args(EvidenceKind) == EVIDENCE_KINDS
    assert get_args(LinkLevel) == LINK_LEVELS


def test_a_link_found_by_content_needs_neither_call_nor_repository():
    """What is not known is None: a link without a turn is still a link."""
    link = CodeLink(
        commit=CommitId("a" * 40),
        conversation=ConversationId("conv-001"),
        role="wrote",
        level="likely",
        evidence=(Evidence("content", "3 of 4 lines", share=0.75),),
    )
    assert (link.repository, link.message, link.turn) == (None, None, None)
    assert link.evidence[0].call_id is None
