"""Minutes in words: sections of plain lines, which pages, Markdown and calendars write down."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from citywise.apps.meeting_mgr.model import Capability, Cause, Proposed
from citywise.apps.meeting_mgr.papers.invitations import Translate
from citywise.apps.meeting_mgr.papers.minutes import (
    Ableness,
    Decided,
    Happened,
    Minutes,
    Part,
    Span,
)
from citywise.apps.meeting_mgr.papers.minutes import Proposed as Answered
from citywise.apps.meeting_mgr.planned import MINUTE_MS
from citywise.backend.app import times


class Section(NamedTuple):
    """A heading and its lines; `parts` are headed lines below it."""

    title: str
    lines: Sequence[str] = ()
    parts: Sequence[tuple[str, Sequence[str]]] = ()


class Words:
    """Says what minutes hold, in one language; `t` translates."""

    def __init__(self, minutes: Minutes, t: Translate) -> None:
        self._minutes = minutes
        self._t = t

    @property
    def title(self) -> str:
        """The heading of all."""
        return self._t("papers.title", title=self._minutes.meeting.title)

    def sections(self) -> list[Section]:
        """Everything, the most important first; what is empty is left out."""
        t, told = self._t, self._minutes
        decided = [self.decision(one) for one in told.decisions] or [t("papers.decisions.none")]
        found = [
            Section(t("papers.meeting"), self.head()),
            Section(t("meetings.decisions"), decided),
            Section(t("papers.agenda.happened"), [self.item(one) for one in told.agenda]),
            Section(t("papers.talk_time"), self.talk_time()),
            Section(
                t("papers.people"),
                parts=[(self.person(one), list(self.abilities(one))) for one in told.parts],
            ),
            Section(t("papers.proposals"), [self.proposal(one) for one in told.proposals]),
        ]
        return [one for one in found if one.lines or one.parts]

    def head(self) -> list[str]:
        """When and where it was, who was there and who was not."""
        t, told = self._t, self._minutes
        day = times.local(told.began_ms).strftime("%d.%m.%Y")
        planned = self.span(told.meeting.starts_ms, told.meeting.ends_ms)
        held = "papers.held" if told.is_over else "papers.held.so_far"
        lines = [
            t(held, day=day, span=self.span(told.began_ms, told.ended_ms), planned=planned),
            t("papers.room", room=told.meeting.room.name),
        ]
        if told.parts:
            names = dict.fromkeys(one.name for one in told.parts)
            lines.append(t("papers.present", names=", ".join(names)))
        if told.absent:
            names = dict.fromkeys(self.required(one.name, one.required) for one in told.absent)
            lines.append(t("papers.absent", names=", ".join(names)))
        return lines

    def decision(self, one: Decided) -> str:
        """What was decided, under which item and when."""
        at = times.clock(one.at_ms)
        if one.item is None:
            return self._t("papers.decided", text=one.text, at=at)
        return self._t("papers.decided.item", text=one.text, at=at, item=one.item)

    def item(self, one: Happened) -> str:
        """When an item was, beside when it was meant to be."""
        t = self._t
        title = self.titled(one)
        if one.began_ms is None:
            happened = t("papers.item.put_off" if one.state == "put_off" else "papers.item.open")
        else:
            happened = self.span(one.began_ms, one.ended_ms or self._minutes.ended_ms)
        if one.planned_ms is None or one.planned_minutes is None:
            key = "unplanned" if one.state == "put_off" else "new"
            return t(f"papers.item.{key}", title=title, happened=happened)
        return t(
            "papers.item.planned",
            title=title,
            happened=happened,
            at=times.clock(one.planned_ms),
            n=one.planned_minutes,
        )

    def titled(self, one: Happened) -> str:
        """An item with who spoke on it, and who was to."""
        if one.speaker is None:
            return one.title
        if not one.formerly:
            return f"{one.title} ({one.speaker})"
        former = ", ".join(one.formerly)
        return self._t("papers.item.handed", title=one.title, name=one.speaker, former=former)

    def talk_time(self) -> list[str]:
        """How long who spoke, and what counts; nothing where the host does not ask for it."""
        t, told = self._t, self._minutes
        if not told.meeting.rules.talk_time:
            return []
        if told.spoken is None:
            return [t("papers.talk_time.not_agreed")]
        spoke = [
            t("papers.spoke", name=one.name, n=_minutes(one.length_ms), items=", ".join(one.items))
            for one in told.spoken
        ]
        return [*spoke, t("papers.talk_time.counted")]

    # --- People -------------------------------------------------------------------------------

    def person(self, part: Part) -> str:
        """Who took part, from when to when, and from where."""
        name = self.required(part.name, part.required)
        places = [
            self._t(f"meetings.presence.{one.told}") for one in part.places if one.told != "unknown"
        ]
        from_to = self.span(part.from_ms, part.until_ms)
        return ", ".join([name, from_to, *dict.fromkeys(places)])

    def required(self, name: str, required: bool | None) -> str:
        """A name, with a mark of who is optional or was not invited."""
        if required is None:
            return self._t("papers.not_invited", name=name)
        return name if required else self._t("meetings.absent.optional", name=name)

    def abilities(self, part: Part) -> Iterator[str]:
        """What somebody could do when; what was never known is left out."""
        known = self.known(part)
        if not known:
            yield self._t("papers.nothing_known")
        for name, spans in known.items():
            what = "; ".join(self.stretch(one) for one in spans)
            yield f"{self.capability(name)}: {what}"

    def known(self, part: Part) -> dict[Capability, Sequence[Span[Ableness]]]:
        """The abilities of which something was known at any time."""
        return {
            name: spans
            for name, spans in part.abilities.items()
            if any(one.told.state != "unknown" for one in spans)
        }

    def capability(self, name: Capability) -> str:
        """What an ability is called."""
        return self._t(f"meetings.ability.{name}")

    def stretch(self, one: Span[Ableness]) -> str:
        """Whether somebody was able from when to when, and why not."""
        state = self._t(f"meetings.state.{one.told.state}")
        why = ", ".join(self._t(f"meetings.because.{reason}") for reason in one.told.because)
        span = self.span(one.from_ms, one.until_ms)
        return f"{state} {span} ({why})" if why else f"{state} {span}"

    def span(self, from_ms: int, until_ms: int) -> str:
        """From when to when."""
        return f"{times.clock(from_ms)}–{times.clock(until_ms)}"

    # --- Proposals ----------------------------------------------------------------------------

    def proposal(self, one: Answered) -> str:
        """What was proposed, why, and what became of it."""
        t, proposal = self._t, one.proposal
        option = proposal.options[proposal.chosen or 0]
        is_own = proposal.automatic and proposal.answer == "accepted"
        answer = "automatic" if is_own else proposal.answer
        at = "" if one.answered_ms is None else times.clock(one.answered_ms)
        return t(
            "papers.proposed",
            at=times.clock(one.at_ms),
            what=self._capital(self._change(option)),
            why="; ".join(self._cause(cause) for cause in proposal.causes),
            answer=t(f"papers.answer.{answer}", at=at),
        )

    def _cause(self, cause: Cause) -> str:
        """As the host's page says it."""
        t, name = self._t, self._minutes.named(cause)
        item = "" if cause.item is None else self._quoted(cause.item)
        where = ".item" if item else ""
        if name is None:
            key = next((one for one in ("late", "again") if one in cause.because), "order")
            return t(f"meetings.cause.{key}{where}", title=item)
        cannot = self._row([t(f"meetings.can.{one}") for one in cause.lacks], "or")
        key = "lacks" if cannot else "attend"
        what = t(f"meetings.cause.{key}{where}", name=name, title=item, what=cannot)
        why = ", ".join(t(f"meetings.because.{reason}") for reason in cause.because)
        return t("meetings.why", what=what, why=why) if why else what

    def _change(self, option: Proposed) -> str:
        """What is otherwise in a proposed agenda, as the host's page says it."""
        t = self._t
        at = {one.item: one for one in option.agenda}
        parts = []
        if option.starts_ms is not None:
            day, time = times.local(option.starts_ms).strftime("%d.%m.%Y %H:%M").split()
            parts.append(t("meetings.change.starts", day=day, time=time))
        if option.ends_ms is not None:
            parts.append(t("meetings.change.ends", time=times.clock(option.ends_ms)))
        for item in (one for one in option.taken_up if one in at):
            again = {"title": self._quoted(item), "time": times.clock(at[item].starts_ms)}
            parts.append(t("meetings.change.taken_up", **again))
        for item in (one for one in option.moved if one in at):
            moved = {"title": self._quoted(item), "time": times.clock(at[item].starts_ms)}
            parts.append(t("meetings.change.moved", **moved))
        for item in (one for one in option.shortened if one in at):
            shorter = {"title": self._quoted(item), "n": at[item].minutes}
            parts.append(t("meetings.change.shortened", **shorter))
        parts += [t("meetings.change.put_off", title=self._quoted(one)) for one in option.put_off]
        return self._row(parts, "and") or t("meetings.change.none")

    def _quoted(self, item: str) -> str:
        titles = (one.title for one in self._minutes.meeting.agenda if one.id == item)
        return self._t("meetings.quoted", title=next(titles, item))

    def _row(self, words: Sequence[str], between: str) -> str:
        """Words in a row, the last after "and" or "or"."""
        if len(words) < 2:
            return "".join(words)
        return self._t(f"meetings.{between}", some=", ".join(words[:-1]), last=words[-1])

    def _capital(self, text: str) -> str:
        return text[:1].upper() + text[1:]


def _minutes(length_ms: int) -> int:
    """Full minutes, at least one."""
    return max(1, round(length_ms / MINUTE_MS))
