"""Offers of the Berlin SPARQL Benchmark: the prices of products, and of their types."""

from __future__ import annotations

import gzip
import random
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from benchmarks.r4.conclusions import Conclusion, text
from benchmarks.r4.experiment import (
    PACK,
    SUBCLASS,
    TYPE,
    Arrival,
    Experiment,
    Statement,
    superclasses,
)
from benchmarks.r4.scans import Pattern
from citywise.reasoning.rdf.mapping import XSD

OFFERS = 100_000
RATE = 10_000
"""Triples a second. Each second ends in the middle of an offer, so that how wide the window is
decides what follows from it."""
_BSBM = "http://www4.wiwiss.fu-berlin.de/bizer/bsbm/v01/"
_DC = "http://purl.org/dc/elements/1.1/"
_VOCABULARY = (
    "product",
    "vendor",
    "price",
    "validFrom",
    "validTo",
    "deliveryDays",
    "offerWebpage",
)
PARTS = (
    TYPE,
    *(f"<{_BSBM}vocabulary/{name}>" for name in _VOCABULARY),
    f"<{_DC}publisher>",
    f"<{_DC}date>",
)
"""The properties of an offer."""
_PRODUCT, _PRICE = PARTS[1], PARTS[3]
_OFFER = f"<{_BSBM}vocabulary/Offer>"
_KIND = f"<{_BSBM}vocabulary/ProductType>"
_FILES = ("product_types_329.nt.gz", "products_5000.nt.gz")


class Offers(Experiment):
    """The offer rule over a million triples, the types of products being known."""

    name = "bsbm"
    document = "offers.rifps"
    knowledge = "products.ttl"
    windows: Sequence[int] = (1, 5, 10)
    patterns: Sequence[Pattern] = (
        Pattern(TYPE, constant=_OFFER),
        *(Pattern(name) for name in PARTS[1:]),
    )

    def __init__(self, offers: int = OFFERS, pack: Path = PACK, rate: int = RATE) -> None:
        self._offers, self._rate = offers, rate
        self._folder = pack / "bsbm"
        self._there = (self._folder / "offers_100000.nt.gz").is_file()
        self.data = "BSBM" if self._there else "generated like BSBM's: no data pack"

    def static(self) -> Iterator[Statement]:
        """Products, their types and the hierarchy of these."""
        if not self._there:
            return _products()
        return (found for name in _FILES for found in _statements(self._folder / name))

    def arrivals(self) -> Iterator[Arrival]:
        """The offers, one after the other."""
        if self._there:
            found = _statements(self._folder / "offers_100000.nt.gz")
        else:
            found = _generated(self._offers)
        for number, statement in enumerate(islice(found, self._offers * len(PARTS))):
            yield Arrival((number + len(PARTS) // 2) // self._rate, statement)

    def conclusions(self, width: int) -> Iterator[Conclusion]:
        """Offers that are complete within the window, and the types of their products."""
        types = self._types()
        for product, price, first, last in self._complete(width):
            yield text(f"<{_BSBM}vocabulary/offerPrice>", (product, price)), first, last
            for each in types[product]:
                yield text(f"<{_BSBM}vocabulary/typePrice>", (each, price)), first, last

    def joined(self, width: int, until: int) -> int:
        """How many offers are complete up to an instant."""
        return sum(first <= until for _, _, first, _ in self._complete(width))

    def _complete(self, width: int) -> Iterator[tuple[str, str, int, int]]:
        """Product, price, and when all that is said of the offer is in the window."""
        offers: dict[str, dict[str, tuple[int, str]]] = {}
        for time, (s, p, o) in self.arrivals():
            parts = offers.setdefault(s, {})
            parts[p] = time, o
            if len(parts) < len(PARTS):
                continue
            times = [part[0] for part in offers.pop(s).values()]
            if max(times) < min(times) + width:
                product, price = parts[_PRODUCT][1], parts[_PRICE][1]
                yield product, price, max(times), min(times) + width - 1

    def _types(self) -> dict[str, set[str]]:
        """By product: its types and those above them."""
        known = list(self.static())
        above = superclasses(known)
        kinds = {s for s, p, o in known if p == TYPE and o == _KIND}
        found: dict[str, set[str]] = {}
        for s, p, o in known:
            if p == TYPE:
                found.setdefault(s, set()).update(above.get(o, {o}) & kinds)
        return found


def _statements(path: Path) -> Iterator[Statement]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            subject, name, value = line.removesuffix(" .\n").split(" ", 2)
            yield subject, name, value


# -- without the data pack -------------------------------------------------------------------

_PRODUCTS = 500
_LEVELS = (1, 4, 16, 64)
"""Types of products, from the top."""


def _instance(kind: str, number: int) -> str:
    return f"<{_BSBM}instances/{kind}{number}>"


def _products() -> Iterator[Statement]:
    first = 0
    for level, number in enumerate(_LEVELS):
        for at in range(number):
            here = _instance("ProductType", first + at)
            yield here, TYPE, _KIND
            if level:
                above = first - _LEVELS[level - 1] + at * _LEVELS[level - 1] // number
                yield here, SUBCLASS, _instance("ProductType", above)
        first += number
    for at in range(_PRODUCTS):
        leaf = first - 1 - at % _LEVELS[-1]
        yield _instance("Product", at), TYPE, _instance("ProductType", leaf)


def _generated(offers: int) -> Iterator[Statement]:
    chance = random.Random(1)
    for number in range(offers):
        vendor = _instance("Vendor", chance.randrange(50))
        month, days = chance.randint(1, 8), chance.randint(1, 14)
        price = f'"{chance.randint(500, 999_999) / 100:.2f}"^^<{_BSBM}vocabulary/USD>'
        values = (
            _OFFER,
            _instance("Product", chance.randrange(_PRODUCTS)),
            vendor,
            price,
            f'"2008-0{month}-20T00:00:00"^^<{XSD}dateTime>',
            f'"2008-0{month + 1}-11T00:00:00"^^<{XSD}dateTime>',
            f'"{days}"^^<{XSD}integer>',
            f"<{_BSBM}instances/Offer{number}/>",
            vendor,
            f'"2008-0{month}-17"^^<{XSD}date>',
        )
        for name, value in zip(PARTS, values, strict=True):
            yield _instance("Offer", number), name, value
