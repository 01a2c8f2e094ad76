"""Cases from the field that only the whole of orch can answer."""

import sys
import time
from pathlib import Path

import pytest

from tests.daemon.scenes import Orchd

LINES_A_SECOND = 50

PRINTER = f"""\
import sys, time
for number in range(int(sys.argv[1])):
    print("line", number, flush=True)
    time.sleep(1 / {LINES_A_SECOND})
"""

JOB = """\
name = "case"

[train]
command = '''{command}'''
{more}
"""


def _submit(orchd: Orchd, command: str, more: str = "", *words: str) -> str:
    file = orchd.home / "job.toml"
    file.write_text(JOB.format(command=command, more=more))
    return str(orchd.json("submit", *words, str(file))["id"])


def test_one_rule_for_variables_is_shown_before_anything_runs_and_holds(orchd: Orchd) -> None:
    """B094"""
    orchd.start()
    more = "env = { PATH = '/opt/x:$PATH', PRICE = '5$$' }\n[output]\npath = '/output'"
    command = 'printf "%s\\n%s" "$PATH" "$PRICE" > "$ORCH_OUTPUT/said"'
    file = orchd.home / "job.toml"
    file.write_text(JOB.format(command=command, more=more))
    shown = orchd.orch("submit", "--dry-run", str(file))
    assert shown.returncode == 0, shown.stderr
    assert "/opt/x:<the instance's PATH>" in shown.stdout
    assert "5$" in shown.stdout
    assert orchd.json("ps", "--all") == []
    job = _submit(orchd, command, more)
    assert orchd.wait_until(job, "succeeded", "failed") == "succeeded"
    assert orchd.orch("pull", job, str(orchd.home / "out")).returncode == 0
    path, _, price = (orchd.home / "out" / "said").read_text().partition("\n")
    assert path.startswith("/opt/x:/")
    assert price == "5$"


def test_what_an_attempt_printed_outlives_its_instance(orchd: Orchd) -> None:
    """B122: of an instance that goes without a word its last half second may be lost."""
    sudden = [{"launch": number, "after_s": 5, "notice": False} for number in (1, 2)]
    orchd.configure(script=sudden, timings="cooldown_s = 1")
    orchd.start()
    printer = orchd.home / "printer.py"
    printer.write_text(PRINTER)
    job = _submit(orchd, f"{sys.executable} {printer} 500")
    assert orchd.wait_until(job, "succeeded", "failed") == "succeeded"
    kept = {number: _lines(orchd, job, number) for number in (1, 2, 3)}
    assert kept[3] == [f"line {number}" for number in range(500)]
    for number in (1, 2):
        assert kept[number] == [f"line {index}" for index in range(len(kept[number]))]
        trained_s = _trained_s(orchd, job, number)
        assert len(kept[number]) >= LINES_A_SECOND * 0.8 * (trained_s - 0.5), f"of {trained_s} s"


def test_a_flood_of_output_arrives_to_its_last_word(orchd: Orchd) -> None:
    orchd.start()
    (orchd.home / "flood.py").write_text("for _ in range(500_000): print('x' * 99)\nraise SystemExit('the reason')\n")
    job = _submit(orchd, f"{sys.executable} {orchd.home}/flood.py", "[retry]\nmax_failures = 1")
    assert orchd.wait_until(job, "succeeded", "failed") == "failed"
    orchd.wait_for(lambda: _lines(orchd, job, 1)[-1] == "the reason", "its last word is here", 10)
    assert len(_lines(orchd, job, 1)) == 500_001


def _lines(orchd: Orchd, job: str, attempt: int) -> list[str]:
    ended = orchd.orch("logs", job, "--attempt", str(attempt))
    assert ended.returncode == 0, ended.stderr
    labelled = [line.split(" | ") for line in ended.stdout.splitlines()]
    assert {label for label, _ in labelled} == {f"train {attempt}"}
    return [line for _, line in labelled]


def _trained_s(orchd: Orchd, job: str, number: int) -> float:
    (train,) = orchd.json("show", job)["stages"]
    return float(next(one["trained_s"] for one in train["attempts"] if one["number"] == number))


def test_a_script_behind_bash_saves_when_its_instance_is_taken(orchd: Orchd) -> None:
    """B059: no step is done twice although the trainer runs as a child of `bash run.sh`."""
    orchd.configure(script=[{"launch": 1, "after_s": 9}])
    orchd.start()
    script = orchd.home / "run.sh"
    trainer = Path(__file__).with_name("trainer.py")
    script.write_text(f'echo preparing\n"{sys.executable}" "{trainer}" 150 0.05\necho done\n')
    more = f"env = {{ TRAINER_JOURNAL = '{orchd.journal}' }}\n[checkpoint]\npath = '/checkpoints'\n"
    job = _submit(orchd, f"bash {script}", f"{more}\n[output]\npath = '/output'")
    assert orchd.wait_until(job, "succeeded", "failed") == "succeeded"
    first, second = orchd.starts()
    assert (first["step"], second["found"]) == (0, "alone")
    assert second["step"] > 0
    assert orchd.json("show", job)["accounts"]["steps_redone"] == 0


HEARER = """\
import signal, sys, time
def stop(number, frame):
    print("heard", flush=True)
    time.sleep(0.3)
    print("tidied up", flush=True)
    sys.exit(0)
signal.signal(signal.SIGTERM, stop if sys.argv[1] == "hears" else signal.SIG_IGN)
print("training", flush=True)
while True:
    time.sleep(0.01)
"""


@pytest.mark.parametrize(
    ("kind", "within_s", "says"), [("hears", 8, ["training", "heard", "tidied up"]), ("deaf", 20, ["training"])]
)
def test_cancel_lets_the_trainer_hear_its_signal_and_waits_for_no_deaf_one(
    orchd: Orchd, kind: str, within_s: float, says: list[str]
) -> None:
    """B059"""
    orchd.start()
    (orchd.home / "hearer.py").write_text(HEARER)
    (orchd.home / "run.sh").write_text(f'"{sys.executable}" "{orchd.home}/hearer.py" {kind}\necho after\n')
    job = _submit(orchd, f"bash {orchd.home}/run.sh")
    orchd.wait_for(lambda: "training" in orchd.orch("logs", job).stdout, "it trains")
    orchd.wait_for(lambda: "trains on" in orchd.json("show", job)["reason"], "the daemon knows")
    began = time.monotonic()
    assert orchd.orch("cancel", job).returncode == 0
    orchd.wait_until(job, "cancelled", within_s=within_s)
    assert orchd.alive() == []
    assert [line for line in _lines(orchd, job, 1) if line != "after"] == says
    assert kind == "hears" or time.monotonic() - began > 9
