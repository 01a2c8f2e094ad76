"""A decision in the making: the job's view, what has been changed of it so far, and what is said.

A draft lives for one call of `decide` and is seen by nobody else; that keeps `decide` pure.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from orchestrator.control.rules import House, Rules
from orchestrator.model.events import Event
from orchestrator.model.jobs import Attempt, Drill, Instance, Intent, Job, Shard, Stage, StageName
from orchestrator.model.pools import Offer, Pool
from orchestrator.model.wire import Leave
from orchestrator.store.jobview import JobView

Subject = Attempt | Instance | Stage | None
Row = Job | Stage | Attempt | Intent | Instance | Shard | Drill


@dataclass(frozen=True)
class Market:
    """What the providers offer, as of `fetched_at`, and until when some pools are not asked."""

    offers: tuple[Offer, ...] = ()
    fetched_at: datetime | None = None
    cooldowns: Mapping[Pool, datetime] = field(default_factory=dict)


@dataclass(frozen=True)
class Fleet:
    """All that is alive or asked for, over all jobs: what the caps count."""

    instances: int = 0
    usd_per_hour: Decimal = Decimal(0)


@dataclass(frozen=True)
class Situation:
    """Everything but the job that a decision rests on. `heard_since`: when control began to listen."""

    now: datetime
    heard_since: datetime
    market: Market
    fleet: Fleet
    rules: Rules
    house: House


@dataclass(frozen=True)
class Decision:
    """Rows to write whole, events to append, the sentence of why, and when to look again."""

    rows: tuple[Row, ...]
    events: tuple[Event, ...]
    reason: str
    wake_at: datetime | None
    wants_market: bool

    @property
    def empty(self) -> bool:
        return not self.rows and not self.events


def key_of(row: Row) -> tuple[object, ...]:
    """A row's primary key, with its kind."""
    kind = type(row)
    if isinstance(row, Stage):
        return kind, row.name
    if isinstance(row, Attempt):
        return kind, row.stage, row.number
    if isinstance(row, Shard):
        return kind, row.number
    return kind, row.id


class Draft:
    """Rows by key, those changed, and the words."""

    def __init__(self, view: JobView, situation: Situation) -> None:
        self.situation = situation
        self.now, self.rules = situation.now, situation.rules
        self._before: dict[tuple[object, ...], Row] = {key_of(row): row for row in _rows(view)}
        self._rows = dict(self._before)
        self._job = view.job.id
        self._events: list[Event] = []
        self._sentences: list[str] = []
        self._wake_at: datetime | None = None
        self.wants_market = False
        self.launched = Fleet()

    # ------------------------------------------------------------ reading

    @property
    def job(self) -> Job:
        job = self._rows[(Job, self._job)]
        assert isinstance(job, Job)
        return job

    def stage(self, name: StageName) -> Stage | None:
        stage = self._rows.get((Stage, name))
        assert stage is None or isinstance(stage, Stage)
        return stage

    def stages(self) -> list[Stage]:
        return [row for row in self._rows.values() if isinstance(row, Stage)]

    def attempts(self, stage: StageName) -> list[Attempt]:
        found = [row for row in self._rows.values() if isinstance(row, Attempt) and row.stage == stage]
        return sorted(found, key=lambda attempt: attempt.number)

    def live(self, stage: StageName) -> list[Attempt]:
        return [attempt for attempt in self.attempts(stage) if attempt.live]

    def attempt(self, stage: StageName, number: int) -> Attempt | None:
        row = self._rows.get((Attempt, stage, number))
        assert row is None or isinstance(row, Attempt)
        return row

    def intents(self, stage: StageName | None = None) -> list[Intent]:
        found = [row for row in self._rows.values() if isinstance(row, Intent)]
        return [intent for intent in found if stage in (None, intent.stage)]

    def open_intents(self, attempt: Attempt) -> list[Intent]:
        return [i for i in self.intents(attempt.stage) if i.attempt == attempt.number and i.state == "open"]

    def instances(self, stage: StageName | None = None) -> list[Instance]:
        found = [row for row in self._rows.values() if isinstance(row, Instance)]
        return [instance for instance in found if stage in (None, instance.stage)]

    def instances_of(self, attempt: Attempt) -> list[Instance]:
        found = [i for i in self.instances(attempt.stage) if i.attempt == attempt.number]
        return sorted(found, key=lambda instance: (instance.launched_at, instance.id))

    def instance_of(self, attempt: Attempt) -> Instance | None:
        """The newest instance of a one-node attempt."""
        return next(reversed(self.instances_of(attempt)), None)

    def instance(self, instance_id: str) -> Instance | None:
        row = self._rows.get((Instance, instance_id))
        assert row is None or isinstance(row, Instance)
        return row

    def shards(self) -> list[Shard]:
        return sorted((r for r in self._rows.values() if isinstance(r, Shard)), key=lambda s: s.number)

    def drills(self) -> list[Drill]:
        return [row for row in self._rows.values() if isinstance(row, Drill)]

    def passed(self, moment: datetime) -> bool:
        """Whether `moment` has come; if it has not, the job is looked at again then."""
        if moment <= self.now:
            return True
        self._wake_at = moment if self._wake_at is None else min(self._wake_at, moment)
        return False

    def after(self, moment: datetime, seconds: float) -> bool:
        return self.passed(moment + timedelta(seconds=seconds))

    # ------------------------------------------------------------ changing

    def put(self, row: Row) -> None:
        self._rows[key_of(row)] = row

    def say(self, sentence: str) -> None:
        """A part of the answer to «why is it where it is?»."""
        self._sentences.append(sentence)

    def tell(self, name: str, reason: str, about: Subject = None, **data: Any) -> None:
        """Something happened: an event, with the words `about` puts to it."""
        self._events.append(Event(name=name, reason=reason, job=self._job, data=data, **_where(about)))

    def raise_alarm(self, stage: Stage, name: str, reason: str, about: Attempt | None = None) -> None:
        """Call a person, once, until `clear_alarm`."""
        if name in stage.alarms:
            return
        self.put(replace(stage, alarms=(*stage.alarms, name)))
        self.tell(name, reason, about or stage, alarm=True)

    def clear_alarm(self, stage: Stage, name: str) -> None:
        if name in stage.alarms:
            self.put(replace(stage, alarms=tuple(alarm for alarm in stage.alarms if alarm != name)))

    def condemn(self, instance: Instance, reason: str, grace_s: float = 0.0) -> None:
        """It is not needed any more: its agent is told to leave, and its provider, after the grace, to end it."""
        if not instance.alive or instance.terminate_at is not None:
            return
        leave = Leave(reason=reason, grace_s=grace_s)
        revision, terminate_at = instance.revision + 1, self.now + timedelta(seconds=grace_s)
        self.put(replace(instance, terminate_at=terminate_at, desired=leave, revision=revision))
        self.tell("instance.terminate_asked", f"Instance {instance.id} is given back: {reason}.", instance)

    def decision(self) -> Decision:
        reason = " ".join(self._sentences) or self.job.reason
        if reason != self.job.reason:
            self.put(replace(self.job, reason=reason))
            if not self.wants_market and all(event.reason != reason for event in self._events):
                self.tell("job.decided", reason)
        changed = tuple(row for key, row in self._rows.items() if self._before.get(key) != row)
        return Decision(changed, tuple(self._events), reason, self._wake_at, self.wants_market)


def _rows(view: JobView) -> Iterator[Row]:
    yield view.job
    yield from view.stages
    yield from view.attempts
    yield from view.intents
    yield from view.instances
    yield from view.shards
    yield from view.drills


def _where(about: Subject) -> dict[str, Any]:
    if isinstance(about, Instance):
        return {
            "stage": about.stage,
            "attempt": about.attempt,
            "instance": about.id,
            "pool": str(about.pool),
        }
    if isinstance(about, Attempt):
        return {"stage": about.stage, "attempt": about.number, "epoch": about.epoch}
    return {} if about is None else {"stage": about.name}
