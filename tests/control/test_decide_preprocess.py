from dataclasses import replace
from datetime import timedelta
from typing import Any

from orchestrator.model.jobs import Attempt, Instance, Shard
from orchestrator.model.wire import Report, ShardReport
from tests.control.scenes import PREPROCESS, RETRY, Scene, spec


def scene() -> Scene:
    made = Scene(job_spec=spec(preprocess=PREPROCESS, retry=RETRY))
    made.decide()
    return made


def workers(scene: Scene) -> list[Instance]:
    return [i for i in scene.of(Instance) if i.stage == "preprocess"]


def say(scene: Scene, worker: Instance, *shards: ShardReport) -> None:
    current = next(i for i in scene.of(Instance) if i.id == worker.id)
    report = Report(intent=worker.intent, owner=worker.id, seq=1, attempt=1, shards=shards)
    scene.put(replace(current, report=report, reported_at=scene.now, phase="running"))
    scene.decide()


def shard(scene: Scene, number: int) -> Shard:
    return next(s for s in scene.of(Shard) if s.number == number)


def of(scene: Scene, worker: Instance, state: str, **changes: Any) -> ShardReport:
    held = next(s for s in scene.of(Shard) if s.holder == worker.id)
    return ShardReport.model_validate({"number": held.number, "lease": held.lease, "state": state, **changes})


def started() -> Scene:
    made = scene()
    made.launch_all()
    for worker in workers(made):
        say(made, worker)
    return made


def test_as_many_workers_are_asked_for_as_the_job_says() -> None:
    assert len(scene().open_intents()) == 2


def test_each_worker_that_has_spoken_holds_one_shard() -> None:
    made = started()
    assert [shard(made, n).holder is not None for n in (0, 1, 2)] == [True, True, False]
    desired = made.of(Instance)[0].desired
    assert desired.kind == "work"
    assert len(desired.task.leases) == 1


def test_a_committed_shard_is_done_and_the_next_is_leased() -> None:
    made = started()
    worker = workers(made)[0]
    say(made, worker, of(made, worker, "committed"))
    assert shard(made, 0).done
    assert shard(made, 2).holder == worker.id


def test_a_lost_worker_is_replaced_in_the_same_attempt_and_its_shard_leased_again() -> None:
    made = started()
    lost, other = workers(made)
    made.put(replace(lost, phase="terminated", ended_at=made.now, reclaimed=True))
    made.decide()
    assert len([a for a in made.of(Attempt) if a.stage == "preprocess"]) == 1
    assert len(made.open_intents()) == 1
    made.launch_all()
    newcomer = next(w for w in workers(made) if w.id not in (lost.id, other.id))
    say(made, newcomer)
    assert shard(made, 0).holder == newcomer.id
    assert shard(made, 0).lease == 2


def test_a_commit_under_an_old_lease_counts_since_the_shard_exists() -> None:
    made = started()
    worker = workers(made)[0]
    late = of(made, worker, "committed")
    made.put(replace(shard(made, 0), lease=9, holder=None))
    say(made, worker, late)
    assert shard(made, 0).done


def test_a_failure_under_an_old_lease_is_ignored() -> None:
    made = started()
    worker = workers(made)[0]
    late = of(made, worker, "failed", code=1)
    made.put(replace(shard(made, 0), lease=9))
    say(made, worker, late)
    assert shard(made, 0).failures == 0


def test_a_shard_that_keeps_failing_fails_the_job() -> None:
    made = started()
    for _ in range(3):
        holder = next(w for w in workers(made) if w.id == shard(made, 0).holder)
        say(made, holder, of(made, holder, "failed", code=1))
        for worker in workers(made):
            if made.job.state == "running" and shard(made, 0).holder is None:
                held = [s for s in made.of(Shard) if s.holder == worker.id]
                say(made, worker, *([of(made, worker, "committed")] if held else []))
    assert made.job.state == "failed"
    assert "shard 0" in made.job.reason


def test_training_begins_when_all_shards_are_done_and_the_workers_are_given_back() -> None:
    made = started()
    for number in (0, 1, 2):
        made.put(replace(shard(made, number), done=True, holder=None))
    made.decide()
    assert made.stage("preprocess").state == "succeeded"
    assert all(worker.terminate_at for worker in workers(made))
    assert [intent.stage for intent in made.open_intents()] == ["train"]


def test_a_worker_with_nothing_left_to_do_is_given_back_early() -> None:
    made = started()
    first, second = workers(made)
    say(made, first, of(made, first, "committed"))
    say(made, second, of(made, second, "committed"))
    gone = [w.id for w in workers(made) if w.terminate_at]
    assert gone == [second.id]


def silence(made: Scene) -> None:
    """Every worker that is there times out, and the next ones are launched."""
    made.decide(after_s=301)
    for worker in workers(made):
        made.put(replace(worker, phase="terminated", ended_at=made.now))
    made.decide()
    made.launch_all()


def test_workers_that_never_speak_call_a_person_and_then_end_the_job() -> None:
    made = scene()
    made.launch_all()
    silence(made)
    assert made.stage("preprocess").alarms == ()
    silence(made)
    assert made.stage("preprocess").alarms == ("job.no_progress",)
    silence(made)
    assert made.job.state == "failed"
    assert "6 CPU instances in a row ended before their agent said a word" in made.job.reason


def test_a_worker_that_speaks_begins_the_count_anew() -> None:
    made = scene()
    made.launch_all()
    silence(made)
    silence(made)
    newcomer = next(worker for worker in workers(made) if worker.alive)
    made.now += timedelta(seconds=1)
    say(made, newcomer)
    assert made.stage("preprocess").alarms == ()
    silence(made)
    assert made.job.state == "running"


def test_workers_that_are_reclaimed_while_they_boot_are_no_sign_of_anything() -> None:
    made = scene()
    for _ in range(5):
        made.launch_all()
        for worker in workers(made):
            made.put(replace(worker, phase="terminated", ended_at=made.now, reclaimed=True))
        made.decide(after_s=61)
    assert made.job.state == "running"
    assert made.stage("preprocess").alarms == ()
