"""The demo's summary, for scripts and for people."""

import json

from orchestrator.cli.demo_summary import Summary, as_json, failure, lines, summarise
from orchestrator.model import exits
from tests.cli.demo_scenes import accounts

KEYS = {
    "attempts",
    "reclaims",
    "steps",
    "steps_redone_with_notice",
    "steps_redone",
    "weights_sha256",
    "undisturbed_weights_sha256",
    "cost_usd",
    "on_demand_usd",
    "notice_to_replacement_s",
    "final_to_step_s",
    "leaked_instances",
}


def summary(undisturbed: str = "aa", leaked: int = 0) -> Summary:
    return summarise(accounts(), "aa", undisturbed, leaked)


def test_scripts_get_exactly_these_keys_and_money_as_numbers() -> None:
    told = json.loads(json.dumps(as_json(summary())))
    assert set(told) == KEYS
    assert told["cost_usd"] < told["on_demand_usd"]
    assert told["notice_to_replacement_s"] == [0.05, 0.06]


def test_people_read_what_was_saved_after_waste() -> None:
    text = "\n".join(lines(summary()))
    assert "4 attempts: 3 instances were taken away." in text
    assert "13 of them twice, 0 after a notice" in text
    assert "59% saved" in text
    assert "byte for byte" in text


def test_a_demo_that_kept_its_promise_does_not_fail() -> None:
    assert failure(summary(), "log") is None


def test_other_weights_fail_the_demo_and_name_the_log() -> None:
    failed = failure(summary(undisturbed="bb"), "/x/orchd.log")
    assert failed is not None
    assert failed.code == exits.FAILED
    assert "/x/orchd.log" in failed.lines[-1]


def test_a_leaked_instance_fails_the_demo() -> None:
    failed = failure(summary(leaked=1), "log")
    assert failed is not None
    assert "1 instance is still alive" in failed.lines[0]


def test_a_run_that_cost_nothing_divides_by_nothing() -> None:
    free = summarise(accounts(cost_usd="0", on_demand_usd="0"), "aa", "aa", 0)
    assert "saved" not in "\n".join(lines(free))
