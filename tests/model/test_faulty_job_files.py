"""Job files as people get them wrong. Beside each lies what is said about it: every fault, none more.

To add one: write NAME.toml, run the tests, and put what they show into NAME.txt once a person would be glad of it.
"""

from pathlib import Path

import pytest

from orchestrator.model.faults import BadFile
from orchestrator.model.jobfile import read_job_bytes

FAULTY = sorted(Path(__file__).with_name("faulty").glob("*.toml"))


def test_there_are_thirty_of_them_at_least() -> None:
    assert len(FAULTY) >= 30


@pytest.mark.parametrize("file", FAULTY, ids=lambda file: file.stem)
def test_every_fault_is_named_with_its_line(file: Path) -> None:
    with pytest.raises(BadFile) as bad:
        read_job_bytes(file.read_bytes())
    assert [str(fault) for fault in bad.value.faults] == file.with_suffix(".txt").read_text().splitlines()
