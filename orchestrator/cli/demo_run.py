"""The demo from start to summary: a daemon, a job, three losses, a comparison."""

import hashlib
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Protocol

from orchestrator.cli import demo_daemon, demo_undisturbed, demo_view
from orchestrator.cli.demo_frame import frame, sentence, worth_telling
from orchestrator.cli.demo_places import Demo, command, examples_dir, new_demo
from orchestrator.cli.demo_summary import Summary, summarise
from orchestrator.cli.failures import Away, Failure, Farewell
from orchestrator.model import exits

ENDS_WITHIN_S = 300.0
_GONE_WITHIN_S = 20.0
_PARK_S = 0.4
_LOOK_EVERY_S = 0.2


class Api(Protocol):
    """The demo's daemon over HTTP. Each raises Failure."""

    def get(self, path: str, /, **query: object) -> Any: ...
    def post(self, path: str, body: Mapping[str, object]) -> Any: ...
    def fetch(self, path: str, /, **query: object) -> bytes: ...


@dataclass(frozen=True)
class Tools:
    """What the demo is given: how to reach its daemon, to read the cloud's ledger, to be shown."""

    connect: Callable[[Path], Api]
    alive: Callable[[Path], list[str]]
    view: demo_view.View
    program: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    summary: Summary
    demo: Demo
    example: Path


def run_demo(env: Mapping[str, str], tools: Tools) -> Outcome:
    """Run one demo to its end; its daemon stays up. Raises Failure."""
    example = _example()
    with new_demo(env) as demo, demo_undisturbed.running(demo, example) as undisturbed:
        try:
            return _run(demo, example, undisturbed, env, tools)
        except KeyboardInterrupt:
            raise _farewell(demo, tools.program) from None


def _example() -> Path:
    examples = examples_dir()
    if examples is None:
        raise Failure(exits.FAILED, "the examples are not installed: run the demo from a clone")
    if not demo_daemon.has_what_it_needs():
        raise Failure(exits.FAILED, "the demo needs numpy and scikit-learn: pip install 'orch[demo]'")
    return examples / "digits"


def _run(
    demo: Demo, example: Path, undisturbed: "subprocess.Popen[bytes]", env: Mapping[str, str], tools: Tools
) -> Outcome:
    began = datetime.now(timezone.utc)
    with tools.view as view:
        view.tell(f"   0.0 s  A daemon starts for this demo, in {demo.home}.")
        demo.config.write_text(demo_daemon.config_text(demo, example.parent))
        daemon = demo_daemon.start_daemon(demo, env)
        api = tools.connect(demo.socket)
        demo_daemon.wait_until_ready(daemon, demo, lambda: _answers(api))
        with _explained(daemon, demo):
            job = api.post("/v1/jobs", _submission(example))["job"]["id"]
            watch(api, job, Watcher(view, began, demo, time.monotonic() + ENDS_WITHIN_S))
            leaked = _still_alive(demo, tools)
            weights = api.fetch(f"/v1/jobs/{job}/output/file", path="weights.npz")
            accounts = api.get(f"/v1/jobs/{job}")["accounts"]
    theirs = demo_undisturbed.weights_sha256(undisturbed, demo)
    ours = hashlib.sha256(weights).hexdigest()
    return Outcome(summarise(accounts, ours, theirs, leaked), demo, example)


def _submission(example: Path) -> dict[str, object]:
    return {"toml": (example / "job.toml").read_text(), "idempotency_key": os.urandom(16).hex()}


def _answers(api: Api) -> bool:
    try:
        api.get("/v1/health")
    except Failure:
        return False
    return True


@contextmanager
def _explained(daemon: "subprocess.Popen[bytes]", demo: Demo) -> Iterator[None]:
    """Where the daemon gives no answer, say whether it died, and where its log is."""
    try:
        yield
    except Away as away:
        demo_daemon.check_alive(daemon, demo)
        raise Failure(exits.FAILED, *away.lines, f"the daemon's log: {demo.log}") from None


# ---------------------------------------------------------------- watching


@dataclass(frozen=True)
class Watcher:
    """Who watches, since when, and until when at most (monotonic)."""

    view: demo_view.View
    began: datetime
    demo: Demo
    until_s: float


def watch(api: Api, job: str, watcher: Watcher) -> None:
    """Show the job until it has succeeded. Raises Failure where it ends otherwise, or not in time."""
    after = 0
    while True:
        answer = api.get(f"/v1/jobs/{job}/events", after=after, wait_s=_PARK_S)
        detail = api.get(f"/v1/jobs/{job}")
        for event in worth_telling(answer["events"]):
            watcher.view.tell(sentence(event, watcher.began))
        watcher.view.show(frame(detail, datetime.now(timezone.utc)))
        after = answer["last"]
        if answer["ended"]:
            return _check_succeeded(detail, watcher.demo)
        if time.monotonic() > watcher.until_s:
            raise _failed(watcher.demo, f"it has not ended after {ENDS_WITHIN_S:.0f} s: {detail['reason']}")
        time.sleep(_LOOK_EVERY_S)


def _check_succeeded(detail: Mapping[str, Any], demo: Demo) -> None:
    if detail["state"] != "succeeded":
        raise _failed(demo, f"it is {detail['state']}: {detail['reason']}")


def _failed(demo: Demo, why: str) -> Failure:
    return Failure(exits.FAILED, f"the demo's job did not succeed: {why}", f"the daemon's log: {demo.log}")


def _still_alive(demo: Demo, tools: Tools) -> int:
    """How many instances outlive the job, by the cloud's own word, once they have had time to go."""
    until = time.monotonic() + _GONE_WITHIN_S
    while tools.alive(demo.cloud) and time.monotonic() < until:
        time.sleep(_LOOK_EVERY_S)
    return len(tools.alive(demo.cloud))


# ---------------------------------------------------------------- afterwards


def _farewell(demo: Demo, program: tuple[str, ...]) -> Farewell:
    return Farewell(
        "The demo goes on without you.",
        f"Come back to it:  {command(program, demo.socket, 'events', 'digits', '-f')}",
        f"End it:           {command(program, demo.socket, 'demo', '--stop')}",
    )


def next_commands(outcome: Outcome, program: tuple[str, ...], job_file: str) -> list[tuple[str, str]]:
    """Command lines to try next, each with what it does."""
    pulled = outcome.demo.home / "output"
    lines = [
        (("show", "digits"), "the job whole"),
        (("explain", "digits"), "its history in words"),
        (("logs", "digits"), "what the trainer printed"),
        (("pull", "digits", str(pulled)), "fetch the weights"),
        (("submit", job_file, "-f"), "once more; now reclaim it yourself, from another terminal:"),
        (("drill", "digits"), "a reclaim on purpose"),
        (("demo", "--stop"), "end this demo's daemon and remove its files"),
    ]
    return [(command(program, outcome.demo.socket, *words), why) for words, why in lines]
