"""Execute the notebooks of docs/, keep what they print and draw: `python -m scripts.notebooks`."""

from __future__ import annotations

import base64
import io
import json
import os
import tempfile
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "notebooks"


def executed(path: Path) -> dict[str, Any]:
    """A notebook with the outputs of its cells, executed in order in this process.

    What a cell prints is kept as text; a figure of matplotlib as a picture, with its title as alt.
    """
    notebook: dict[str, Any] = json.loads(path.read_text("utf-8"))
    names: dict[str, Any] = {"__name__": "__main__"}
    count = 0
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        count += 1
        said = io.StringIO()
        with redirect_stdout(said):
            exec(compile("".join(cell["source"]), path.name, "exec"), names)
        lines = said.getvalue().splitlines(keepends=True)
        text = {"output_type": "stream", "name": "stdout", "text": lines}
        cell |= {"execution_count": count, "outputs": [text] * bool(lines) + _pictures()}
    return notebook


def _pictures() -> list[dict[str, Any]]:
    import matplotlib.pyplot as plt

    found = []
    for number in plt.get_fignums():
        figure, content = plt.figure(number), io.BytesIO()
        figure.savefig(content, format="png", dpi=120, metadata={"Software": None})
        png = base64.b64encode(content.getvalue()).decode()
        alt = {"alt": figure.axes[0].get_title(loc="left")}
        found.append({"output_type": "display_data", "data": {"image/png": png}, "metadata": alt})
    plt.close("all")
    return found


def main() -> None:
    """Write every notebook anew, on a database of its own."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"ECV_DATABASE_URL": f"sqlite:///{folder}/runs.sqlite", "MPLBACKEND": "Agg"}
        for path in sorted(FOLDER.glob("*.ipynb")):
            path.write_text(
                json.dumps(executed(path), indent=1, ensure_ascii=False) + "\n", "utf-8"
            )


if __name__ == "__main__":
    main()
