"""Named points of the city, found by the beginning of a word or nearly so."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from heapq import nsmallest
from pathlib import Path
from typing import Literal

import numpy as np
import orjson

from citywise.apps.travel_planner.roads.network import F64, MEND, NetworkError
from citywise.backend.app import geometry
from citywise.backend.ingest.payloads import Place

Kind = Literal["street", "junction", "address", "garage", "stop", "venue", "place", "event"]
"""A cultural event happens at a venue; a place is what a map shows beside all these. An address is
a street with a house number: there are many, and each is found by all of it alone."""

NEAR_M = 1_000.0
"""How far a named point may be from what it is to describe."""
_EQUAL = 0.02
"""Scores that differ by less are told apart by distance."""
_WORTH = 0.6
"""Of the best score, what another must have at least to be shown beside it."""
_SAME = str.maketrans({"æ": "ae", "ø": "o", "ß": "ss", "ð": "d", "þ": "th", "ł": "l", "đ": "d"})
_WORD = re.compile(r"[^\W_]+")
_DETAIL = 0.9
"""What a word counts that is not in the name but in the detail."""
_TYPO_FROM = 4
"""Letters that a word must have for a slip of the finger to be forgiven in it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A named point: a street, a junction, a garage, a stop, a venue, an event, …

    `detail` says more in a few words (the town, the house); `starts_ms` is when an event
    begins (Unix ms).
    """

    id: str
    name: str
    kind: Kind
    lon: float
    lat: float
    detail: str = ""
    starts_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """An entry that a search found, with how well it fits (1: as written)."""

    id: str
    name: str
    kind: Kind
    detail: str
    lon: float
    lat: float
    score: float
    starts_ms: int | None = None


class Gazetteer:
    """Entries, and the words by which they are found; addresses apart from all others."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        given = tuple(entries)
        self.entries = tuple(e for e in given if e.kind != "address")
        self.addresses = tuple(e for e in given if e.kind == "address")
        self._houses: dict[str, list[Entry]] = defaultdict(list)
        for entry in self.addresses:
            self._houses[_address(entry.name)].append(entry)
        self._at = np.array([(e.lon, e.lat) for e in self.entries]).reshape(-1, 2)
        self._lasting = np.array([e.kind != "event" for e in self.entries], dtype=bool)
        self._words = _Words(self.entries)

    def search(
        self, text: str, near: tuple[float, float] | None = None, limit: int = 8
    ) -> list[Found]:
        """The entries that fit best, best first.

        Every word of the text must be, begin, or nearly be a word of the entry; case and
        accents do not matter. Among equals, those near a position (longitude, latitude) come
        first.
        """
        scores = self._words.scores(folded(text))
        if not scores:
            return []
        best = max(scores.values())
        scores = {i: score for i, score in scores.items() if score >= _WORTH * best}
        away = self._metres(near) if near is not None else np.zeros(len(self.entries))

        def rank(index: int) -> tuple[int, bool, float, str]:
            worse = round((best - scores[index]) / _EQUAL)
            return worse, not self._lasting[index], away[index], self.entries[index].name

        return [self._found(index, scores[index]) for index in nsmallest(limit, scores, key=rank)]

    def houses(self, address: str) -> list[Found]:
        """The houses at an address (`Ringgade 12B`): several where streets share a name."""
        known = self._houses.get(_address(address), ())
        return [Found(**asdict(entry), score=1.0) for entry in known]

    def with_entries(self, more: Iterable[Entry]) -> Gazetteer:
        """The same and more."""
        return Gazetteer([*self.entries, *self.addresses, *more])

    def nearest(self, lon: float, lat: float) -> Found | None:
        """The named point, not an event, that is nearest to a position; None beyond a
        kilometre. The score falls from 1 with the distance to 0."""
        if not self._lasting.any():
            return None
        away = np.where(self._lasting, self._metres((lon, lat)), np.inf)
        index = int(away.argmin())
        metres = float(away[index])
        return self._found(index, 1 - metres / NEAR_M) if metres <= NEAR_M else None

    def save(self, path: Path) -> None:
        """Write it to a JSON file, at once or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.part")
        part.write_bytes(orjson.dumps([asdict(e) for e in (*self.entries, *self.addresses)]))
        part.replace(path)

    @classmethod
    def load(cls, path: Path) -> Gazetteer:
        """Read a file that `save` wrote; raises `NetworkError`."""
        try:
            read = orjson.loads(path.read_bytes())
            if not isinstance(read, list):
                raise TypeError(f"expected a list, found {str(read)[:40]}")
            return cls(Entry(**entry) for entry in read)
        except FileNotFoundError as error:
            raise NetworkError(f"{path}: there are no named places here; {MEND}") from error
        except (OSError, ValueError, TypeError) as error:
            raise NetworkError(f"{path}: not a list of named places ({error}); {MEND}") from error

    def _metres(self, at: tuple[float, float]) -> F64:
        return geometry.apart_m(self._at[:, 0], self._at[:, 1], *at)

    def _found(self, index: int, score: float) -> Found:
        return Found(**asdict(self.entries[index]), score=round(score, 3))


def garages(places: Iterable[Place]) -> list[Entry]:
    """Places that are garages, under their own ids."""
    return [Entry(place.id, place.name, "garage", *place.middle) for place in places]


def folded(text: str) -> list[str]:
    """The words of a text without case, accents and old spellings: `Ørsted` is `orsted`,
    `Åboulevarden` and `Aaboulevarden` are `aboulevarden`."""
    plain = unicodedata.normalize("NFKD", text.casefold().translate(_SAME))
    letters = "".join(letter for letter in plain if not unicodedata.combining(letter))
    return _WORD.findall(letters.replace("aa", "a").replace("oe", "o"))


def _address(text: str) -> str:
    """What tells addresses apart: `12 B` is `12B`, and `1-3` is not `13`."""
    return re.sub(r"(?<!\d) | (?!\d)", "", " ".join(folded(text)))


class _Words:
    """Which entries have which words, and how well words of a search fit them."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        places: dict[str, dict[int, float]] = defaultdict(dict)
        self._names: list[tuple[int, str]] = []
        """How many words each name has, and all of them in one."""
        for index, entry in enumerate(entries):
            words = folded(entry.name)
            self._names.append((len(words), "".join(words)))
            for word in folded(entry.detail):
                places[word][index] = _DETAIL
            for word in (*words, "".join(words)):
                places[word][index] = 1.0
        self._places: Mapping[str, Mapping[int, float]] = dict(places)
        self._sorted = sorted(places)
        self._slips: dict[str, list[str]] = defaultdict(list)
        for word in self._sorted:
            if len(word) >= _TYPO_FROM:
                for slip in _slips(word):
                    self._slips[slip].append(word)

    def scores(self, words: list[str]) -> dict[int, float]:
        """How well entries fit that have all the words."""
        found: dict[int, float] | None = None
        for word in words:
            fits = self._entries(word)
            if found is None:
                found = fits
            else:
                found = {i: score + fits[i] for i, score in found.items() if i in fits}
        return {i: self._score(i, total, words) for i, total in (found or {}).items()}

    def _score(self, index: int, total: float, words: list[str]) -> float:
        """The mean over the words, a little less where the entry has more of them or begins
        with another."""
        count, name = self._names[index]
        rest = max(count - len(words), 0) / (count + 1)
        begins = name.startswith(words[0][:3])
        return total / len(words) * (1 - 0.15 * rest) * (1.0 if begins else 0.93)

    def _entries(self, word: str) -> dict[int, float]:
        found: dict[int, float] = {}
        for other, score in self._alike(word):
            for index, weight in self._places[other].items():
                if score * weight > found.get(index, 0):
                    found[index] = score * weight
        return found

    def _alike(self, word: str) -> Iterator[tuple[str, float]]:
        """Known words that a word is or begins; less like it, those it nearly is or nearly
        begins; and if it begins none, those it is part of."""
        begun = self._beginning(word)
        for other in begun:
            yield other, 0.8 + 0.2 * len(word) / len(other)
        if len(word) >= _TYPO_FROM and (not begun or word not in self._places):
            weight = 0.45 if begun else 0.65
            yield from ((other, weight) for other in self._nearly(word))
        if not begun and len(word) >= _TYPO_FROM - 1:
            yield from ((other, 0.5) for other in self._sorted if word in other)

    def _beginning(self, word: str) -> list[str]:
        first = bisect_left(self._sorted, word)
        return self._sorted[first : bisect_left(self._sorted, word + "\uffff")]

    def _nearly(self, word: str) -> set[str]:
        near = {other for slip in _slips(word) for other in self._slips.get(slip, ())}
        alike = self._beginning(word[:2])
        return near | {other for other in alike if _begins_nearly(other, word)}


def _slips(word: str) -> set[str]:
    """A word and what is left of it without one of its letters: two words that share one of
    these differ by one or two letters, or by two that changed places."""
    return {word} | {word[:n] + word[n + 1 :] for n in range(len(word))}


def _begins_nearly(word: str, text: str) -> bool:
    """Whether a word begins with a text but for one letter wrong, missing or too many."""
    same = next((n for n, (a, b) in enumerate(zip(word, text, strict=False)) if a != b), None)
    if same is None:
        return False
    rest = text[same + 1 :]
    return (
        word.startswith(rest, same + 1)
        or word.startswith(text[same:], same + 1)
        or word.startswith(rest, same)
    )
