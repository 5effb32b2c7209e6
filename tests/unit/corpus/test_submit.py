"""The spark-submit lines that are printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from canvass.corpus.submit import BadSubmission, Submission, submit_command

ARGUMENTS = ["corpus", "--out", "report"]


def words(**fields: object) -> list[str]:
    return submit_command(Submission(**fields), "main.py", ARGUMENTS)  # type: ignore[arg-type]


def test_a_line_ends_with_the_command_and_its_arguments() -> None:
    line = words(master="spark://host:7077", executors=2)

    assert line[:3] == ["spark-submit", "--master", "spark://host:7077"]
    assert line[-6:] == ["main.py", "batch", "verify", *ARGUMENTS]
    assert line[line.index("--num-executors") + 1] == "2"


def test_an_archive_is_unpacked_and_its_python_used() -> None:
    line = words(master="yarn", deploy_mode="cluster", archive=Path("env.tar.gz"))

    assert line[line.index("--archives") + 1] == "env.tar.gz#environment"
    assert "spark.pyspark.python=./environment/bin/python" in line


def test_kubernetes_is_given_its_image() -> None:
    line = words(master="k8s://https://host", image="registry/canvass:1")

    assert "spark.kubernetes.container.image=registry/canvass:1" in line


@pytest.mark.parametrize(
    ("fields", "memory"),
    [
        ({"master": "spark://host:7077"}, None),
        ({"master": "spark://host:7077", "executor_memory": "3g"}, "3g"),
        ({"master": "yarn"}, "2g"),
        ({"master": "k8s://https://host", "image": "canvass"}, "2g"),
    ],
)
def test_a_standalone_worker_is_asked_for_the_memory_that_spark_asks_for(
    fields: dict[str, str], memory: str | None
) -> None:
    """The guide's workers have 1g: no executor with more would ever start there."""
    line = words(**fields)

    given = line[line.index("--executor-memory") + 1] if "--executor-memory" in line else None
    assert given == memory


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"master": "sc://host"}, "canvass batch verify --master sc://host"),
        ({"master": "mesos://host"}, "no master"),
        ({"master": "k8s://host"}, "--image"),
        ({"master": "yarn", "deploy_mode": "both"}, "neither client nor cluster"),
        ({"master": "spark://host", "deploy_mode": "cluster"}, "no deploy mode cluster"),
    ],
)
def test_what_cannot_run_is_refused(fields: dict[str, object], reason: str) -> None:
    with pytest.raises(BadSubmission, match=reason):
        words(**fields)
