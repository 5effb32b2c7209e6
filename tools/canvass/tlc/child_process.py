"""Run one command, and kill its whole process group when the parent process ends.

The script is the leader of its own process group. Its standard input is a pipe that the parent
holds open: if the parent dies, even by ``kill -9``, the pipe ends. The script imports little,
because it starts before every run of TLC. Its exit status is that of the command.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys


def _watch_parent() -> None:
    while os.read(0, 1):
        pass
    os.killpg(0, signal.SIGKILL)


def main(command: list[str]) -> None:
    """Run ``command`` (an absolute path and arguments) and end with its status or its signal."""
    try:
        null = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
        child = os.posix_spawn(command[0], command, os.environ, file_actions=[null])
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        sys.stderr.flush()
        os._exit(127)
    _thread.start_new_thread(_watch_parent, ())
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        signal.signal(number, signal.SIG_DFL) if number != signal.SIGKILL else None
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status))


if __name__ == "__main__":
    main(sys.argv[1:])
