"""The engine beside the definitions: the same facts, P and N at every instant."""

from __future__ import annotations

from collections.abc import Iterable

from citywise.reasoning.languages.rif.document import Document, RifAtom, RifConstant, RifRule
from citywise.reasoning.languages.rif.evaluation import Instance, WindowedEvaluation
from citywise.reasoning.languages.rif.theory import Theory
from citywise.reasoning.languages.rif.values import term
from citywise.reasoning.rdf.mapping import Blank, Iri, Literal, Triple
from tests.rif.reference import Fact, WindowedProgram, strip
from tests.rif.reference import Instance as Entailed


def agreed(program: WindowedProgram) -> None:
    """Raise `AssertionError` where the engine differs from the reference."""
    program = with_facts_as_rules(program)
    _facts_agree(program)
    _instances_agree(program)


def with_facts_as_rules(program: WindowedProgram) -> WindowedProgram:
    """Static facts that are no triples can only stand in the document."""
    positional = [fact for fact in program.static if "/" in fact[0].rpartition(">")[2]]
    rules = tuple(RifRule((_atom(fact),)) for fact in sorted(positional, key=repr))
    static = program.static - set(positional)
    return WindowedProgram(program.rules + rules, static, program.stream, program.range)


def _atom(fact: Fact) -> RifAtom:
    name = term(fact[0].rpartition("/")[0])
    assert isinstance(name, Iri)
    return RifAtom(name, tuple(_constant(each) for each in map(term, fact[1])))


def _constant(found: object) -> RifConstant:
    assert isinstance(found, Iri | Literal)
    return RifConstant(found)


def triple_of(fact: Fact) -> Triple:
    """A fact that is one as a triple."""
    subject, given = map(term, fact[1])
    attribute = term(fact[0])
    assert isinstance(subject, Iri | Blank)
    assert isinstance(attribute, Iri)
    assert isinstance(given, Iri | Blank | Literal)
    return Triple(subject, attribute, given)


def theory_of(program: WindowedProgram) -> Theory:
    """The program as the engine takes it."""
    static = tuple(map(triple_of, sorted(program.static, key=repr)))
    return Theory(Document("random", program.rules), program.rules, static)


def _steps(program: WindowedProgram) -> range:
    return range(1, 2 + max(a.until or a.instant for a in program.stream) + (program.range or 1))


def _step(program: WindowedProgram, evaluation: WindowedEvaluation, now: int) -> None:
    for fact, instant, until in program.stream:
        if instant == now:
            last = None if program.range is None else (until or instant) + program.range - 1
            if fact[0].endswith(">"):
                evaluation.insert([triple_of(fact)], last)
            else:
                evaluation.insert_facts([fact], last)
    evaluation.step(now)


def _listed(found: Iterable[object]) -> list[str]:
    """In one order, and with what is there twice."""
    return sorted(map(repr, found))


def _facts_agree(program: WindowedProgram) -> None:
    evaluation = WindowedEvaluation(theory_of(program))
    before: set[Fact] = set()
    for now in _steps(program):
        _step(program, evaluation, now)
        expected = strip(program.concluded(now))
        assert _listed(evaluation.shown()) == _listed(expected), now
        assert _listed(evaluation.came()) == _listed(expected - before), now
        assert _listed(evaluation.gone()) == _listed(before - expected), now
        before = expected


def _instances_agree(program: WindowedProgram) -> None:
    evaluation = WindowedEvaluation(theory_of(program), instances=True)
    steps = _steps(program)
    concluded = {now: program.concluded(now) for now in (0, *steps)}
    for now in steps:
        _step(program, evaluation, now)
        came = {_valid(each, concluded, program) for each in concluded[now] if each.instant == now}
        assert _listed(evaluation.entailed()) == _listed(came), now
        went = {each for each in concluded[now - 1] - concluded[now] if each.instant}
        told = {Entailed(each.fact, each.since) for each in evaluation.negated()}
        assert told == went, now
        assert {each.last for each in evaluation.negated()} <= {now - 1}, now
        assert _listed(set(evaluation.shown())) == _listed(strip(concluded[now])), now


def _valid(
    entailed: Entailed, concluded: dict[int, set[Entailed]], program: WindowedProgram
) -> Instance:
    """With the last instant at which it counts, as the definitions have it."""
    last = max(now for now, instances in concluded.items() if entailed in instances)
    ever = program.range is None
    return Instance(entailed.fact, entailed.instant, None if ever else last)
