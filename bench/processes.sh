#!/usr/bin/env bash
# Training of a MiniLM-shaped model (6 layers of 384, 30,522 words, random weights) in one process
# of two threads and in two processes of one thread, turn by turn on the same made-up texts.
#   bench/processes.sh PROGRAM [ROUNDS] [BATCH] [STEPS]
# Prints for each run: pairs a second between the third step and the last, by the times in its
# TensorBoard events, and processor seconds for 1,000 pairs of the whole run, start included.
set -euo pipefail
program=$(realpath "$1") rounds=${2:-3} batch=${3:-64} steps=${4:-12}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
here=$(cd "$(dirname "$0")" && pwd)
cd "$folder"
python3 - <<'END'
import random
random.seed(1)
words = [f"w{i}" for i in range(30517)]
open("vocab.txt", "w").write("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + words) + "\n")
text = lambda: " ".join(words[int(len(words) * random.random() ** 3)] for _ in range(random.randint(8, 40)))
with open("train.tsv", "w") as file:
    file.write("sentence1\tsentence2\n")
    for _ in range(2000):
        file.write(f"{text()}\t{text()}\n")
END
cat >recipe.yaml <<END
name: speed
architecture: {layers: 6, hidden: 384, heads: 12, intermediate: 1536, positions: 64}
tokenizer: vocab.txt
max_length: 64
hidden_dropout: 0.1
attention_dropout: 0.1
stages:
  objectives: {data: train.tsv, loss: mnrl, batch_size: $batch}
  steps: $steps
  learning_rate: 1e-5
baselines: []
END
run() { # name, options
  local name=$1
  shift
  /usr/bin/env time -f "%U %S" -o "$name.time" "$program" train recipe.yaml --output "$name" --overwrite --quiet "$@" >/dev/null 2>"$name.err" ||
    { cat "$name.err" >&2; exit 1; }
  python3 "$here/step_rate.py" "$name" "$batch" "$steps" "$name.time"
}
for ((round = 1; round <= rounds; ++round)); do
  run one-of-two-threads --threads 2
  run two-of-one-thread --threads 1 --processes 2
done
