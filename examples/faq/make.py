#!/usr/bin/env python3
"""Build the Wrenmail question-answer data set from source/*.txt.

    python3 make.py           validate the sources and write the TSV files,
                              text.txt and the counts in README.md
    python3 make.py --check   do the same in memory and fail (exit status 1)
                              if a file in this folder differs

Only the standard library is used.  The split depends on nothing but SHA-256
of the entry and question ids, so every Python 3 gives the same files.
"""

import argparse
import hashlib
import itertools
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE / "source"

QUESTIONS_PER_ENTRY = 7
MIN_ENTRIES = 220
ANSWER_WORDS = (20, 60)
ANSWER_SENTENCES = (1, 3)
QUESTION_WORDS = (1, 40)
HELD_OUT_PERCENT = 12  # entries held out for dev, and as many again for test

COUNTS_BEGIN = "<!-- counts: written by make.py -->"
COUNTS_END = "<!-- end of counts -->"


class Entry:
    def __init__(self, ident, place):
        self.id = ident
        self.place = place
        self.answer = None
        self.questions = []

    def question_ids(self):
        return ["%s.%d" % (self.id, i + 1) for i in range(len(self.questions))]


def read_sources(problems):
    """Read every source file; returns the entries in file and line order."""
    entries = []
    for path in sorted(SOURCE.glob("*.txt")):
        try:
            text = path.read_bytes().decode("utf-8")
        except UnicodeDecodeError as error:
            problems.append("%s: not UTF-8 (%s)" % (path.name, error))
            continue
        if "\r" in text:
            problems.append("%s: carriage return" % path.name)
        prefix = re.sub(r"^[0-9]+-", "", path.stem) + "-"
        entry = None
        for number, line in enumerate(text.split("\n"), 1):
            place = "%s:%d" % (path.name, number)
            if not line:
                continue
            if line.startswith("# "):
                entry = Entry(line[2:], place)
                entries.append(entry)
                if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", entry.id):
                    problems.append("%s: bad id '%s'" % (place, entry.id))
                if not entry.id.startswith(prefix):
                    problems.append("%s: id '%s' must start with '%s'"
                                    % (place, entry.id, prefix))
            elif line.startswith("A: ") and entry is not None:
                if entry.answer is not None:
                    problems.append("%s: a second answer" % place)
                entry.answer = line[3:]
            elif line.startswith("Q: ") and entry is not None:
                entry.questions.append(line[3:])
            else:
                problems.append("%s: not '# id', 'A: text' or 'Q: text'" % place)
    return entries


def normalised(text):
    """Lower case, punctuation dropped, runs of spaces made one."""
    return " ".join(re.sub(r"[^\w\s]", " ", text.lower()).split())


def sentences(text):
    return len(re.findall(r"[.!?](?=\s+[A-Z0-9]|$)", text))


def check_field(text, place, problems):
    if text != " ".join(text.split()):
        problems.append("%s: tab, double space or space at an end" % place)
    if '"' in text:
        problems.append("%s: double quote" % place)
    if not all(" " <= char <= "~" for char in text):
        problems.append("%s: character that is not printable ASCII" % place)


def check_entries(entries, problems):
    if len(entries) < MIN_ENTRIES:
        problems.append("%d entries, fewer than %d" % (len(entries), MIN_ENTRIES))
    ids, texts = {}, {}
    for entry in entries:
        if entry.id in ids:
            problems.append("%s: id '%s' also at %s"
                            % (entry.place, entry.id, ids[entry.id]))
        ids[entry.id] = entry.place
        if len(entry.questions) != QUESTIONS_PER_ENTRY:
            problems.append("%s: %s has %d questions, not %d"
                            % (entry.place, entry.id, len(entry.questions),
                               QUESTIONS_PER_ENTRY))
        if entry.answer is None:
            problems.append("%s: %s has no answer" % (entry.place, entry.id))
            continue
        words, count = len(entry.answer.split()), sentences(entry.answer)
        if not ANSWER_WORDS[0] <= words <= ANSWER_WORDS[1]:
            problems.append("%s: answer of %s has %d words"
                            % (entry.place, entry.id, words))
        if not ANSWER_SENTENCES[0] <= count <= ANSWER_SENTENCES[1]:
            problems.append("%s: answer of %s has %d sentences"
                            % (entry.place, entry.id, count))
        for ident, text in ([(entry.id, entry.answer)]
                            + list(zip(entry.question_ids(), entry.questions))):
            check_field(text, ident, problems)
            key = normalised(text)
            if key in texts:
                problems.append("%s: same wording as %s: %s"
                                % (ident, texts[key], text))
            texts[key] = ident
        for ident, text in zip(entry.question_ids(), entry.questions):
            words = len(text.split())
            if not QUESTION_WORDS[0] <= words <= QUESTION_WORDS[1]:
                problems.append("%s: question of %d words" % (ident, words))


def rank(purpose, ident):
    return hashlib.sha256(("wrenmail:%s:%s" % (purpose, ident)).encode()).digest()


def split(entries):
    """Returns {question id: (split, seen or unseen)}."""
    held = (len(entries) * HELD_OUT_PERCENT + 50) // 100
    order = sorted(entries, key=lambda entry: rank("entry", entry.id))
    place = {}
    for index, entry in enumerate(order):
        idents = entry.question_ids()
        if index < held:
            place.update((ident, ("dev", "unseen")) for ident in idents)
        elif index < 2 * held:
            place.update((ident, ("test", "unseen")) for ident in idents)
        else:
            idents.sort(key=lambda ident: rank("wording", ident))
            place[idents[0]] = ("dev", "seen")
            place[idents[1]] = ("test", "seen")
            place.update((ident, ("train", "seen")) for ident in idents[2:])
    return place


def table(header, rows):
    return "".join("\t".join(row) + "\n" for row in [header] + rows)


def build(entries, problems):
    """Returns ({file name: text}, counts block for the README)."""
    entries = sorted(entries, key=lambda entry: entry.id)
    place = split(entries)
    asked = [(ident, text, entry) for entry in entries
             for ident, text in zip(entry.question_ids(), entry.questions)]

    def chosen(name, kind=None):
        return [(ident, text, entry) for ident, text, entry in asked
                if place[ident][0] == name and kind in (None, place[ident][1])]

    wordings = {name: {normalised(text) for _, text, _ in chosen(name)}
                for name in ("train", "dev", "test")}
    for one, two in itertools.combinations(sorted(wordings), 2):
        for text in sorted(wordings[one] & wordings[two]):
            problems.append("in both %s and %s: %s" % (one, two, text))

    files = {}
    files["corpus.tsv"] = table(
        ["id", "text"], [[entry.id, entry.answer] for entry in entries])
    files["queries.tsv"] = table(
        ["id", "text"], [[ident, text] for ident, text, _ in asked])

    def qrels(rows):
        return table(["query_id", "doc_id", "relevance"],
                     [[ident, entry.id, "1"] for ident, _, entry in rows])

    files["qrels.train.tsv"] = qrels(chosen("train"))
    for name in ("dev", "test"):
        files["qrels.%s.tsv" % name] = qrels(chosen(name))
        for kind in ("seen", "unseen"):
            files["qrels.%s.%s.tsv" % (name, kind)] = qrels(chosen(name, kind))

    files["train.pairs.tsv"] = table(
        ["question", "answer", "entry"],
        [[text, entry.answer, entry.id] for _, text, entry in chosen("train")])
    pairs = []
    for entry in entries:
        own = [text for _, text, owner in chosen("train") if owner is entry]
        pairs += [[one, two, entry.id]
                  for one, two in itertools.combinations(own, 2)]
    files["train.questions.tsv"] = table(["question1", "question2", "entry"], pairs)
    files["text.txt"] = "".join(
        text + "\n" for text in [text for _, text, _ in chosen("train")]
        + [entry.answer for entry in entries])

    def owners(name, kind):
        return len({entry.id for _, _, entry in chosen(name, kind)})

    lines = ["| Part | Entries | Questions |", "| --- | ---: | ---: |"]
    lines.append("| whole set | %d | %d |" % (len(entries), len(asked)))
    lines.append("| train | %d | %d |"
                 % (owners("train", None), len(chosen("train"))))
    for name in ("dev", "test"):
        for kind in ("seen", "unseen", None):
            lines.append("| %s, %s | %d | %d |"
                         % (name, kind or "both", owners(name, kind),
                            len(chosen(name, kind))))
    lines.append("")
    lines.append("`train.pairs.tsv` has %d pairs, `train.questions.tsv` %d pairs, "
                 "`text.txt` %d lines."
                 % (len(chosen("train")), len(pairs),
                    files["text.txt"].count("\n")))
    return files, "\n".join(lines)


def readme_with(counts, problems):
    """README.md with its counts block replaced, or None."""
    text = (HERE / "README.md").read_bytes().decode("utf-8")
    before, begin, rest = text.partition(COUNTS_BEGIN)
    _, end, after = rest.partition(COUNTS_END)
    if not begin or not end:
        problems.append("README.md: no counts block")
        return None
    return before + begin + "\n" + counts + "\n" + end + after


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true",
                        help="write nothing; fail if the files differ")
    options = parser.parse_args()

    problems = []
    entries = read_sources(problems)
    check_entries(entries, problems)
    files, counts = {}, ""
    if not problems:
        files, counts = build(entries, problems)
        files["README.md"] = readme_with(counts, problems)
    if problems:
        for problem in problems:
            print(problem, file=sys.stderr)
        print("%d problem(s) in %d entries; nothing written"
              % (len(problems), len(entries)), file=sys.stderr)
        return 1

    stale = []
    for name, text in sorted(files.items()):
        path = HERE / name
        data = text.encode("utf-8")
        if not path.exists() or path.read_bytes() != data:
            stale.append(name)
            if not options.check:
                path.write_bytes(data)
    known = set(files)
    stale += sorted(path.name + " (not made by make.py)"
                    for path in HERE.glob("*.tsv") if path.name not in known)
    print(counts)
    if options.check and stale:
        print("out of date: " + ", ".join(stale), file=sys.stderr)
        return 1
    print("all files up to date" if not stale
          else "written: " + ", ".join(stale))
    return 0


if __name__ == "__main__":
    sys.exit(main())
