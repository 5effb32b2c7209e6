"""The ``spark-submit`` line that runs a batch verification on somebody's cluster.

Nothing is run here. A line is for one kind of cluster manager; what it assumes of the cluster is in
the guide, and said beside each part below.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

ENVIRONMENT: Final = "environment"
"""The name under which executors unpack the archive."""


class BadSubmission(Exception):
    """There is no spark-submit line for what was asked."""


class Submission(Struct, frozen=True):
    """Where and with what a job is submitted."""

    master: str
    deploy_mode: str = "client"
    archive: Path | None = None
    """A packed environment with canvass in it, for executors that do not have one."""
    image: str | None = None
    """The container image, for Kubernetes."""
    executors: int | None = None
    executor_memory: str = "2g"
    driver_python: str = "python3"
    """The driver's Python in deploy mode client: it needs canvass."""


def submit_command(submission: Submission, script: str, arguments: Sequence[str]) -> list[str]:
    """Give the words of the line.

    Parameters
    ----------
    submission
        Where to.
    script
        The Python file that runs the command line ``canvass``, as the submitted job sees it.
    arguments
        The words of ``canvass batch verify`` after ``verify``, without ``--master``.

    Raises
    ------
    BadSubmission
        If the master is none that ``spark-submit`` takes, or lacks what it needs.
    """
    master = submission.master
    kubernetes = master.startswith("k8s://")
    if master.startswith("sc://"):
        reason = "Spark Connect takes no spark-submit: run canvass batch verify --master"
        raise BadSubmission(f"{reason} {master}")
    if master != "yarn" and not kubernetes and not master.startswith(("spark://", "local")):
        raise BadSubmission(f"{master!r} is no master: local[N], spark://, yarn or k8s://")
    if kubernetes and not submission.image:
        raise BadSubmission("Kubernetes needs --image, with canvass and Java in it")
    if submission.deploy_mode not in ("client", "cluster"):
        raise BadSubmission(f"{submission.deploy_mode!r} is neither client nor cluster")
    if submission.deploy_mode == "cluster" and master.startswith(("spark://", "local")):
        raise BadSubmission("Python jobs have no deploy mode cluster there")
    words = ["spark-submit", "--master", master, "--deploy-mode", submission.deploy_mode]
    if submission.executors is not None:
        words += ["--num-executors", str(submission.executors)]
    words += ["--executor-memory", submission.executor_memory]
    settings = {}
    if kubernetes:
        settings["spark.kubernetes.container.image"] = str(submission.image)
    if submission.archive is not None:
        # Wheels with machine code cannot travel as --py-files; a packed environment can.
        words += ["--archives", f"{submission.archive}#{ENVIRONMENT}"]
        settings["spark.pyspark.python"] = f"./{ENVIRONMENT}/bin/python"
        if submission.deploy_mode == "client":  # The driver has nothing unpacked.
            settings["spark.pyspark.driver.python"] = submission.driver_python
    for name, value in settings.items():
        words += ["--conf", f"{name}={value}"]
    return [*words, script, "batch", "verify", *arguments]
