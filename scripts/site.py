"""Hooks of the site that `make docs` builds: documents outside docs/, links, formulas, notebooks.

The documents stay as they are read in the source tree; what a site needs beside is made here.
"""

from __future__ import annotations

import base64
import json
import os
import re
from pathlib import Path, PurePosixPath

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
OUTSIDE = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "CODE_OF_CONDUCT.md": "code-of-conduct.md",
    "benchmarks/README.md": "benchmarks.md",
}
"""Documents of the project that are pages of the site."""
PAPERS = ROOT / "build/papers.md"
"""What `ecv reproduce` prints; `make docs` has it made."""
FORMS = ROOT / "build/forms.md"
"""What `python -m scripts.corpus_table` prints, likewise."""
REFERENCE = ROOT / "build/metrics.md"
"""What `python -m scripts.metrics_reference` prints, likewise."""
_FENCE = re.compile(r"(^```.*?^```$)", re.M | re.S)
_LINK = re.compile(
    r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s#]+)(?P<anchor>#[^)\s]*)?\)"
)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Each version has a folder of its own."""
    found = re.search(
        r'__version__ = "(.+)"', (ROOT / "ecv_core/records/__init__.py").read_text("utf-8")
    )
    assert found is not None
    config.site_dir = str(Path(config.site_dir) / found[1])
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the documents outside docs/, and notebooks as pages."""
    for source, page in OUTSIDE.items():
        content = (ROOT / source).read_text("utf-8")
        files.append(File.generated(config, page, content=content))
    for path in sorted((ROOT / "docs/notebooks").glob("*.ipynb")):
        text, pictures = notebook_page(path)
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=text))
        for name, content in pictures.items():
            files.append(File.generated(config, f"notebooks/{name}", content=content))
    return files


def notebook_page(path: Path) -> tuple[str, dict[str, bytes]]:
    """A notebook with its outputs as Markdown, and its pictures by name."""
    parts: list[str] = []
    pictures: dict[str, bytes] = {}
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
        for output in cell.get("outputs", ()):
            if output["output_type"] == "stream":
                parts.append(f"```text\n{''.join(output['text']).rstrip()}\n```")
            else:
                name = f"{path.stem}-{len(pictures) + 1}.png"
                pictures[name] = base64.b64decode(output["data"]["image/png"])
                parts.append(f"![{output['metadata']['alt']}]({name})")
    parts.append(f"This page is the notebook [{path.name}]({path.name}); a test executes it.")
    return "\n\n".join(parts) + "\n", pictures


def public_names() -> str:
    """The public library for mkdocstrings, under the headings of its stub file."""
    parts = []
    for line in (ROOT / "ecv_core/__init__.pyi").read_text("utf-8").splitlines():
        heading = re.match(r"# (?!ruff)(.+)", line)
        name = re.match(r"from \.([\w.]+) import (\w+)", line)
        if heading:
            parts.append(f"\n## {heading[1]}\n")
        if name:
            parts.append(f"::: ecv_core.{name[1]}.{name[2]}")
    return "\n".join(parts)


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Formulas as MathML, links as the site has them; blocks of code stay as they are."""
    if page.file.src_uri == "api.md":
        markdown += public_names()
    if page.file.src_uri == "papers.md":
        markdown += PAPERS.read_text("utf-8")
    if page.file.src_uri == "your-data.md":
        markdown = markdown.replace("<!-- forms -->", FORMS.read_text("utf-8"))
    if page.file.src_uri == "metrics.md":
        markdown = markdown.replace("<!-- metrics -->", REFERENCE.read_text("utf-8"))
    source = next((s for s, p in OUTSIDE.items() if p == page.file.src_uri), None)
    folder = PurePosixPath(source or f"docs/{page.file.src_uri}").parent

    def link(found: re.Match[str]) -> str:
        target = found["target"]
        if re.match(r"\w+:", target) or page.file.src_uri.startswith("notebooks/"):
            return found[0]
        path = os.path.normpath(folder / target)
        inside = OUTSIDE.get(path) or (path[5:] if path.startswith("docs/") else None)
        if inside is None:
            return found["text"] if path in found["text"] else f"{found['text']} (`{path}`)"
        here = PurePosixPath(page.file.src_uri).parent
        to = os.path.relpath(inside, here)
        return f"{found['image']}[{found['text']}]({to}{found['anchor'] or ''})"

    def prose(text: str) -> str:
        text = re.sub(r"\$\$(.+?)\$\$", lambda m: convert(m[1], display="block"), text)
        return _LINK.sub(link, text)

    parts = _FENCE.split(markdown)
    return "".join(part if part.startswith("```") else prose(part) for part in parts)


def on_post_build(config: MkDocsConfig) -> None:
    """List the versions that are beside this one, the newest first."""
    home = Path(config.site_dir).parent
    names = [path.name for path in home.iterdir() if (path / "index.html").exists()]
    names.sort(key=lambda name: [int(number) for number in re.findall(r"\d+", name)], reverse=True)
    versions = [{"version": name, "title": name, "aliases": []} for name in names]
    (home / "versions.json").write_text(json.dumps(versions), "utf-8")
