from dataclasses import replace
from datetime import timedelta

from orchestrator.control.draft import Fleet
from orchestrator.control.rules import Rules
from orchestrator.model.jobs import Attempt, Instance
from orchestrator.model.wire import Committed
from tests.control.scenes import RETRY, START, CheckpointSpec, Scene, ended, spec, with_market


def committed(step: int) -> Committed:
    return Committed(seq=step, step=step)


def test_a_new_job_asks_for_the_cheapest_instance() -> None:
    scene = Scene()
    scene.decide()
    (intent,) = scene.open_intents()
    assert intent.order.pool.zone == "a"
    assert intent.order.tags.job == "j"
    assert scene.job.state == "running"


def test_deciding_twice_changes_nothing_more() -> None:
    scene = Scene()
    scene.decide()
    assert scene.decide().empty


def test_an_instance_is_told_to_run_as_soon_as_it_is_known() -> None:
    scene = Scene()
    scene.decide()
    scene.launch_all()
    assert scene.instance(1).desired is not None
    assert scene.instance(1).desired.kind == "run"
    assert scene.attempt(1).told_run_at == START


def test_a_notice_launches_a_replacement_at_once_and_only_one() -> None:
    scene = Scene().running().notice(1)
    assert [a.number for a in scene.of(Attempt)] == [1, 2]
    assert len(scene.open_intents()) == 1
    assert scene.decide().empty


def test_the_replacement_avoids_the_pool_that_takes_the_instance() -> None:
    scene = Scene().running().notice(1)
    assert scene.open_intents()[0].order.pool.zone == "b"


def test_the_replacement_stands_by_until_the_old_attempt_is_final() -> None:
    scene = Scene().running().notice(1).launch_all()
    assert scene.instance(2).desired.kind == "standby"
    scene.report(1, step=20, committed=committed(20), **ended("interrupted"))
    assert scene.attempt(1).outcome == "reclaimed"
    assert scene.instance(2).desired.kind == "run"
    assert scene.attempt(2).epoch > scene.attempt(1).epoch


def test_the_replacement_runs_when_the_provider_says_the_old_instance_is_gone() -> None:
    scene = Scene().running().notice(1).launch_all().gone(1, reclaimed=True)
    assert scene.instance(2).desired.kind == "run"


def test_the_replacement_runs_ten_seconds_after_the_deadline_and_no_sooner() -> None:
    scene = Scene().running().notice(1, left_s=120).launch_all()
    scene.decide(after_s=129.9)
    assert scene.instance(2).desired.kind == "standby"
    scene.decide(after_s=0.2)
    assert scene.instance(2).desired.kind == "run"
    assert scene.instance(1).terminate_at is not None


def test_a_replacement_that_is_launched_late_runs_at_once() -> None:
    scene = Scene().running().notice(1)
    scene.report(1, step=20, committed=committed(20), **ended("interrupted"))
    scene.launch_all()
    assert scene.instance(2).desired.kind == "run"


def test_a_withdrawn_notice_ends_the_standby() -> None:
    scene = Scene().running().notice(1).launch_all().withdraw(1)
    assert scene.attempt(2).outcome == "superseded"
    assert scene.instance(2).terminate_at is not None
    assert scene.attempt(1).live


def test_a_trainer_that_finishes_first_has_succeeded() -> None:
    scene = Scene().running().notice(1).launch_all()
    scene.report(1, step=99, **ended("succeeded"))
    assert scene.job.state == "succeeded"
    assert scene.attempt(2).outcome == "superseded"
    assert all(i.terminate_at for i in scene.of(Instance))


def test_a_trainer_that_exits_0_on_the_stop_signal_is_interrupted_not_finished() -> None:
    """B061"""
    scene = Scene().running().notice(1).report(1, step=40, committed=committed(40), **ended("interrupted", 0))
    assert scene.attempt(1).outcome == "reclaimed"
    assert scene.job.state == "running"


def test_an_advised_instance_trains_on() -> None:
    """B029"""
    scene = Scene().running().report(1, phase="running", step=20, rebalance_advised=True)
    scene.decide(after_s=60)
    assert [a.number for a in scene.of(Attempt)] == [1]
    assert scene.instance(1).terminate_at is None


def test_an_instance_that_is_reclaimed_while_it_boots_is_replaced() -> None:
    """B005"""
    scene = Scene()
    scene.decide()
    scene.launch_all().gone(1, reclaimed=True)
    assert scene.attempt(1).outcome == "reclaimed"
    assert scene.attempt(2).live
    assert scene.stage().failures == 0


def test_there_are_never_more_than_two_instances_for_a_node() -> None:
    scene = Scene().running().notice(1).launch_all()
    scene.report(1, step=20, committed=committed(20), **ended("interrupted"))
    scene.report(2, phase="running", step=21, base_step=20).notice(2)
    assert scene.open_intents() == []
    assert "confirm that an old instance is gone" in scene.job.reason
    scene.gone(1)
    assert len(scene.open_intents()) == 1


def test_an_agent_that_never_speaks_is_given_up_after_the_boot_timeout() -> None:
    scene = Scene()
    scene.decide()
    scene.launch_all()
    scene.decide(after_s=299)
    assert scene.attempt(1).live
    scene.decide(after_s=2)
    assert scene.attempt(1).outcome == "lost"
    assert scene.instance(1).terminate_at is not None


def test_a_silent_agent_is_not_dead_until_the_configured_silence_has_passed() -> None:
    scene = Scene().running()
    scene.decide(after_s=899)
    assert scene.attempt(1).live
    scene.decide(after_s=2)
    assert scene.attempt(1).outcome == "lost"


def test_failures_use_the_retry_budget_and_then_the_job_has_failed() -> None:
    scene = Scene(job_spec=spec(retry=RETRY)).running()
    for number in (1, 2):
        scene.report(number, step=10 * number, **ended("failed", 1)).gone(number)
        scene.decide(after_s=60)
        scene.launch_all()
    scene.report(3, **ended("failed", 1))
    assert scene.job.state == "failed"
    assert "failure 3 of 3" in scene.job.reason
    assert scene.stage().state == "failed"


def test_an_exit_code_that_is_not_retried_ends_the_job_at_once() -> None:
    scene = Scene(job_spec=spec(retry=RETRY)).running().report(1, **ended("failed", 2))
    assert scene.job.state == "failed"
    assert "exit code 2 is not retried" in scene.job.reason


def test_a_failed_attempt_is_tried_again_after_a_pause() -> None:
    scene = Scene(job_spec=spec(retry=RETRY)).running().report(1, **ended("failed", 1))
    assert scene.open_intents() == []
    assert scene.decision is not None
    assert scene.decision.wake_at == START + timedelta(seconds=1)


def lose(scene: Scene, number: int) -> None:
    scene.gone(number, reclaimed=True)
    scene.launch_all()


def test_resumes_without_a_new_checkpoint_call_a_person_then_try_on_demand_then_stop() -> None:
    """B054, B130"""
    scene = Scene().running()
    lose(scene, 1)
    lose(scene, 2)
    assert "job.no_progress" in scene.stage().alarms
    lose(scene, 3)
    assert scene.instance(4).pool.market == "on-demand"
    scene.gone(4)
    assert scene.job.state == "failed"
    assert "a person must look" in scene.job.reason
    assert "the last one was lost: the instance was gone" in scene.job.reason


def test_a_job_that_wants_spot_alone_stops_without_an_on_demand_attempt() -> None:
    scene = Scene(job_spec=with_market("spot")).running()
    for number in (1, 2):
        lose(scene, number)
    scene.gone(3)
    assert scene.job.state == "failed"


def test_a_new_checkpoint_ends_the_count_of_barren_resumes() -> None:
    scene = Scene().running()
    lose(scene, 1)
    scene.report(2, phase="running", step=30, committed=committed(30))
    lose(scene, 2)
    assert scene.stage().barren_resumes == 0
    assert scene.stage().progress_step == 30


def test_a_resume_from_before_what_was_committed_stops_the_job() -> None:
    scene = Scene().running().report(1, phase="running", step=50, committed=committed(50))
    lose(scene, 1)
    scene.report(2, phase="running", step=41, base_step=40)
    assert scene.job.state == "failed"
    assert "resumed from step 40, though step 50 was committed" in scene.job.reason


def test_a_resume_from_nothing_though_something_was_committed_stops_the_job() -> None:
    scene = Scene().running().report(1, phase="running", step=50, committed=committed(50))
    lose(scene, 1)
    scene.report(2, phase="running", step=1)
    assert scene.job.state == "failed"


def test_an_agent_that_trusts_no_checkpoint_stops_the_job() -> None:
    scene = Scene().running().report(1, phase="blocked", block="untrusted", trouble="none is whole")
    assert scene.job.state == "failed"
    assert "none is whole" in scene.job.reason


def test_an_agent_whose_disk_is_full_is_replaced() -> None:
    scene = Scene().running().report(1, phase="blocked", block="disk", trouble="the disk is full")
    assert scene.attempt(1).outcome == "lost"
    assert scene.job.state == "running"


def test_no_commit_for_longer_than_every_is_an_alarm_once() -> None:
    scene = Scene(job_spec=spec(checkpoint=CheckpointSpec(path="/c", every_s=60.0))).running()
    scene.decide(after_s=61)
    assert scene.told().count("checkpoint.stale") == 1
    scene.decide(after_s=61)
    assert "checkpoint.stale" not in scene.told()


def test_cancelling_waits_until_the_provider_has_said_that_everything_is_gone() -> None:
    scene = Scene().running()
    scene.put(replace(scene.job, cancel_requested=True))
    scene.decide()
    assert scene.job.state == "cancelling"
    scene.gone(1)
    assert scene.job.state == "cancelled"


def test_cancelling_waits_for_a_launch_in_flight() -> None:
    scene = Scene()
    scene.decide()
    scene.put(replace(scene.job, cancel_requested=True))
    scene.decide()
    assert scene.job.state == "cancelling"
    scene.launch_all()
    assert scene.instance(1).terminate_at is not None
    scene.gone(1)
    assert scene.job.state == "cancelled"


def test_a_late_instance_of_an_ended_attempt_is_given_back() -> None:
    scene = Scene().running().notice(1)
    scene.withdraw(1)
    scene.launch_all()
    assert scene.attempt(2).outcome == "superseded"
    assert scene.instance(2).terminate_at is not None
    assert scene.attempt(1).live


def test_the_cap_on_instances_holds_and_is_named() -> None:
    scene = Scene(rules=Rules(max_instances=4), fleet=Fleet(instances=4))
    scene.decide()
    assert scene.open_intents() == []
    assert "the cap of 4 instances" in scene.job.reason


def test_a_standby_under_notice_is_replaced_before_it_is_needed() -> None:
    scene = Scene().running().notice(1).launch_all().notice(2)
    assert scene.attempt(2).outcome == "reclaimed"
    scene.gone(2, reclaimed=True)
    assert scene.attempt(3).replaces == 1
    assert len(scene.open_intents()) == 1
