"""An evaluation in terms of text: ground atoms enter and leave, relations are brought up."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from operator import itemgetter

from citywise.reasoning.asp.translation.program import Translated
from citywise.reasoning.engines.incremental.evaluation import RuleEvaluation
from citywise.reasoning.engines.incremental.past import BeyondPastError, Past
from citywise.reasoning.limits import Limits
from citywise.reasoning.model.engine import Atoms, Entered, Shape, WindowChange
from citywise.reasoning.model.request import Signature
from citywise.reasoning.model.rules import FALSE
from citywise.reasoning.model.unfolding import Unfolded, rows_apart, unfolded
from citywise.reasoning.model.values import Row, Value

_SHAPES = 8
"""Shapes over which a program is unfolded; what comes in more is taken apart."""

Translate = Callable[[frozenset[Signature]], Translated]
"""Translates a program whose facts are of the given predicates."""


class _BeginAgainError(Exception):
    """What entered is not what the evaluation was made for; it knows now."""


class AtomEvaluation:
    """The evaluation of a translated program over atoms that come and go.

    Parameters
    ----------
    translate:
        The program; called again when atoms of predicates come that nobody foresaw.
    supplied:
        Predicates of which atoms may come, as far as is known.
    knowledge:
        Facts that always hold, one `atom.` a line.
    unfold:
        Evaluate over the rows of shapes, where the rules allow it; else they are taken apart.

    An atom holds while anything supplies it: `knowledge`, or an item in a window. After an
    error it begins anew with the next change.
    """

    def __init__(
        self,
        translate: Translate,
        supplied: frozenset[Signature],
        knowledge: str = "",
        limits: Limits | None = None,
        *,
        unfold: bool = True,
    ) -> None:
        self._translate = translate
        self._supplied = supplied
        self._knowledge = atoms_of(knowledge)
        self._limits = limits
        self._running: _Running | None = None
        self._lines: set[str] | None = None
        self._now = 0
        self.moved = True
        """Whether the last change did anything to the evaluation, which else made no step."""
        self._both: frozenset[str] = frozenset()
        """Relations of which some rows have a last instant, and some hold until they leave."""
        self._shapes: tuple[Shape, ...] = ()
        """Those that came, over whose rows the program is unfolded."""
        self._apart = not unfold
        """Whether rows of shapes are taken apart."""
        self._adopt()

    @property
    def evaluation(self) -> RuleEvaluation:
        """The relations as of the last change."""
        assert self._running is not None
        return self._running.evaluation

    @property
    def consistent(self) -> bool:
        """Whether no constraint is violated."""
        return not (self._constrained and self.evaluation.rows(FALSE))

    def follow(self, change: WindowChange) -> bool:
        """Bring the relations up to a change; False if they were made anew.

        Raises `LimitError`.
        """
        # After `take` the relations hold atoms without an end, of which no change would say that
        # they leave: the two ways to be told do not mix.
        if change.anew or self._lines is not None:
            self._running = self._lines = None
        return self._move(change.now, change.entered, change.left, change.whole)

    def take(self, facts: str) -> bool:
        """Bring the relations up to the facts of a window, one `atom.` a line; see `follow`."""
        lines = set(atoms_of(facts))
        # The other way round too.
        if self._lines is None:
            self._running = None
        before, self._lines = self._lines or set(), lines
        entered: Entered = {None: Atoms([*(lines - before)])}
        whole: Entered = {None: Atoms([*lines])}
        return self._move(self._now + 1, entered, list(before - lines), lambda: whole)

    def past(self, now: int) -> AtomPast | None:
        """What is known of earlier steps, from the last one on, at an instant; None where an atom
        that enters does more than to hold up to its last instant."""
        if self._running is None or self._constrained or self._lines is not None:
            return None
        return AtomPast(self, self._running, now)

    @property
    def running(self) -> object:
        """What follows the changes; another one after it was made anew."""
        return self._running

    def drop(self) -> None:
        """Forget the relations; they are made anew with the next change."""
        self._running = None

    def _move(
        self, now: int, entered: Entered, left: Sequence[str], whole: Callable[[], Entered]
    ) -> bool:
        self._now, self.moved = now, True
        running, self._running = self._running, None  # it is lost if something goes wrong
        if running is not None:
            try:
                self.moved = running.move(now, entered, left)
                self._running = running
            # Seldom, and mostly in the first windows: a stream has supplied a predicate of which
            # nothing said that it would.
            except _BeginAgainError:
                self._learn(running)
            else:
                return True
        self._running = self._begun(now, whole())
        return False

    def _begun(self, now: int, whole: Entered) -> _Running:
        # It ends: each turn has learned of a predicate or of a relation more.
        while True:
            running = _Running(self.translated, self._known, self._both, self._limits, self._over)
            try:
                running.move(now, whole, ())
            except _BeginAgainError:
                self._learn(running)
            else:
                return running

    def _learn(self, running: _Running) -> None:
        self._both |= running.overlapping
        if running.strange is not None:
            self._shapes += (running.strange,)
        if running.clashes or len(self._shapes) > _SHAPES:
            self._apart = True
        if running.strange is not None or running.clashes:
            self._adopt()
        if not running.unforeseen <= self._supplied:
            self._supplied |= running.unforeseen
            self._adopt()

    def _adopt(self) -> None:
        self.translated = self._translate(self._supplied)
        given = self.translated.rows(self._knowledge)
        # Only a translation can read the knowledge (it knows what `#const` replaces), and the
        # knowledge may have predicates that the translation was not made for. Then once more,
        # with them.
        if not (known_of := frozenset(map(_signature, given))) <= self._supplied:
            self._supplied |= known_of
            self.translated = self._translate(self._supplied)
        self._constrained = any(rule.head == FALSE for rule in self.translated.program.rules)
        known = {name: set(rows) for name, rows in self.translated.facts.items()}
        for name, rows in given.items():
            known.setdefault(name, set()).update(rows)
        self._known: Mapping[str, set[Row]] = known
        self._over: Unfolded | None = None
        if not self._apart:
            self._over = unfolded(self.translated.program, self._shapes, known)
            self.translated = replace(self.translated, program=self._over.program)


class _Running:
    """An evaluation and what it was given."""

    def __init__(
        self,
        translated: Translated,
        known: Mapping[str, set[Row]],
        both: frozenset[str],
        limits: Limits | None,
        over: Unfolded | None,
    ) -> None:
        program = translated.program
        self.evaluation = RuleEvaluation(program, limits)
        self._over = over
        self.strange: Shape | None = None
        """A shape that came, and nobody foresaw."""
        self.clashes = False
        """Whether rows of shapes must be taken apart: of a subject other things are said, too."""
        self._subjects: dict[Shape, set[Value]] = {}
        """What the rows of shapes speak of."""
        self._said: deque[tuple[int, Shape, set[Value]]] = deque()
        """The same by when it ends."""
        self.unforeseen: frozenset[Signature] = frozenset()
        self.overlapping: frozenset[str] = frozenset()
        self._translated = translated
        self.inputs = program.inputs
        self.known = known
        self.lasting: dict[str, Counter[Row]] = {}
        """Rows that hold until they leave, and how often they entered."""
        self._timed: set[str] = set()
        """Relations of which rows have a last instant."""
        self._horizons: dict[str, dict[Row, int]] = {name: {} for name in both}
        self._prune_at = 10_000
        self._ends: list[int] = []
        """Instants after which rows hold no more, the next first."""
        self._begun = False
        self.amended = False
        """Whether rows were taken out since the last step."""
        for name, rows in known.items():
            if name in self.inputs:
                self.evaluation.insert(name, rows)

    def move(self, now: int, entered: Entered, left: Sequence[str]) -> bool:
        """Bring the relations up to an instant; False if that changes nothing, for nothing
        enters, leaves or ends. Raises `_BeginAgainError`."""
        # A step costs something for each relation, even if nothing happens to it; a window that
        # stood still shall cost nothing. The first step is made in any case, for rules without a
        # body.
        moves = self._due(now) or left or any(entered.values()) or self.amended
        if not moves and self._begun:
            return False
        self._begun, self.amended = True, False
        self._forget_subjects(now)
        # Before what enters: an item that leaves while another brings the same atom leaves the
        # atom in place, since what is inserted after a retraction holds.
        if left:
            self._leave(left)
        for until, atoms in entered.items():
            if until is not None:
                heappush(self._ends, until)
            for name, rows in self._translated.rows_of(atoms).items():
                # The program was translated for the predicates that could have atoms: what is
                # shown, and what classical negation excludes, depend on them.
                if name not in self.inputs:
                    self._refuse(name)
                self._enter(name, rows, until)
            for shape, rows in atoms.shaped.items():
                self._enter_shaped(shape, self._translated.plain(rows), until)
        self.evaluation.step(now)
        self._prune(now)
        return True

    def _due(self, now: int) -> bool:
        """Whether rows that were given hold no more."""
        ends = self._ends
        if not ends or ends[0] >= now:
            return False
        while ends and ends[0] < now:
            heappop(ends)
        return True

    def _refuse(self, relation: str) -> None:
        if self._over is not None and relation in self._over.left:
            self._clash()
        self.unforeseen = frozenset({_signature(relation)})
        raise _BeginAgainError

    def _enter(self, name: str, rows: list[Row], until: int | None) -> None:
        if until is None:
            # Several items may supply an atom, and it holds until the last of them has left.
            self.lasting.setdefault(name, Counter()).update(rows)
        else:
            self._timed.add(name)
        # A retraction ends a row whatever its horizon. A relation with rows of both kinds must
        # remember the horizons, to give a row back that another item still supplies. That is
        # memory for each row, so it is kept only for relations that turn out to need it.
        if name in self._timed and name in self.lasting and name not in self._horizons:
            self.overlapping = frozenset({name})
            raise _BeginAgainError
        if until is not None and name in self._horizons:
            horizons = self._horizons[name]
            horizons.update((row, max(until, horizons.get(row, until))) for row in rows)
        self.evaluation.insert(name, rows, until)

    def _enter_shaped(self, shape: Shape, rows: list[Row], until: int | None) -> None:
        left: Collection[str] = ()
        if self._over is not None:
            if shape not in self._over.shapes:
                self.strange = shape
                raise _BeginAgainError
            left = self._over.left
            self._see_to_subjects(shape, rows, until)
            if shape.relation in self.inputs:
                self._enter(shape.relation, rows, until)
        for relation, said in rows_apart(shape, rows, left).items():
            if relation not in self.inputs:
                self._refuse(relation)
            self._enter(relation, said, until)

    def _see_to_subjects(self, shape: Shape, rows: list[Row], until: int | None) -> None:
        """Each subject has one row, of one shape."""
        new = set(map(itemgetter(0), rows))
        if len(new) < len(rows) and len(new) < len(set(rows)):
            self._clash()
        if any(not known.isdisjoint(new) for known in self._subjects.values()):
            self._clash()
        self._subjects.setdefault(shape, set()).update(new)
        if until is not None:
            self._said.append((until, shape, new))

    def _forget_subjects(self, now: int) -> None:
        """What is out of the windows may be said again."""
        said = self._said
        while said and said[0][0] < now:
            _until, shape, subjects = said.popleft()
            self._subjects[shape].difference_update(subjects)

    def _clash(self) -> None:
        self.clashes = True
        raise _BeginAgainError

    def _leave(self, atoms: Sequence[str]) -> None:
        for name, rows in self._translated.rows(atoms).items():
            if name not in self.lasting:
                continue
            gone = list(self._gone(self.lasting[name], rows, self.known.get(name, ())))
            self.evaluation.retract(name, gone)
            horizons = self._horizons.get(name, {})
            for row in gone if horizons else ():
                if row in horizons:
                    self.evaluation.insert(name, [row], horizons[row])

    @staticmethod
    def _gone(counts: Counter[Row], rows: Iterable[Row], known: Iterable[Row]) -> Iterator[Row]:
        for row in rows:
            counts[row] -= 1
            if not counts[row]:
                del counts[row]
                # Knowledge still supplies it.
                if row not in known:
                    yield row

    def _prune(self, now: int) -> None:
        """Forget horizons that have passed, when there are many."""
        if sum(map(len, self._horizons.values())) < self._prune_at:
            return
        for name, horizons in self._horizons.items():
            self._horizons[name] = {row: h for row, h in horizons.items() if h >= now}
        self._prune_at = 10_000 + 2 * sum(map(len, self._horizons.values()))


class AtomPast(Past):
    """The steps that an evaluation has made, and what changes there when atoms come late."""

    def __init__(self, atoms: AtomEvaluation, running: _Running, now: int) -> None:
        super().__init__(running.evaluation, now)
        self._atoms, self._running = atoms, running

    @property
    def follows(self) -> bool:
        """See `Past`."""
        return self._atoms.running is self._running

    def note(self, time: int, *, moved: bool = True) -> None:
        """See `Past`; a change that did nothing made no step."""
        super().note(time, moved=moved and self._atoms.moved)

    def amend_atoms(
        self,
        came: Iterable[tuple[Sequence[str], int, int]],
        gone: Iterable[tuple[Sequence[str], int, int, Sequence[tuple[int, int]]]] = (),
    ) -> dict[int, tuple[list[str], list[str]]]:
        """Atoms held between two instants, or did not; by instant the shown atoms that came and
        went. With what did not come the spans in which others held the same atoms.

        Raises `BeyondPastError` where that cannot be told, `LimitError` at a limit.
        """
        gained: dict[str, dict[Row, int]] = {}
        lost: dict[str, dict[Row, int]] = {}
        for texts, first, last in came:
            for name, rows in self._rows(texts, first):
                self.add(gained, name, rows, self.timeline.between(first, last))
        for texts, first, last, others in gone:
            for name, rows in self._rows(texts, first):
                self._take_out(name, rows, first, last, others)
                self.add(lost, name, rows, self.timeline.between(first, last, others))
        shown = [(s.name, str(s)) for s in self._atoms.translated.shows]
        return self.texts(self.amend(gained, lost), shown)

    def _rows(self, texts: Sequence[str], first: int) -> Iterator[tuple[str, list[Row]]]:
        """The rows of atoms by relation, if they can be amended from an instant on."""
        if first < self.start:
            raise BeyondPastError
        for name, rows in self._atoms.translated.rows(texts).items():
            if name not in self._running.inputs or name in self._running.lasting:
                raise BeyondPastError
            yield name, rows

    def _take_out(
        self, name: str, rows: list[Row], first: int, last: int, others: Sequence[tuple[int, int]]
    ) -> None:
        """Rows hold no more from the next step on, unless others hold them."""
        if any(row in self._running.known.get(name, ()) for row in rows):
            raise BeyondPastError
        now = self.timeline.times[-1]
        if last <= now or first > now:
            return  # it is no reason for what holds next
        self.evaluation.retract(name, rows)
        self._running.amended = True
        # Those that are to enter will.
        if (until := max((end for begin, end in others if begin <= now), default=now)) > now:
            self.evaluation.insert(name, rows, until)


def atoms_of(facts: str) -> list[str]:
    """The atoms of a text of facts, one `atom.` a line."""
    return [line[:-1] for line in facts.split("\n") if line]


def _signature(relation: str) -> Signature:
    """The predicate whose rows a relation has."""
    name, _slash, arity = relation.rpartition("/")
    return Signature(name, int(arity))
