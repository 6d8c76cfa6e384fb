"""Prefixes that documents of RIF use without saying, and IRIs by their prefixes."""

from __future__ import annotations

import re
from collections.abc import Mapping

from reasoning.rdf.mapping import OWL, RDF, RDFS, XSD
from reasoning.rif.document import FUNC, PRED, RIF

KNOWN = {
    "rif": RIF,
    "func": FUNC,
    "pred": PRED,
    "xs": XSD,
    "xsd": XSD,
    "rdf": RDF,
    "rdfs": RDFS,
    "owl": OWL,
}
"""Those of the RIF specifications; a document may declare others by these names."""
NAME = r"[^\W\d](?:[\w.]|-(?!>))*"
"""Of prefixes, as a regular expression; `->` is no part of a name."""
LOCAL = r"[\w%](?:[\w.%/]|-(?!>))*"
"""What may follow a prefix and its colon."""
_LOCAL = re.compile(LOCAL)
_NAME = re.compile(NAME)


def short(iri: str, prefixes: Mapping[str, str]) -> str | None:
    """The IRI by the prefix with the longest namespace, `ex:name`; None without one."""
    found: tuple[int, str] | None = None
    for prefix, namespace in {**KNOWN, **prefixes}.items():
        if iri.startswith(namespace) and (not prefix or _NAME.fullmatch(prefix)):
            local = iri[len(namespace) :]
            if _LOCAL.fullmatch(local) and (found is None or len(namespace) > found[0]):
                found = len(namespace), f"{prefix}:{local}"
    return found[1] if found else None
