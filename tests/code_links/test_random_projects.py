"""A law of `why`: of a line that exactly one session wrote, the answer is never another one, whoever commits it.

Sessions and a person add, change, move and delete functions in random order, and commit at random times. The test knows
who wrote each line last, and compares every line of every file with the answer.
"""

from __future__ import annotations

import random

import pytest

from scopes.code_links.line_match import ANSWERED

FILES = ("app.py", "lib/tools.py")
SEEDS = range(40)


class Team:
    """Two sessions and a person, who work on the same files."""

    def __init__(self, world, seed, names=("ada", "bob")):
        self.world = world
        self.writing = names if len(names) == 1 else (*names, "person")
        self.random = random.Random(seed)
        self.sessions = {name: world.claude(f"{name} {seed}").prompt(f"please work on it, {name}") for name in names}
        self.writers = {}  # of each line: the sessions that wrote it, or the person
        self.functions = {name: [] for name in FILES}
        self.count = 0
        for name in FILES:
            world.project.write(name, "BEGIN_OF_THE_FILE = True\n")
        world.project.commit("Begin")

    def function(self, who):
        """Return a new function, and remember who writes it."""
        self.count += 1
        lines = [f"def function_{self.count}(value_{self.count}):"]
        lines += [
            f"    step_{self.count}_{n} = compute(value_{self.count}, {n})" for n in range(self.random.randint(1, 5))
        ]
        self.writers.update(dict.fromkeys(lines, who))
        return "\n".join(lines) + "\n"

    def add(self, who):
        """Let somebody add a function at the end of a file."""
        name = self.random.choice(FILES)
        text = self.function(who)
        self.functions[name].append(text)
        self.change(who, name, self.world.project.read(name) + "\n" + text)

    def remove(self, who):
        """Let somebody delete a function."""
        name = self.random.choice([name for name in FILES if self.functions[name]] or [None])
        if name is not None:
            text = self.functions[name].pop(self.random.randrange(len(self.functions[name])))
            self.change(who, name, self.world.project.read(name).replace("\n" + text, "", 1))

    def change(self, who, name, text):
        if who == "person":
            self.world.project.write(name, text)
        else:
            self.sessions[who].write(name, text)

    def commit(self, who):
        """Let somebody commit everything."""
        if not self.world.project.git("status", "--porcelain"):
            return
        if who == "person":
            self.world.project.commit(f"Commit {self.count} by hand")
        else:
            self.sessions[who].commit(f"Commit {self.count} by {who}")

    def work(self, steps):
        for _ in range(steps):
            action = self.random.choice([self.add, self.add, self.remove, self.commit])
            action(self.random.choice((*self.sessions, "person") if action == self.commit else self.writing))
            self.world.project.clock.skip(minutes=self.random.randint(1, 40))
        self.commit("person")


def answers_of(world, name, sessions):
    """Return each line of a file with the level of its answer, and the name of the session."""
    lines = world.project.read(name).splitlines()
    names = {f"conv-{number:03d}": who for number, who in enumerate(sessions, 1)}
    for found in world.why(name).items:
        who = names[found.answers[0].conversation] if found.answers else None
        for number in range(found.line, found.last_line + 1):
            yield lines[number - 1], found.level, who


@pytest.mark.parametrize("seed", SEEDS)
def test_no_line_is_answered_with_a_session_that_did_not_write_it(world, seed):
    team = Team(world, seed)
    team.work(30)
    for session in team.sessions.values():
        world.take(session)
    found = [row for name in FILES for row in answers_of(world, name, team.sessions)]
    wrong = [
        (line, level, who, team.writers[line])
        for line, level, who in found
        if line in team.writers and level in ANSWERED and who != team.writers[line]
    ]
    assert wrong == []


@pytest.mark.parametrize("seed", SEEDS)
def test_every_line_of_a_session_that_works_alone_has_an_answer(world, seed):
    """The person only commits; lines of several turns may be next to each other."""
    team = Team(world, seed, names=("ada",))
    for number in range(3):
        team.work(10)
        team.sessions["ada"].say("Done.").prompt(f"please go on with part {number} of it")
    world.take(team.sessions["ada"])
    found = [row for name in FILES for row in answers_of(world, name, team.sessions)]
    missing = [(line, level) for line, level, _ in found if line in team.writers and level not in ANSWERED]
    assert missing == []
