#!/usr/bin/env python3
"""Build the Tarnbridge sentence pairs from source/*.txt.

    python3 make.py           validate the sources and write the TSV files,
                              text.txt and the counts in README.md
    python3 make.py --check   do the same in memory and fail (exit status 1)
                              if a file in this folder differs

Only the standard library is used.  The split depends on nothing but SHA-256
of the first sentences, so every Python 3 gives the same files.
"""

import argparse
import collections
import hashlib
import itertools
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE / "source"

SECONDS_PER_GROUP = 5
MIN_PAIRS = {"train": 420, "dev": 90, "test": 90}
HELD_OUT_GROUPS = 2     # groups of each topic for dev, and as many again for test
WORDS = (2, 30)
PARAPHRASE_FROM = 4     # scores that make a pair a paraphrase
SAME_TOPIC_FROM = 2     # scores whose second sentence surely is of the file's topic
NEAR_DUPLICATE = 0.8    # shared words of two sentences that different splits may not reach
RELATIONS = {"e": "entailment", "n": "neutral", "c": "contradiction"}

COUNTS_BEGIN = "<!-- counts: written by make.py -->"
COUNTS_END = "<!-- end of counts -->"

Pair = collections.namedtuple("Pair", "second score relation")


class Group:
    def __init__(self, first, topic, place):
        self.first = first
        self.topic = topic
        self.place = place
        self.pairs = []

    def texts(self):
        return [self.first] + [pair.second for pair in self.pairs]

    def rank(self):
        return hashlib.sha256(("tarnbridge:" + self.first).encode()).digest()


def read_sources(problems):
    groups = []
    for path in sorted(SOURCE.glob("*.txt")):
        topic = re.sub(r"^[0-9]+-", "", path.stem)
        for number, line in enumerate(path.read_text("utf-8").split("\n"), 1):
            place = "%s:%d" % (path.name, number)
            match = re.fullmatch(r"([0-5])([enc]) (.*)", line)
            if line.startswith("= "):
                groups.append(Group(line[2:], topic, place))
            elif match and groups:
                groups[-1].pairs.append(Pair(match[3], int(match[1]), RELATIONS[match[2]]))
            elif line:
                problems.append("%s: not '= sentence' or '4n sentence'" % place)
    return groups


def normalised(text):
    """Lower case, punctuation dropped, runs of spaces made one."""
    return " ".join(re.sub(r"[^\w\s]", " ", text.lower()).split())


def check_groups(groups, problems):
    seen = {}
    for group in groups:
        if len(group.pairs) != SECONDS_PER_GROUP:
            problems.append("%s: %d second sentences, not %d"
                            % (group.place, len(group.pairs), SECONDS_PER_GROUP))
        for text in group.texts():
            if text != " ".join(text.split()) or '"' in text:
                problems.append("%s: spaces or a quote: %s" % (group.place, text))
            if not all(" " <= char <= "~" for char in text):
                problems.append("%s: not printable ASCII: %s" % (group.place, text))
            if not WORDS[0] <= len(text.split()) <= WORDS[1]:
                problems.append("%s: %d words: %s" % (group.place, len(text.split()), text))
            if normalised(text) in seen:
                problems.append("%s: also at %s: %s"
                                % (group.place, seen[normalised(text)], text))
            seen[normalised(text)] = group.place
        for pair in group.pairs:
            if pair.relation != "neutral" and pair.score < 3:
                problems.append("%s: %s with score %d: %s"
                                % (group.place, pair.relation, pair.score, pair.second))
            if pair.score == 5 and pair.relation != "entailment":
                problems.append("%s: score 5 is entailed: %s" % (group.place, pair.second))


def split(groups):
    """Returns {"train": groups, "dev": groups, "test": groups}, groups in the sources' order."""
    parts = {"train": [], "dev": [], "test": []}
    by_topic = collections.defaultdict(list)
    for group in groups:
        by_topic[group.topic].append(group)
    for own in by_topic.values():
        for position, group in enumerate(sorted(own, key=Group.rank)):
            name = ("dev" if position < HELD_OUT_GROUPS
                    else "test" if position < 2 * HELD_OUT_GROUPS else "train")
            parts[name].append(group)
    order = {id(group): number for number, group in enumerate(groups)}
    for part in parts.values():
        part.sort(key=lambda group: order[id(group)])
    return parts


def check_near_duplicates(parts, problems):
    words = {name: [(frozenset(normalised(text).split()), text)
                    for group in part for text in group.texts()]
             for name, part in parts.items()}
    for one, two in itertools.combinations(sorted(words), 2):
        for (left, text), (right, other) in itertools.product(words[one], words[two]):
            if len(left & right) >= NEAR_DUPLICATE * len(left | right):
                problems.append("%s and %s: %s / %s" % (one, two, text, other))


def table(header, rows):
    return "".join("\t".join(row) + "\n" for row in [header] + rows)


def pair_rows(groups):
    return [[group.first, pair.second, str(pair.score), str(int(pair.score >= PARAPHRASE_FROM)),
             pair.relation, group.topic] for group in groups for pair in group.pairs]


def topic_rows(groups):
    return [[text, group.topic] for group in groups for text in
            [group.first] + [pair.second for pair in group.pairs
                             if pair.score >= SAME_TOPIC_FROM]]


def build(groups, problems):
    """Returns ({file name: text}, counts block for the README)."""
    parts = split(groups)
    check_near_duplicates(parts, problems)
    files, lines = {}, ["| Part | Pairs | 5 | 4 | 3 | 2 | 1 | 0 | Paraphrases | Entailed | "
                        "Contradicted | Sentences with a topic |",
                        "| --- " + "| ---: " * 11 + "|"]
    for name, part in parts.items():
        rows, topics = pair_rows(part), topic_rows(part)
        if len(rows) < MIN_PAIRS[name]:
            problems.append("%s has %d pairs, fewer than %d" % (name, len(rows), MIN_PAIRS[name]))
        files[name + ".tsv"] = table(
            ["sentence1", "sentence2", "score", "paraphrase", "label", "topic"], rows)
        files["topics/%s.tsv" % name] = table(["sentence", "label"], topics)
        scores = [sum(row[2] == str(score) for row in rows) for score in range(5, -1, -1)]
        lines.append("| %s | %d | %s | %d | %d | %d | %d |" % (
            name, len(rows), " | ".join(map(str, scores)), sum(row[3] == "1" for row in rows),
            sum(row[4] == "entailment" for row in rows),
            sum(row[4] == "contradiction" for row in rows), len(topics)))
    files["text.txt"] = "".join(text + "\n" for group in parts["train"] for text in group.texts())
    lines += ["", "%d topics: %s. `text.txt` has %d lines." % (
        len({group.topic for group in groups}),
        ", ".join(sorted({group.topic for group in groups})), files["text.txt"].count("\n"))]
    return files, "\n".join(lines)


def readme_with(counts, problems):
    """README.md with its counts block replaced, or None."""
    before, begin, rest = (HERE / "README.md").read_text("utf-8").partition(COUNTS_BEGIN)
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
    groups = read_sources(problems)
    check_groups(groups, problems)
    files, counts = build(groups, problems)
    files["README.md"] = readme_with(counts, problems)
    if problems:
        print("\n".join(problems), file=sys.stderr)
        print("%d problem(s); nothing written" % len(problems), file=sys.stderr)
        return 1

    stale = []
    for name, text in sorted(files.items()):
        path = HERE / name
        if path.exists() and path.read_bytes() == text.encode("utf-8"):
            continue
        stale.append(name)
        if not options.check:
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(text.encode("utf-8"))
    stale += sorted(str(path.relative_to(HERE)) + " (not made by make.py)"
                    for path in HERE.rglob("*.tsv")
                    if str(path.relative_to(HERE)) not in files)
    print(counts)
    if options.check and stale:
        print("out of date: " + ", ".join(stale), file=sys.stderr)
        return 1
    print("all files up to date" if not stale else "written: " + ", ".join(stale))
    return 0


if __name__ == "__main__":
    sys.exit(main())
