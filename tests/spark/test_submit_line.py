"""The lines for managers that no test can start: as far as Spark's own launcher checks them."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pyspark
import pytest

from canvass.cli.main import run

SPARK_HOME = Path(pyspark.__file__).parent


def launched(words: list[str]) -> list[str]:
    """The arguments that the launcher of Spark hands to its Java program, without running it."""
    launcher = ["org.apache.spark.launcher.Main", "org.apache.spark.deploy.SparkSubmit"]
    command = [str(SPARK_HOME / "bin" / "spark-class"), *launcher, *words]
    environment = os.environ | {"SPARK_HOME": str(SPARK_HOME)}
    said = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return shlex.split(said.stdout.replace("\0", " ").partition("deploy.SparkSubmit ")[2])


@pytest.mark.parametrize(
    "options",
    [
        "--master yarn --deploy-mode cluster --archive env.tar.gz --executors 3",
        "--master k8s://https://host --deploy-mode cluster --image registry/canvass:1",
    ],
)
def test_the_launcher_of_spark_takes_each_line_apart_as_it_is_meant(
    options: str, capsys: pytest.CaptureFixture[str]
) -> None:
    job = ["s3://lake/runs", "--out", "s3://lake/report"]
    assert run(["batch", "submit-command", *options.split(), "--", *job]) == 0
    program, *words = shlex.split(capsys.readouterr().out)

    found = launched(words)

    assert program == "spark-submit"
    script = next(place for place, word in enumerate(words) if word.endswith("main.py"))
    assert found[-len(words[script:]) :] == words[script:]
    assert sorted(found) == sorted(words)
