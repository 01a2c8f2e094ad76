"""Asking the daemon: deadlines, patience, and answers that are lost."""

import io
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.cli import client
from orchestrator.cli.client import BRIEF, FOLLOWING, INSISTENT, connect, job_path
from orchestrator.cli.failures import Answered, AnswerLost, Failure, NotNow, NotRunning, TooSlow
from orchestrator.model import exits
from tests.cli.conftest import Ending
from tests.cli.standin import JOB, WEIGHTS, StandIn, listening

Orch = Callable[..., Ending]


def test_a_submission_whose_answer_is_lost_is_sent_again_with_the_same_key(
    orch: Orch, house: StandIn, job_file: Path
) -> None:
    """B136 The answer to a submission is lost, the client asks again: there is one job."""
    house.house.lose["/v1/jobs"] = 2
    ended = orch("submit", str(job_file))
    sent = house.house.posts("/v1/jobs")
    assert (ended.code, len(sent), len(house.house.keys)) == (exits.OK, 3, 1)
    assert "asking again, which does nothing twice" in ended.err


def test_two_submissions_of_a_file_are_two_jobs(orch: Orch, house: StandIn, job_file: Path) -> None:
    assert orch("submit", str(job_file)).code == orch("submit", str(job_file)).code == exits.OK
    assert len(house.house.keys) == 2


def test_a_submission_that_is_never_answered_says_how_to_find_out(orch: Orch, house: StandIn, job_file: Path) -> None:
    house.house.lose["/v1/jobs"] = 100
    ended = orch("submit", str(job_file))
    assert ended.code == exits.NO_DAEMON
    assert "whether it was handed in:" in ended.err.splitlines()[-1]
    assert len(house.house.posts("/v1/jobs")) == INSISTENT.tries


def test_a_drill_is_asked_for_once_even_when_its_answer_is_lost(orch: Orch, house: StandIn) -> None:
    house.house.lose[f"/v1/jobs/{JOB}/drill"] = 1
    ended = orch("drill", "digits")
    assert ended.code == exits.NO_DAEMON
    assert "the drill may be under way:" in ended.err
    assert len(house.house.posts(f"/v1/jobs/{JOB}/drill")) == 1


def test_a_question_is_asked_again_a_few_times(house: StandIn) -> None:
    house.house.lose["/v1/jobs"] = 2
    assert connect(house.socket).get("/v1/jobs")["jobs"]
    house.house.lose["/v1/jobs"] = 100
    house.house.asked.clear()
    with pytest.raises(AnswerLost):
        connect(house.socket).get("/v1/jobs")
    assert len(house.house.asked) == BRIEF.tries


def test_where_there_is_no_socket_nobody_waits(tmp_path: Path) -> None:
    began = time.monotonic()
    with pytest.raises(NotRunning, match=r"no daemon listens on .*No such file"):
        connect(tmp_path / "orchd.sock").get("/v1/jobs")
    assert time.monotonic() - began < 0.2


def test_a_socket_that_a_killed_daemon_left_is_tried_a_few_times(house: StandIn) -> None:
    left = house.socket.with_name("left.sock")
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(left))
    with pytest.raises(NotRunning, match="Connection refused"):
        connect(left).get("/v1/jobs")


def test_a_daemon_that_cannot_answer_yet_is_asked_again(house: StandIn) -> None:
    house.house.refusals["/v1/jobs"] = (503, {"error": "the disk is full"})
    with pytest.raises(NotNow, match="the disk is full") as refused:
        connect(house.socket).get("/v1/jobs")
    assert (len(house.house.asked), refused.value.code) == (BRIEF.tries, exits.REFUSED)


def test_a_daemon_that_never_answers_has_a_deadline(house: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "ANSWER_WITHIN_S", 0.05)
    mute = house.socket.with_name("mute.sock")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(mute))
        listener.listen()
        with pytest.raises(TooSlow, match="no answer in time"):
            connect(mute).get("/v1/jobs")


def test_whoever_follows_waits_for_a_daemon_that_restarts(house: StandIn, capsys: pytest.CaptureFixture[str]) -> None:
    again = house.socket.with_name("again.sock")
    back = threading.Event()

    def come_back() -> None:
        with listening(house.house, again):
            back.wait(10)

    timer = threading.Timer(0.1, come_back)
    timer.start()
    try:
        assert connect(again).waiting().get("/v1/jobs")["jobs"]
    finally:
        back.set()
        timer.join()
    assert capsys.readouterr().err == "orch: the daemon is away; waiting for it\n"


def test_patience_ends_and_its_pauses_grow() -> None:
    for patience in (BRIEF, INSISTENT, FOLLOWING):
        pauses = patience.pauses_s()
        assert pauses == sorted(pauses)
        assert sum(pauses) < 60


def test_what_is_no_orchd_is_told_so(house: StandIn) -> None:
    house.house.garbage = b"<html>"
    with pytest.raises(Failure, match="no orchd") as failure:
        connect(house.socket).get("/v1/jobs")
    assert failure.value.code == exits.INTERNAL


def test_a_refusal_that_is_not_json_still_has_a_sentence(house: StandIn) -> None:
    house.house.garbage = b"Internal Server Error"
    house.house.refusals["/v1/jobs"] = (500, {})
    with pytest.raises(Answered, match="answered 500; its log says more") as refused:
        connect(house.socket).get("/v1/jobs")
    assert refused.value.code == exits.INTERNAL


def test_a_download_that_breaks_off_begins_afresh(house: StandIn) -> None:
    into = io.BytesIO(b"what an earlier try left, and longer than that" * 20_000)
    path = job_path(JOB, "output", "file")
    house.house.lose[path] = 1
    connect(house.socket).download(path, into, path="weights.npz")
    assert into.getvalue() == WEIGHTS


@pytest.mark.parametrize("name", ["", "a/b", "../x"])
def test_a_name_that_no_job_can_have_is_not_asked_for(name: str) -> None:
    with pytest.raises(Failure, match="no job") as failure:
        job_path(name)
    assert failure.value.code == exits.NOT_FOUND


def test_a_name_is_one_part_of_its_path() -> None:
    assert job_path("a b?c=d", "events") == "/v1/jobs/a%20b%3Fc%3Dd/events"
