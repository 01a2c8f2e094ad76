"""Exit codes of `orch`. Documented in docs/commands.md; scripts rely on them."""

OK = 0
FAILED = 1  # the thing asked for did not succeed: the job failed, a check found something
USAGE = 2  # the command line is wrong
BAD_FILE = 3  # a job file or config file is wrong or unreadable
NOT_FOUND = 4  # no such job, attempt or instance
NO_DAEMON = 5  # the daemon cannot be reached
REFUSED = 6  # understood, and not allowed now
INTERNAL = 70  # our own error; the log has the traceback
INTERRUPTED = 130  # Ctrl-C
READER_LEFT = 141  # whoever read our output stopped reading: `orch ps | head`
