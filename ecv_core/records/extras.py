"""Packages that only some of the work needs, and the sentence where one is missing."""

from __future__ import annotations

EXTRAS = {
    "models": ("torch", "lenskit", "myfm", "numba"),
    "sklearn": ("sklearn", "joblib"),
    "energy": ("codecarbon", "pynvml"),
    "figures": ("plotly", "matplotlib", "jinja2"),
    "tune": ("optuna",),
    "dashboard": ("streamlit", "authlib", "httpx2", "starlette"),
    "postgres": ("psycopg",),
    "cluster": ("dask", "distributed", "dask_jobqueue"),
    "download": ("requests",),
}
"""Extra of the package -> what it brings, by the names under which it is imported."""


def what_to_install(error: BaseException) -> str | None:
    """The sentence for a package of an extra that is not installed; None for any other error."""
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    root = (missing or "").partition(".")[0]
    for extra, packages in EXTRAS.items():
        if root in packages:
            return (
                f"this needs {root}, which is not installed here; add it by "
                f"pip install 'e-fold[{extra}]', or everything by pip install 'e-fold[all]'"
            )
    return None
