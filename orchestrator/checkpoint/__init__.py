"""A stage's checkpoints: snapshot, commit, verify, restore, retain; and its outputs and data set.

Directories come in and become immutable chunks plus one entry in a create-only log; what leaves is a
verified directory, or a refusal. A checkpoint exists when its entry does. Used by agent and control alike;
blocking, so callers run it in threads. docs/checkpoint-format.md describes what lies in the store.
"""

from orchestrator.checkpoint.candidates import Candidate, candidates
from orchestrator.checkpoint.dataset import commit_shard, committed_shards, fetch_dataset
from orchestrator.checkpoint.history import History, fold
from orchestrator.checkpoint.log import DamagedLog, Fenced, StageLog, read_history, stage_prefix
from orchestrator.checkpoint.output import OutputFile, complete, open_output_file, read_output
from orchestrator.checkpoint.restore import NoTrustworthyCheckpoint, Restored, prefetch, restore
from orchestrator.checkpoint.retain import retain
from orchestrator.checkpoint.save import Saved, save
from orchestrator.checkpoint.tree import Changed, Unstorable

__all__ = [
    "Candidate",
    "Changed",
    "DamagedLog",
    "Fenced",
    "History",
    "NoTrustworthyCheckpoint",
    "OutputFile",
    "Restored",
    "Saved",
    "StageLog",
    "Unstorable",
    "candidates",
    "commit_shard",
    "committed_shards",
    "complete",
    "fetch_dataset",
    "fold",
    "open_output_file",
    "prefetch",
    "read_history",
    "read_output",
    "restore",
    "retain",
    "save",
    "stage_prefix",
]
