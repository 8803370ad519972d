"""`why` after a person squashed the work of several conversations: who wrote a line counts, not who wrote most."""

from __future__ import annotations

import pytest

from tests.code_links.test_why import begin

WISHLIST = """\
class Wishlist:
    def __init__(self, owner):
        self.owner = owner
        self.names = set()

    def wish(self, name):
        self.names.add(name)
"""
LISTING = """\
        self.names.add(name)

    def listing(self):
        return sorted(self.names)
"""
OTHERS = "".join(f"def coupon_{n}(total):\n    return total * {n} / 100\n" for n in range(12))


def squash(project, *, hours=0):
    project.git("checkout", "-q", "main")
    project.clock.skip(hours=hours)
    project.git("merge", "-q", "--squash", "topic")
    project.commit("Coupons and a wishlist (#12)")


@pytest.fixture
def topic(project):
    begin(project)
    project.git("checkout", "-q", "-b", "topic")
    return project


def write_coupons(world):
    """Let a session write most of the topic, in a file of its own."""
    return world.claude("coupons").prompt("add coupons").write("coupons.py", OTHERS).commit("Coupons")


def write_wishlist(world):
    """Let a session write a file in one turn, and put two lines at its end in the next one."""
    session = world.claude("lister").prompt("add a wishlist").write("wish.py", WISHLIST).commit("A wishlist")
    session.prompt("make it sorted").edit("wish.py", "        self.names.add(name)\n", LISTING)
    return session.commit("Sorted")


@pytest.mark.parametrize("hours", [0, 10, 47])
def test_a_line_between_those_of_an_earlier_turn_is_of_the_turn_that_wrote_it(world, topic, hours):
    """It has one of five neighbours in its own edit; `why` named the other conversation, which never saw the file."""
    coupons, lister = write_coupons(world), write_wishlist(world)
    squash(topic, hours=hours)
    found = world.line("wish.py:9", coupons, lister)
    (answer,) = found.answers
    assert (found.level, answer.conversation, answer.prompt) == ("likely", "conv-002", "make it sorted")
    assert answer.how.startswith("line + 1/5 neighbours")
    assert world.line("wish.py:3").answers[0].prompt == "add a wishlist"


def test_the_neighbours_that_all_edits_of_the_conversation_have_are_part_of_the_evidence(world, topic):
    """The share of the conversation in the commit is too small to count; what is around the line is not."""
    session, lister = world.claude("much").prompt("add much"), write_wishlist(world)
    session.write("coupons.py", "".join(OTHERS.replace("coupon", f"coupon_{n}") for n in range(20))).commit("Much")
    squash(topic, hours=1.5)
    found = world.line("wish.py:9", session, lister)
    (answer,) = found.answers
    assert (found.level, answer.prompt) == ("likely", "make it sorted")
    assert answer.how == "line + 1/5 neighbours (5/5 with other edits of the conversation), Edit"


def test_nobody_else_made_a_commit_that_a_person_squashed(world, topic):
    """The session had ended before, so its link with the commit is likely: the line was said to be of another one."""
    coupons, lister = write_coupons(world), write_wishlist(world)
    squash(topic, hours=10)
    found_levels = {world.line(f"wish.py:{number}", coupons, lister).level for number in (1, 3, 7)}
    assert found_levels == {"likely"}


def test_a_lone_line_leads_nearer_to_its_writer_than_to_those_who_never_saw_the_file(world, topic):
    wrote = world.claude("lister").prompt("try a wishlist").write("wish.py", "SORTED_NAMES = True  # as asked\n")
    topic.git("clean", "-qf")
    coupons = write_coupons(world)
    topic.write("wish.py", WISHLIST + "SORTED_NAMES = True  # as asked\n")
    topic.commit("By hand")
    squash(topic, hours=1.5)
    found = world.line("wish.py:8", wrote, coupons)
    assert (found.level, found.answers[0].prompt) == ("near", "try a wishlist")


def test_an_equal_line_of_another_session_is_no_answer_for_a_commit_that_a_call_made(world, topic):
    """What a session commits itself it may have written by a command: an equal line elsewhere says little."""
    other = world.claude("other").prompt("an idea").write("wish.py", "SORTED_NAMES = True  # as asked\n")
    topic.write("wish.py", "")
    session = world.claude("own").prompt("write the list by a command")
    topic.write("wish.py", f"{WISHLIST}SORTED_NAMES = True  # as asked\n")
    session.bash("cp ../template.py wish.py").commit("Wishes")
    found = world.line("wish.py:8", other, session)
    assert (found.level, found.answers[0].prompt) == ("commit-only", "write the list by a command")


READER = """\
def pull(queue, wait):
    item = queue.get(timeout=wait)
    if item is None:
        raise ValueError('nothing in the queue')
    return item
"""


def write_reader(world):
    """Let a session write a function, and in the next turn put two lines above its last one, which the edit keeps."""
    base = world.project.head
    session = world.claude("reader").prompt("write a reader").write("q.py", READER).commit("Add a reader")
    last = "    return item\n"
    logging = "    print('pulled an item', item)\n    time.sleep(0.01)\n"
    session.prompt("log each item").edit("q.py", last, logging + last).commit("Log items")
    world.project.git("reset", "-q", "--soft", base)
    world.project.commit("Squashed")
    return session


def test_a_short_line_that_a_later_turn_parted_from_those_around_it_is_of_the_turn_that_wrote_it(world, topic):
    """No edit adds both `return item` and the line above it; it was called near, as if somebody had changed it."""
    found = world.line("q.py:7", write_reader(world))
    assert (found.level, found.answers[0].prompt) == ("likely", "write a reader")
    assert found.answers[0].how.startswith("line + 4/6 neighbours (6/6 with other edits of the conversation), Write")


def test_a_short_line_that_a_person_put_there_is_of_no_turn(world, topic):
    session = write_reader(world)
    topic.write("q.py", topic.read("q.py").replace("return item", "return 0"))
    topic.commit("By hand", "--amend")
    assert world.line("q.py:7", session).level == "near"
