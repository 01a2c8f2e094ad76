"""A cancelled job: its trainer is asked first, its instances go in any case."""

from dataclasses import replace
from datetime import timedelta

from orchestrator.control.watch import is_due
from orchestrator.model.jobs import Instance
from orchestrator.model.wire import Leave
from tests.control.scenes import Scene


def cancelled(scene: Scene) -> Instance:
    scene.put(replace(scene.job, cancel_requested=True))
    scene.decide()
    return scene.instance(1)


def test_a_trainer_that_runs_has_ten_seconds_after_its_signal() -> None:
    scene = Scene().running()
    instance = cancelled(scene)
    assert instance.desired == Leave(reason="the job was cancelled", grace_s=10.0)
    assert not is_due(instance, scene.now)
    assert not is_due(instance, scene.now + timedelta(seconds=9.9))
    assert is_due(instance, scene.now + timedelta(seconds=10))


def test_an_agent_that_has_left_before_costs_nothing_more() -> None:
    scene = Scene().running()
    instance = cancelled(scene)
    assert instance.report is not None
    left = instance.report.model_copy(update={"phase": "idle", "revision": instance.revision})
    assert is_due(replace(instance, report=left), scene.now)
    before = left.model_copy(update={"revision": instance.revision - 1})
    assert not is_due(replace(instance, report=before), scene.now)


def test_an_instance_that_does_not_train_goes_at_once() -> None:
    scene = Scene()
    scene.decide()
    scene.launch_all()
    assert is_due(cancelled(scene), scene.now)
