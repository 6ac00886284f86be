"""Models of ratings in a process whose memory ends: one sentence, and no crash of the process."""

import json
import subprocess
import sys

import pytest

PROGRAM = """
import json, resource, sys
from ecv_core.fold.computing import run_fold
from ecv_core.jobs.executors import failure_sentence
from ecv_core.fold.spec import make_spec

def run(name, dimension):
    once = "epochs" if name == "sgd-mf" else "steps"
    params = {"dimension": dimension, once: 1}
    spec = make_spec(dataset="synthetic", algorithm=name, rule="never", params=params)
    return run_fold(spec, 0).score

names = ("sgd-mf", "bayesian-mf", "bayesian-time-svd++-flipped")
for name in names:
    run(name, 2)  # whatever is loaded once is there
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 6_000_000, -1))
said = {}
for name in names:
    try:
        said[name] = run(name, 1024)
    except Exception as error:
        said[name] = failure_sentence(error)
print(json.dumps(said))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells what is used on Linux alone")
def test_memory_that_runs_out_is_one_sentence():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for name, said in json.loads(done.stdout).items():
        assert str(said).startswith("memory ran out in this fold"), (name, said)
