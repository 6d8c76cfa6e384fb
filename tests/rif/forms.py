"""Every form of an answer over a long stream, beside what the definitions say it is."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any

from citywise.reasoning.explain.tree import Explanation, ItemOrigin
from citywise.reasoning.languages.rif.document import (
    Document,
    RifAtom,
    RifRule,
    RifVariable,
    RifWindow,
)
from citywise.reasoning.languages.rif.evaluation import Instance as Told
from citywise.reasoning.languages.rif.explaining import fact_of
from citywise.reasoning.languages.rif.reasoner import RifEvaluation, RifReasoner
from citywise.reasoning.languages.rif.theory import Theory
from citywise.reasoning.languages.rif.unparse import rule_text
from citywise.reasoning.model.values import Value
from citywise.reasoning.rdf import ntriples
from citywise.reasoning.rdf.mapping import RDF
from citywise.reasoning.run.recorded import Recorded
from citywise.reasoning.streams.items import Item
from citywise.reasoning.streams.results import Operator
from tests.rif.agreement import triple_of, with_facts_as_rules
from tests.rif.oracle import Oracle
from tests.rif.programs import EX, POSITIONAL
from tests.rif.reference import Appearance, Fact, Instance, WindowedProgram, cons_t, strip

PREFIXES = {"ex": EX}
NAMESPACES = {EX: "ex_", RDF: "rdf_"}
OPERATORS: tuple[Operator, ...] = ("istream", "dstream", "rstream")
ASKED = 2
"""So many instants of a stream are asked about, and so many facts at each."""


def agree(program: WindowedProgram, reader: WindowedProgram, random: Random, folder: Path) -> int:
    """Raise `AssertionError` where a form differs; how many evaluations were compared.

    `reader` is a document over what the first one emits; its own stream is not looked at.
    """
    program = with_facts_as_rules(reading_atoms(program))
    oracle = Oracle(program)
    items = list(stream(program, random))
    count = answers_agree(oracle, list(run(reasoner_of(program), items, random)), random)
    count += restarted_agree(oracle, items, random)
    count += emitted_agree(oracle, reader, items, random)
    write(program, items, folder)
    count += results_agree(oracle, folder)
    explanations_agree(oracle, random, folder)
    return count


# -- programs and items ------------------------------------------------------------------------


def theory_of(program: WindowedProgram) -> Theory:
    """The program as the engine takes it."""
    window = program.range and RifWindow(program.range)
    document = Document("random", program.rules, window=window or None, prefixes=PREFIXES)
    static = tuple(map(triple_of, sorted(program.static, key=repr)))
    return Theory(document, program.rules, static)


def reasoner_of(program: WindowedProgram) -> RifReasoner:
    """What evaluates a program, with P and N."""
    return RifReasoner(theory_of(program), instances=True)


def stream(program: WindowedProgram, random: Random) -> Iterator[Item]:
    """The stream of a program as items: atoms, triples, and graphs of several triples."""
    waiting: list[Appearance] = []
    for position, each in enumerate(program.stream):
        together = waiting and waiting[0][1:] == each[1:] and is_triple(waiting[0].fact)
        if not (together and is_triple(each.fact) and random.random() < 0.5):
            yield from _item(waiting, position, random)
            waiting = []
        waiting.append(each)
    yield from _item(waiting, len(program.stream), random)


def _item(said: list[Appearance], position: int, random: Random) -> Iterator[Item]:
    if said:
        fact, instant, until = said[0]
        is_graph = is_triple(fact) and (len(said) > 1 or random.random() < 0.7)
        content = tuple(triple_of(each.fact) for each in said) if is_graph else asp(fact)
        yield Item(instant, content, position, until)


def run(reasoner: RifReasoner, items: Iterable[Item], random: Random) -> Iterator[RifEvaluation]:
    """Push items in batches of random sizes, and read some of the answers while they are new."""
    for evaluation in _pushed(reasoner, list(items), random):
        if random.random() < 0.3:
            list(evaluation.facts)
        if random.random() < 0.3:
            list(chain.from_iterable(answer.atoms for answer in evaluation.answer_sets))
        yield evaluation


def _pushed(reasoner: RifReasoner, waiting: list[Item], random: Random) -> Iterator[RifEvaluation]:
    while waiting:
        size = random.randint(1, 6)
        yield from reasoner.push(waiting[:size])
        waiting = waiting[size:]
    yield from reasoner.finish()


def is_triple(fact: Fact) -> bool:
    """Whether a fact is a triple of a thing; no atom of RIF, and not about a number."""
    return fact[0].endswith(">") and isinstance(fact[1][0], str)


def asp(fact: Fact) -> str:
    """A fact as an atom of ASP, as items and answers write it (docs/rif-running.md)."""
    relation, row = fact
    name = f"{relation.partition('>')[0]}>"
    return f"{_name(name)}({','.join(map(_term, row))})"


def _name(value: str) -> str:
    return next(
        short + value[1:-1].removeprefix(space)
        for space, short in NAMESPACES.items()
        if value[1:].startswith(space)
    )


def _term(value: Value) -> str:
    return f'"{_name(value)}"' if isinstance(value, str) else str(value)


def texts(facts: Iterable[Fact]) -> list[str]:
    """Facts as an answer lists them."""
    return sorted(map(asp, facts))


def _described(found: Iterable[Told]) -> list[dict[str, Any]]:
    listed = sorted((asp(each.fact), each.since, each.last or 0) for each in found)
    return [{"atom": a, "from": since, "until": last or None} for a, since, last in listed]


def reading_atoms(program: WindowedProgram) -> WindowedProgram:
    """The program with rules by which atoms of two arguments are read as such."""
    x, y = RifVariable("x"), RifVariable("y")
    found = [RifAtom(name, (x, y)[:arity]) for name, arity in POSITIONAL]
    rules = tuple(RifRule((atom,), atom, (x, y)[: len(atom.arguments)]) for atom in found)
    return replace(program, rules=program.rules + rules)


# -- the forms ---------------------------------------------------------------------------------


def answers_agree(oracle: Oracle, evaluations: list[RifEvaluation], random: Random) -> int:
    """Deltas, P and N; and the answers, all of them read when all is over, in any order."""
    assert [each.time for each in evaluations] == oracle.due
    order = list(range(len(evaluations)))
    random.shuffle(order)
    before: set[Fact] = set()
    for evaluation in evaluations:
        now, facts = evaluation.time, oracle.facts(evaluation.time)
        assert evaluation.error is None
        assert evaluation.added == tuple(texts(facts - before)), now
        assert evaluation.removed == tuple(texts(before - facts)), now
        assert _listed(evaluation.came) == _listed(facts - before), now
        assert _listed(evaluation.gone) == _listed(before - facts), now
        assert _listed(evaluation.entailed) == _listed(oracle.entailed(now)), now
        assert _listed(evaluation.negated) == _listed(oracle.negated(now)), now
        before = facts
    for place in order:
        _answer_agrees(oracle, evaluations[place])
    return len(evaluations)


def _answer_agrees(oracle: Oracle, evaluation: RifEvaluation) -> None:
    facts = oracle.facts(evaluation.time)
    (answer,) = evaluation.answer_sets
    assert list(answer.atoms) == texts(facts), evaluation.time
    assert _listed(evaluation.facts) == _listed(facts), evaluation.time


def _listed(found: Iterable[object]) -> list[str]:
    """In one order, and with what is there twice."""
    return sorted(map(repr, found))


def restarted_agree(oracle: Oracle, items: list[Item], random: Random) -> int:
    """A new reasoner that is given what counts at an instant goes on as the old one."""
    size = oracle.program.range
    at = random.choice(oracle.due)
    kept = [each for each in items if size is None or each.end + size >= at]
    compared = 0
    for evaluation in run(reasoner_of(oracle.program), kept, random):
        now = evaluation.time
        if now >= at:
            _answer_agrees(oracle, evaluation)
            assert _listed(evaluation.entailed) == _listed(oracle.entailed(now)), (at, now)
            compared += 1
        if now > at:
            assert _listed(evaluation.negated) == _listed(oracle.negated(now)), (at, now)
    assert compared == len([now for now in oracle.due if now >= at])
    return compared


def emitted_agree(
    oracle: Oracle, reader: WindowedProgram, items: list[Item], random: Random
) -> int:
    """What leaves as a stream, and what a document says that reads it."""
    operator = random.choice(OPERATORS)
    reasoner = reasoner_of(oracle.program)
    found = list(reasoner.emitted(run(reasoner, items, random), operator, ""))
    said = tuple(_said(oracle, operator))
    assert _listed(map(_appearance, found)) == _listed(
        (each.instant, asp(each.fact), each.until) for each in said
    )
    second = with_facts_as_rules(replace(reading_atoms(reader), stream=said))
    evaluations = list(run(reasoner_of(second), found, random))
    return answers_agree(Oracle(second), evaluations, random)


def _said(oracle: Oracle, operator: Operator) -> Iterator[Appearance]:
    for now in oracle.due:
        if operator == "istream":
            told = ((each.fact, each.last) for each in oracle.entailed(now))
        elif operator == "dstream":
            told = ((each.fact, None) for each in oracle.negated(now))
        else:
            told = ((fact, None) for fact in oracle.facts(now))
        yield from (Appearance(fact, now, until) for fact, until in told)


def _appearance(item: Item) -> tuple[int, str, int | None]:
    content = item.content
    if not isinstance(content, str):
        (triple,) = content
        content = asp(fact_of(triple))
    return item.time, content, item.until


# -- recorded runs -----------------------------------------------------------------------------


def write(program: WindowedProgram, items: list[Item], folder: Path) -> None:
    """Write a program, what it always knows and its stream as files."""
    rules = "\n".join(rule_text(rule, PREFIXES) for rule in program.rules)
    window = f"{program.range} s" if program.range else ""
    text = f"Document(Prefix(ex <{EX}>) {window} Group(\n{rules}))"
    (folder / "random.rifps").write_text(text, encoding="utf-8")
    static = map(triple_of, sorted(program.static, key=repr))
    lines = (" ".join(map(ntriples.write, triple)) for triple in static)
    (folder / "static.nt").write_text("".join(f"{line} .\n" for line in lines), encoding="utf-8")
    (folder / "stream.jsonl").write_text("".join(map(_line, items)), encoding="utf-8")


def recorded(folder: Path) -> Recorded:
    """A run of the program and stream of a folder."""
    kb = [folder / "static.nt"]
    return Recorded(folder / "random.rifps", [folder / "stream.jsonl"], kb, limits=None)


def _line(item: Item) -> str:
    written: dict[str, object] = {"t": item.time}
    if item.until is not None:
        written["until"] = item.until
    if isinstance(item.content, str):
        written["atom"] = item.content
    else:
        triples = (" ".join(map(ntriples.write, triple)) for triple in item.content)
        written["graph"] = "".join(f"{triple} . " for triple in triples)
    return json.dumps(written) + "\n"


def results_agree(oracle: Oracle, folder: Path) -> int:
    """What `citywise reason --deltas` prints."""
    before: set[Fact] = set()
    count = 0
    for result in recorded(folder).results(deltas=True):
        now = result["t"]
        facts = oracle.facts(now)
        assert result == {
            "t": now,
            "answer_sets": [texts(facts)],
            "added": texts(facts - before),
            "removed": texts(before - facts),
            "entailed": _described(oracle.entailed(now)),
            "negated": _described(oracle.negated(now)),
        }
        before = facts
        count += 1
    assert count == len(oracle.due)
    return count


def explanations_agree(oracle: Oracle, random: Random, folder: Path) -> None:
    """After the fact: what holds has a reason that is enough, and what does not is said so."""
    due = oracle.due
    ever = sorted(set().union(*map(oracle.facts, due)), key=repr)
    for now in random.sample(due, min(ASKED, len(due))):
        explainer = recorded(folder).explainer(now).explainer
        for fact in random.sample(ever, min(ASKED, len(ever))):
            found = explainer.explain(asp(fact))
            assert found.holds == (fact in strip(oracle.known(now))), (now, fact)
            assert found.question == ("why" if found.holds else "why not")
            if found.holds:
                _is_enough(oracle, now, fact, found)


def _is_enough(oracle: Oracle, now: int, fact: Fact, found: Explanation) -> None:
    """The items that an explanation ends in count, and entail the fact with what always holds."""
    given: set[Instance] = {Instance(each, 0) for each in oracle.program.static}
    counting = {(asp(each.fact), each.instant): each for each in oracle.counting(now)}
    for node in found.tree.walk():
        for origin in node.origins if node.kind == "stream" else ():
            assert isinstance(origin, ItemOrigin)
            assert node.atom is not None
            given.add(counting[node.atom, origin.item.time])
    assert fact in strip(cons_t(oracle.program.rules, given)), (now, fact)
