"""What is not needed is not loaded: by the package, and by the command line before its work."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
HEAVY = (
    *("plotly", "pandas", "torch", "lenskit", "streamlit", "scipy", "numpy", "sqlalchemy"),
    *("sklearn", "joblib"),
)


def loaded_by(code: str) -> tuple[set[str], int]:
    """The packages that a fresh Python has loaded after some code, and its `exit_code`, if any."""
    program = f"""
import sys, json, contextlib, io
sys.argv = ["ecv"]
exit_code = 0
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    try:
        {code}
    except SystemExit as end:
        exit_code = end.code
print(json.dumps([sorted(sys.modules), exit_code]))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    modules, code_of_end = json.loads(done.stdout)
    return {name.partition(".")[0] for name in modules}, code_of_end


@pytest.mark.parametrize(
    ("arguments", "exit_code"),
    [(["--help"], 0), (["train"], 2), ([], 2)],
)
def test_help_and_a_wrong_command_load_none_of_the_heavy_packages(
    arguments: list[str], exit_code: int
) -> None:
    loaded, ended = loaded_by(f"from ecv_core.cli import main; exit_code = main({arguments!r})")
    assert ended == exit_code
    assert loaded & set(HEAVY) == set()


def test_the_package_alone_loads_none_of_the_heavy_packages() -> None:
    loaded, _ = loaded_by("import ecv_core; ecv_core.__version__; dir(ecv_core)")
    assert loaded & set(HEAVY) == set()


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "ml-10k", "popular"],
        ["run", "ml-100k", "populer"],
        ["datasets"],
        ["run", "--help"],
        ["orders", "--help"],
        ["orders"],
    ],
)
def test_a_command_loads_what_it_needs_only(arguments: list[str]) -> None:
    loaded, _ = loaded_by(f"from ecv_core.cli import main; exit_code = main({arguments!r})")
    unused = {"plotly", "pandas", "torch", "lenskit", "streamlit", "sqlalchemy", "codecarbon"}
    assert loaded & unused == set()


def test_a_quick_run_loads_neither_torch_nor_pandas(tmp_path: Path) -> None:
    words = f"""
        import os
        os.environ["ECV_DATABASE_URL"] = "sqlite:///{tmp_path}/runs.sqlite"
        from ecv_core.cli import main
        exit_code = main(["run", "synthetic", "popular", "-k", "2"])
"""
    loaded_by(words.strip())  # the machine's processor is looked at once a boot
    loaded, ended = loaded_by(words.strip().replace('"2"]', '"3"]'))
    assert ended == 0
    assert loaded & {"torch", "pandas", "lenskit", "streamlit", "plotly"} == set()
