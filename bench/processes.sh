#!/usr/bin/env bash
# Training of a MiniLM-shaped model (6 layers of 384, 30,522 words, random weights) in one process
# of two threads and in two processes of one thread, turn by turn on the same made-up texts.
#   [MODEL=folder] bench/processes.sh PROGRAM [ROUNDS] [BATCH] [STEPS] [WIRE]
# MODEL: that model in place of the one made up.
# WIRE, such as 1gbit (as root): also two processes on two hosts, which are network namespaces of
# this machine with a wire of that rate between them.
# Prints for each run: pairs a second between the third step and the last, by the times in its
# TensorBoard events, and processor seconds for 1,000 pairs of the whole run, start included.
set -euo pipefail
model=${MODEL:+$(realpath "$MODEL")}
program=$(realpath "$1") rounds=${2:-3} batch=${3:-64} steps=${4:-12} wire=${5:-}
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
start="architecture: {layers: 6, hidden: 384, heads: 12, intermediate: 1536, positions: 64}
tokenizer: vocab.txt"
cat >recipe.yaml <<END
name: speed
${model:+model: $model}
$([ -n "$model" ] || echo "$start")
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
run_on_two_hosts() { # name; the processor seconds are of both
  local -a place=(env WORLD_SIZE=2 LOCAL_RANK=0 MASTER_ADDR=10.77.0.1 MASTER_PORT=29500)
  local -a line=("$program" train recipe.yaml --output "$1" --overwrite --quiet --threads 1 --timeout 60)
  /usr/bin/env time -f "%U %S" -o "$1.second" ip netns exec bench-b "${place[@]}" RANK=1 "${line[@]}" >/dev/null 2>"$1.second.err" &
  /usr/bin/env time -f "%U %S" -o "$1.time" ip netns exec bench-a "${place[@]}" RANK=0 "${line[@]}" >/dev/null 2>"$1.err" ||
    { cat "$1.err" >&2; exit 1; }
  wait $!
  cat "$1.second" >>"$1.time"
  python3 "$here/step_rate.py" "$1" "$batch" "$steps" "$1.time"
}
if [ -n "$wire" ]; then
  trap 'ip netns del bench-a || true; ip netns del bench-b || true; rm -rf "$folder"' EXIT
  ip netns add bench-a && ip netns add bench-b
  ip link add wire netns bench-a type veth peer name wire netns bench-b
  ip -n bench-a address add 10.77.0.1/24 dev wire && ip -n bench-b address add 10.77.0.2/24 dev wire
  for host in bench-a bench-b; do
    ip -n $host link set wire up && ip -n $host link set lo up
    tc -n $host qdisc add dev wire root tbf rate "$wire" burst 1mbit latency 50ms
  done
fi
for ((round = 1; round <= rounds; ++round)); do
  run one-of-two-threads --threads 2
  run two-of-one-thread --threads 1 --processes 2
  if [ -n "$wire" ]; then run_on_two_hosts two-hosts; fi
done
