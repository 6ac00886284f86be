"""What is not needed is not loaded: by the package, and by the command line before its work."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import scipy
from packaging.version import Version

from ecv_core.cli import main

ROOT = Path(__file__).resolve().parents[1]
HEAVY = (
    *("plotly", "pandas", "torch", "lenskit", "streamlit", "scipy", "numpy", "sqlalchemy"),
    *("sklearn", "joblib"),
)


def loaded_by(code: str) -> tuple[set[str], int]:
    """The modules that a fresh Python has loaded after some code, and its `exit_code`, if any."""
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
    return set(modules), code_of_end


@pytest.mark.parametrize(("arguments", "exit_code"), [(["--help"], 0), (["train"], 2), ([], 2)])
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


def test_scores_of_a_file_are_read_without_pandas(tmp_path: Path) -> None:
    wide, long = tmp_path / "wide.csv", tmp_path / "long.csv"
    wide.write_text("score\n0.30\n0.34\n0.31\n")
    rows = [f"{name},{fold},{0.3 + fold / 9}" for name in "ab" for fold in range(3)]
    long.write_text("\n".join(["contender,fold,score", *rows]))
    for words in (["orders", str(wide), "--alpha", "1e-4"], ["select", "--scores", str(long)]):
        loaded, ended = loaded_by(f"from ecv_core.cli import main; exit_code = main({words!r})")
        assert ended == 0
        unused = {"pandas", "torch", "sqlalchemy", "pydantic", "tqdm", "psutil"}
        assert loaded & {*unused, "ecv_core.models", "ecv_core.store", "ecv_core.fold"} == set()


@pytest.mark.slow
def test_training_networks_does_not_load_the_compiler_of_torch() -> None:
    imports = (
        "from ecv_core.fold.computing import run_fold; from ecv_core.fold.spec import make_spec"
    )
    fits = []
    for name in ("bpr-mf", "light-gcn"):
        spec = f"make_spec(dataset='synthetic', algorithm='{name}', params={{'epochs': 1}})"
        fits.append(f"run_fold({spec}, 0)")
    loaded, _ = loaded_by(f"{imports}; {'; '.join(fits)}")
    assert "torch" in loaded
    assert loaded & {"torch._dynamo", "sympy"} == set()


def test_a_quick_run_loads_neither_torch_nor_a_page(tmp_path: Path) -> None:
    words = f"""
        import os
        os.environ["ECV_DATABASE_URL"] = "sqlite:///{tmp_path}/runs.sqlite"
        from ecv_core.cli import main
        exit_code = main(["run", "synthetic", "popular", "-k", "2"])
"""
    loaded, ended = loaded_by(words.strip())
    assert ended == 0
    # CodeCarbon loads pandas, in which it looks the processor's wattage up.
    assert loaded & {"torch", "lenskit", "streamlit", "plotly"} == set()


def test_orders_of_a_file_load_no_table_and_no_database(tmp_path: Path) -> None:
    (tmp_path / "scores.csv").write_text("score\n0.30\n0.32\n0.31\n", encoding="utf-8")
    words = ["orders", str(tmp_path / "scores.csv"), "--alpha", "0.01"]
    loaded, ended = loaded_by(f"from ecv_core.cli import main; exit_code = main({words!r})")
    assert ended == 0
    unused = {"pandas", "tqdm", "sqlalchemy", "pyarrow.compute"}
    if Version(scipy.__version__) >= Version("1.17"):
        unused.add("scipy.sparse")  # older ones load it beside scipy.special
    assert loaded & unused == set()


def test_ask_loads_the_database_and_no_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["track", "mine", "synthetic", "-k", "3", "--metric", "ndcg@10"]) == 0
    words = ["ask", capsys.readouterr().out.strip(), "--folder", str(tmp_path)]
    loaded, ended = loaded_by(f"from ecv_core.cli import main; exit_code = main({words!r})")
    assert ended == 0
    assert len(list(tmp_path.glob("fold-0-*.csv"))) == 2
    assert loaded & {"pandas", "tqdm", "pyarrow", "scipy.sparse", "torch", "plotly"} == set()
    ours = {
        "models",
        "evaluation",
        "energy",
        "fold.computing",
        "jobs.plan_runs",
        "jobs.reported_scores",
    }
    assert loaded & {f"ecv_core.{name}" for name in ours} == set()


@pytest.mark.parametrize("words", [["completion", "bash"], ["figure", "--help"]])
def test_what_is_said_of_all_commands_needs_no_extra(words: list[str]) -> None:
    loaded, ended = loaded_by(f"from ecv_core.cli import main; exit_code = main({words!r})")
    assert ended == 0
    extras = {"plotly", "matplotlib", "jinja2", "torch", "lenskit", "sklearn", "optuna", "kasa"}
    assert loaded & extras == set()


def test_a_command_looks_for_garbage_but_not_among_the_modules_it_loaded() -> None:
    program = """
import gc, sys
import ecv_core.cli.track_commands as track_commands
from ecv_core.__main__ import run
sys.argv = ["ecv", "ask", "any"]
track_commands.ask_command = lambda options: print(gc.isenabled(), gc.get_freeze_count() > 10_000)
sys.exit(run())
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "True True\n"
