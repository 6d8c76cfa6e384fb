"""Names in rules that stand for IRIs, and whether the ontologies know these."""

from __future__ import annotations

import re
from collections.abc import Mapping

from citywise.backend.packs.guesses import did_you_mean
from citywise.backend.packs.ontology import Ontology, local_name


class Names:
    """The resources that a template's names stand for, by its prefixes."""

    def __init__(self, prefixes: Mapping[str, str], ontology: Ontology) -> None:
        self._prefixes = sorted(prefixes.items(), key=lambda item: -len(item[0]))
        self._ontology = ontology
        self._spelt = {_spelt(iri): iri for iri in ontology.properties}

    def property(self, predicate: str) -> str | None:
        """The IRI behind a predicate under a declared prefix, else None."""
        iri = self._iri(predicate)
        return iri and self._spelt.get(_spelt(iri), iri)

    def undefined_property(self, iri: str) -> str | None:
        """What to say of a property that the ontologies should define and do not."""
        return self._undefined(iri, self._ontology.properties, "property")

    def undefined_term(self, name: str) -> str | None:
        """What to say of a string that should name a term of the ontologies and does not."""
        iri = self._iri(name)
        return iri and self._undefined(iri, frozenset(self._ontology.terms), "term")

    def _iri(self, name: str) -> str | None:
        for prefix, namespace in self._prefixes:
            if name.startswith(f"{prefix}_"):
                return namespace + name[len(prefix) + 1 :]
        return None

    def _undefined(self, iri: str, known: frozenset[str], what: str) -> str | None:
        """What to say of an IRI in a namespace of the ontologies that is none of `known`."""
        namespace = iri[: len(iri) - len(local_name(iri))]
        if iri in known or namespace not in self._ontology.namespaces:
            return None
        there = {local_name(k): k for k in known if k.startswith(namespace)}
        cure = did_you_mean(local_name(iri), there, f"there are {', '.join(sorted(there))}")
        return f"<{iri}> is no {what} of the ontologies; {cure}"


def _spelt(iri: str) -> str:
    """An IRI with what no predicate can hold replaced, as its predicate is."""
    return re.sub(r"\W", "_", iri, flags=re.ASCII)
