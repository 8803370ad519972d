"""Keywords of a text: its words without English and German stop words.

Chinese and Japanese text has no spaces: every pair of adjacent characters counts as a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_WORD = re.compile(r"[^\W_]+(?:[-_'\u2019.][^\W_]+)*")
_CJK_RUN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_MAX_WORD_CHARACTERS = 40
_STOP_WORD_LIST = """
a about above after again all also am an and any are aren't as at be because been before being below between both but by
can can't could couldn't did didn't do does doesn't doing don't done down during each else etc even ever every few for
from further get gets go goes going good got had has have haven't having he her here hers him his how i i'd i'll i'm
i've if in into is isn't it it's its itself just keep know let let's like ll look looks made make makes many may maybe
me might more most much must my need needs new next no nor not now of off ok okay on once one only or other our out over
own per please put re really right run same say see seems shall she should so some still such sure take than thanks that
that's the their them then there there's these they thing things think this those though through thus to too two under
until up upon us use used uses using ve very via want wants was wasn't way we we'll we're we've well were what what's
when where whether which while who why will with within without won't would yes yet you you'll you're you've your
aber alle allem allen aller alles als also am an auch auf aus bei beim bin bis bist da dabei damit dann das dass dein
dem den denn der des dich die dies diese diesem diesen dieser dieses dir doch dort du durch ein eine einem einen einer
eines er es etwas euch euer für gegen geht gibt hab habe haben hat hatte hier ich ihm ihn ihnen ihr ihre im in ins ist
ja jede jeder jedes jetzt kann kein keine können mal man mehr mein mich mir mit muss nach nicht nichts noch nun nur ob
oder ohne schon sehr sein seine sich sie sind so soll sollte sondern über um und uns unser unter vom von vor wann war
waren warum was weil welche wenn wer werden wie wieder will wir wird wo wurde zu zum zur zwischen
"""
_STOP_WORDS = frozenset(_STOP_WORD_LIST.split())
_MARKER_WORD_LIST = """
decide decided decides deciding decision decisions agree agreed agrees todo todos done system-reminder
entschieden entscheidung beschlossen vereinbart geeinigt
"""
_MARKER_WORDS = frozenset(_MARKER_WORD_LIST.split())
# what conversations with coding agents are full of, whatever they are about
_GENERIC_WORD_LIST = """
able account action actions actual add added adding additional address again agent agents already answer apply approach
area argument array assistant aufgabe available back backup bad base based basic become behavior beispiel best better
big bit blank block bottom branch branches break bug bugs build builds built bump bumped bunch call called caller calls
case cases cause change changed changes changing check checked checking checks choice clean clear cli code codebase
command commands comment comments commit commits common complete completed completion concern config content context
continue conversation copy core correct correctly correctness cover coverage create created current currently data datei
dateien day default delegate delegated delete detail details dev diff difference different direct directly directory doc
docs document documentation easy edge edit empty end ensure entire entry ergebnis error errors exact exactly example
examples execute existing expect expected explain explanation explicit extra fact fail failed failing fails failure
false feature feedback fehler field fields file files final finding findings fine first fix fixed fixes fixing flow
folder follow following format found frage full fully function functions funktion general generate git give given green
group guess handle handled handling happen happens hard help helper helpers high history hook idea image implement
implementation implemented implementing important improve include included including info information initial input
inside instance instead instruction instructions integration intent interface internal issue issues item items job key
kind large last later latest lead left level lib library line lines link list listed little local log logic logs long
loop lot main manual master match matter mean means medium member merge message messages method methods middle minimal
minor missing mode model module moment move multiple name names native necessary next none normal note notes number
object old open operation option options order original outer output overview package page panic part parts pass passed
passes passing patch path paths pattern piece place plan plans point pointer points possible post pr pr's previous prior
problem problems process production program project prompt properly provide public pull purpose push question questions
quick range readme reason record refactor references regression regressions related relevant remaining remote remotes
remove removed rename replace repo report repository request requests require required response rest result results
return returns review reviewed reviewing rewrite risk root row rule run running safe same save scenario schritt scope
script search searching second section self sending separate sequence session sessions set setup short show shows side
similar simple simply single situation size skip small solution source spawning specific staged standard start started
state statement states status stelle step steps stop store string struct structure stuff subagent suggest suite summary
support system table target task tasks team teil terms test tested testing tests text thank thing third three time times
title todo token tool tools top total track tree true try turn type types understand unit unused update updated updates
upstream usage used useful user user's users valid value values variable various verify version view wait work worked
workflow working works worth write writing written wrong zeile änderung änderungen
"""
_GENERIC_WORDS = frozenset(_GENERIC_WORD_LIST.split())
_TAG = re.compile(r"</?[a-z][\w-]*(?=[\s/>])[^<>]{0,200}>")
_QUANTITY = re.compile(r"[0-9][0-9.]*(?:[a-z]{1,2}|min|sec|kib|mib|gib|kb|mb|gb|px|st|nd|rd|th)?")


def walk_words(text: str) -> Iterator[str]:
    """Yield the keywords of a text in order, case-folded."""
    for match in _WORD.finditer(text.casefold()):
        word = match[0].replace("\u2019", "'")
        if _CJK_RUN.search(word) is not None:
            yield from _pairs(word)
        elif 1 < len(word) <= _MAX_WORD_CHARACTERS and word not in _STOP_WORDS and not word.replace(".", "").isdigit():
            yield word


def _pairs(word: str) -> Iterator[str]:
    for run in _CJK_RUN.finditer(word):
        characters = run[0]
        yield from (characters[at : at + 2] for at in range(max(1, len(characters) - 1)))


def top_words(texts: Iterable[str], limit: int) -> tuple[str, ...]:
    """Return the keywords that most texts contain, without generic ones; ties by occurrences, then alphabetically."""
    texts_containing: dict[str, int] = {}
    occurrences: dict[str, int] = {}
    for text in texts:
        words = [
            word for word in walk_words(_TAG.sub(" ", text.casefold())) if can_be_topic(word) and not is_generic(word)
        ]
        for word in words:
            occurrences[word] = occurrences.get(word, 0) + 1
        for word in dict.fromkeys(words):
            texts_containing[word] = texts_containing.get(word, 0) + 1
    ranked = sorted(occurrences, key=lambda word: (-texts_containing[word], -occurrences[word], word))
    return tuple(ranked[:limit])


def is_generic(word: str) -> bool:
    """Return True if a word says nothing about what a conversation is about: `test`, `fix`, `line`."""
    return word in _GENERIC_WORDS or word in _STOP_WORDS


def can_be_topic(word: str) -> bool:
    """Return False for marker words of the extraction rules, quantities (31m, 40ms) and words of two letters."""
    return _CJK_RUN.match(word) is not None or (
        len(word) > 2 and word not in _MARKER_WORDS and _QUANTITY.fullmatch(word) is None
    )
