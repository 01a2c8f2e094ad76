"""What a watcher of the demo sees."""

import io
from datetime import datetime, timezone

from orchestrator.cli.demo_frame import frame, progress, sentence, worth_telling
from orchestrator.cli.demo_view import Lines, Picture
from tests.cli.demo_scenes import attempt, event, instance, job

NOW = datetime(2026, 1, 1, 0, 0, 10, tzinfo=timezone.utc)
NOTICE = {
    "source": "metadata",
    "heard_at": "2026-01-01T00:00:08+00:00",
    "deadline": "2026-01-01T00:00:16+00:00",
}


def under_notice() -> dict[str, object]:
    return attempt(
        1,
        first_step_at="x",
        base_step=0,
        reached_step=210,
        committed_step=200,
        instances=[instance(notice=NOTICE)],
    )


def test_an_attempt_under_notice_says_when_it_will_be_gone() -> None:
    row = frame(job(under_notice()), NOW).rows[1]
    assert row.state == "under notice"
    assert "steps 0 to 210" in row.note
    assert "gone in 6 s" in row.note


def test_a_replacement_stands_by_until_it_is_told_to_run() -> None:
    standby = attempt(2, replaces=1, told_run_at=None)
    assert frame(job(under_notice(), standby), NOW).rows[2].state == "standby"


def test_an_attempt_that_ended_shows_how_and_no_countdown() -> None:
    ended = under_notice() | {"outcome": "reclaimed"}
    row = frame(job(ended), NOW).rows[1]
    assert row.state == "reclaimed"
    assert "gone in" not in row.note


def test_steps_are_the_furthest_trained_and_the_furthest_committed_of_all_attempts() -> None:
    second = attempt(2, reached_step=None)
    shown = frame(job(under_notice(), second), NOW)
    assert (shown.step, shown.saved, shown.total_steps) == (210, 200, 900)


def test_before_training_the_line_tells_of_shards() -> None:
    line = progress(frame(job(total_steps=None, metrics={}), NOW))
    assert "2 of 6 shards" in line
    assert line.endswith("$0.0123")


def test_while_training_the_line_has_step_loss_and_cost() -> None:
    line = progress(frame(job(under_notice()), NOW))
    assert "step 210 of 900, loss 0.42, accuracy 0.913, $0.0123" in line


def test_commits_and_orders_are_not_told_one_by_one() -> None:
    events = [event(1, "checkpoint.committed", "Step 20."), event(2, "attempt.ended", "It ended.")]
    assert [one["seq"] for one in worth_telling(events)] == [2]


def test_a_sentence_that_two_events_share_is_told_once() -> None:
    events = [event(seq, name, "It is done.") for seq, name in enumerate(("stage.succeeded", "job.succeeded"))]
    assert [one["name"] for one in worth_telling(events)] == ["stage.succeeded"]


def test_an_event_is_a_sentence_with_the_seconds_since_the_start() -> None:
    began = datetime(2026, 1, 1, tzinfo=timezone.utc)
    assert sentence(event(1, "attempt.ended", "It ended."), began) == "   2.5 s  It ended."


def test_lines_are_plain_text() -> None:
    out = io.StringIO()
    with Lines(out) as view:
        view.tell("   2.5 s  It ended.")
        view.show(frame(job(under_notice()), NOW))
    assert out.getvalue() == "   2.5 s  It ended.\n"


def test_a_picture_can_be_drawn_at_every_stage_of_a_job() -> None:
    with Picture() as view:
        for attempts in ((), (attempt(1),), (under_notice(), attempt(2, replaces=1))):
            view.show(frame(job(*attempts), NOW))
        view.tell("[not markup]")
