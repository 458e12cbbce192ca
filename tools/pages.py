#!/usr/bin/env python3
"""Checks the links of all pages, and makes the source of the site (scripts/build-site.sh).

  tools/pages.py              every relative link of a .md file leads to a file, every anchor to a
                              heading, every page under docs/ is reached from docs/README.md and
                              says in its first paragraph what it is for. Needs no network.
  tools/pages.py --site DIR   copies the pages, and the files that they link to, to DIR

mkdocs reads it as a hook, so that its anchors are those of GitHub, which the check knows.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import unicodedata

ROOT = pathlib.Path(__file__).resolve().parent.parent
SKIPPED = ("build/", "runs/", "dist/", ".git/", "fuzz/corpus/", "simile/")  # simile/: texts of printed pages


def pages():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=ROOT, capture_output=True, text=True)
    names = listed.stdout.split("\n") if listed.returncode == 0 else [  # an unpacked source archive
        str(path.relative_to(ROOT)) for path in ROOT.rglob("*.md")]
    return sorted(name for name in names if name and not name.startswith(SKIPPED) and (ROOT / name).exists())


def prose(text):
    """The text without code blocks and comments."""
    text = re.sub(r"^( *)```.*?^\1```", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)


def slug(heading):
    """The anchor of a heading, as GitHub and mkdocs make it."""
    heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    kept = "".join(c for c in heading if c in " -_" or unicodedata.category(c)[0] in "LN")
    return kept.replace(" ", "-")


def on_config(config):
    config["mdx_configs"]["toc"] = dict(config["mdx_configs"].get("toc") or {}, slugify=lambda text, _: slug(text))
    return config


def anchors(text):
    seen = {}
    for heading in re.findall(r"^#{1,6} +(.*?) *#*$", prose(text), re.MULTILINE):
        name = slug(heading)
        count = seen[name] = seen.get(name, -1) + 1
        yield name if count == 0 else f"{name}-{count}"
    yield from re.findall(r'<a (?:id|name)="([^"]+)"', text)


def links(text):
    text = re.sub(r"``.*?``|`[^`\n]*`", "", prose(text), flags=re.DOTALL)
    for target in re.findall(r"\]\(\s*<?([^)\s>]+)>?[^)]*\)", text) + re.findall(r"^\[[^\]]+\]: *(\S+)", text, re.MULTILINE):
        if not re.match(r"[a-z]+:", target):
            yield target


def main():
    names, wrong, wanted, reached = pages(), [], set(), {}
    texts = {name: (ROOT / name).read_text() for name in names}
    marks = {name: set(anchors(text)) for name, text in texts.items()}
    for name, text in texts.items():
        reached[name] = set()
        for link in links(text):
            path, _, anchor = link.partition("#")
            target = (ROOT / name).parent / path if path else ROOT / name
            try:
                target = target.resolve().relative_to(ROOT)
            except ValueError:
                wrong.append(f"{name}: {link} leads out of the repository")
                continue
            if not (ROOT / target).exists():
                wrong.append(f"{name}: {link}: there is no {target}")
                continue
            if (ROOT / target).is_dir():
                target = target / "README.md"
                if str(target) not in texts:
                    wrong.append(f"{name}: {link} is a folder without README.md; link a file")
                    continue
            if anchor and anchor not in marks.get(str(target), {anchor} if target.suffix != ".md" else set()):
                wrong.append(f"{name}: {link}: {target} has no heading for #{anchor}")
            reached[name].add(str(target))
            wanted.add(str(target))
    found, waiting = {"docs/README.md"}, ["docs/README.md"]
    while waiting:
        for target in reached.get(waiting.pop(), set()) - found:
            found.add(target)
            waiting.append(target)
    for name in names:
        if name.startswith("docs/") and name not in found:
            wrong.append(f"{name}: no link from docs/README.md leads here")
        if not name.startswith("docs/results/tables/"):
            paragraphs = [part for part in prose(texts[name]).split("\n\n") if part.strip() and part.lstrip("-\n")[:1] not in ("#", "|")]
            if not texts[name].startswith(("# ", "---")):
                wrong.append(f"{name}: does not begin with a title")
            elif not paragraphs or re.search(r"^#{2,} ", texts[name].split(paragraphs[0].strip()[:40])[0], re.MULTILINE):
                wrong.append(f"{name}: no sentence below the title says what it is for")
    if len(sys.argv) == 3 and sys.argv[1] == "--site":
        folder = pathlib.Path(sys.argv[2])
        for name in set(names) | wanted:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    sys.exit("\n".join(wrong) if wrong else 0)


if __name__ == "__main__":
    main()
