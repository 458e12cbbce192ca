#!/usr/bin/env bash
# Starts the processes of `simile train` with other launchers: mpirun, torchrun, srun, and hand-set
# variables on two hosts (network namespaces of this machine, each with an address of its own). Each
# must train the very weights of `--processes 2`. Launchers that are not installed are reported as
# skipped.
#   tests/launchers.sh PROGRAM
# Packages: openmpi-bin; python3-torch; slurmctld slurmd slurm-client munge (as root); iproute2 (as root).
set -euo pipefail
program=$(realpath "$1")
work=$(mktemp -d)
cd "$work"
undo=() port=$((20000 + $$ % 10000))
clean() {
  local i
  for ((i = ${#undo[@]} - 1; i >= 0; --i)); do eval "${undo[$i]}" >/dev/null 2>&1 || true; done
  rm -rf "$work" || true
}
trap clean EXIT

{
  printf '[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n'
  seq -f 'w%g' 0 39
} >vocab.txt
awk 'BEGIN { print "sentence1\tsentence2\tscore"
  for (i = 0; i < 90; ++i) printf "w%d w%d\tw%d w%d\t%d\n", i * 7 % 40, i * 11 % 40, i * 7 % 40, i % 3 ? i * 13 % 37 : i * 11 % 40, i % 3 ? 1 : 5 }' >train.tsv
cat >recipe.yaml <<'END'
name: shared
architecture: {layers: 2, hidden: 32, heads: 2, intermediate: 64, positions: 16}
tokenizer: vocab.txt
max_length: 16
hidden_dropout: 0.1
stages:
  objectives: {data: {path: train.tsv, score_scale: 5}, loss: bsc, batch_size: 16}
  epochs: 2
  learning_rate: 1e-3
baselines: []
END

weights_of() { sha256sum "$1/model/model.safetensors" | cut -d ' ' -f 1; }
if ! "$program" train recipe.yaml --threads 1 --processes 2 --output own --quiet >/dev/null 2>own.log; then
  grep -q libgloo-dev own.log && echo "skipped: built without Gloo" && exit 77
  cat own.log
  exit 1
fi
expected=$(weights_of own)
failed=0 tried=0

# report NAME: compares the folder NAME, trained by NAME, with the one that `--processes` trained.
report() {
  tried=$((tried + 1))
  if [ -f "$1/model/model.safetensors" ] && [ "$(weights_of "$1")" = "$expected" ]; then
    echo "$1: the weights of --processes 2"
  else
    failed=1
    echo "$1: FAILED" && cat "$1.log"
  fi
}
# Ends a daemon by the file with its number, and waits until it is gone.
end_daemon() {
  local pid
  pid=$(cat "$1") && kill "$pid"
  timeout 10 tail --pid="$pid" -f /dev/null
}
train() { echo "train recipe.yaml --threads 1 --timeout 60 --output $1 --quiet"; }

# shellcheck disable=SC2046 # words of a command line
by_mpirun() {
  command -v mpirun >/dev/null || { echo "mpirun: skipped: not installed" && return; }
  timeout 180 mpirun --allow-run-as-root --oversubscribe -n 2 "$program" $(train mpirun) >mpirun.log 2>&1 || true
  report mpirun
}

# shellcheck disable=SC2046
by_torchrun() {
  /usr/bin/python3 -c 'import torch.distributed.run' 2>/dev/null || { echo "torchrun: skipped: no python3-torch" && return; }
  # PyTorch 1.13 with Python 3.11 reads its own defaults of these two wrongly.
  timeout 180 /usr/bin/python3 -m torch.distributed.run --nnodes 1 --nproc_per_node 2 --master_port $port --redirects 1 --tee 1 \
    --no_python "$program" $(train torchrun) >torchrun.log 2>&1 || true
  report torchrun
}

# Two hosts that see each other by one wire.
# shellcheck disable=SC2046
by_hand_on_two_hosts() {
  local a=simile-a-$$ b=simile-b-$$ host
  if [ "$(id -u)" -ne 0 ] || ! command -v ip >/dev/null || ! ip netns add $a 2>/dev/null; then
    echo "two-hosts: skipped: needs root, iproute2 and network namespaces" && return
  fi
  undo+=("ip netns del $a")
  ip netns add $b && undo+=("ip netns del $b")
  ip link add wire netns $a type veth peer name wire netns $b
  ip -n $a address add 10.77.0.1/24 dev wire && ip -n $b address add 10.77.0.2/24 dev wire
  for host in $a $b; do ip -n $host link set wire up && ip -n $host link set lo up; done
  local -a place=(env WORLD_SIZE=2 LOCAL_RANK=0 MASTER_ADDR=10.77.0.1 MASTER_PORT=29500)
  : >two-hosts.log
  timeout 180 ip netns exec $b "${place[@]}" RANK=1 "$program" $(train two-hosts) >>two-hosts.log 2>&1 &
  timeout 180 ip netns exec $a "${place[@]}" RANK=0 "$program" $(train two-hosts) >>two-hosts.log 2>&1 || true
  wait $! || true
  report two-hosts
}

# A cluster of this machine alone.
# shellcheck disable=SC2046
by_srun() {
  if [ "$(id -u)" -ne 0 ] || ! command -v srun >/dev/null || ! command -v slurmctld >/dev/null || ! command -v slurmd >/dev/null; then
    echo "srun: skipped: needs root, slurmctld, slurmd, slurm-client and munge" && return
  fi
  mkdir -p /run/munge && chown munge:munge /run/munge
  pgrep -x munged >/dev/null || { runuser -u munge -- munged && undo+=('end_daemon /run/munge/munged.pid'); }
  mkdir -p slurm/state slurm/spool
  cat >slurm/slurm.conf <<END
ClusterName=simile
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
StateSaveLocation=$work/slurm/state
SlurmdSpoolDir=$work/slurm/spool
SlurmctldPort=$port
SlurmdPort=$((port + 1))
SlurmctldPidFile=$work/slurm/slurmctld.pid
SlurmdPidFile=$work/slurm/slurmd.pid
SlurmctldLogFile=$work/slurm/slurmctld.log
SlurmdLogFile=$work/slurm/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
MpiDefault=none
ReturnToService=2
NodeName=$(hostname -s) NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
  export SLURM_CONF=$work/slurm/slurm.conf
  slurmctld && undo+=("end_daemon $work/slurm/slurmctld.pid")
  slurmd && undo+=("end_daemon $work/slurm/slurmd.pid")
  for _ in $(seq 60); do
    sinfo -h -o %t 2>/dev/null | grep -q idle && break
    sleep 0.5
  done
  timeout 120 srun --ntasks 2 --overcommit "$program" $(train srun) >srun.log 2>&1 || true
  report srun
}

by_mpirun
by_torchrun
by_hand_on_two_hosts
by_srun
if [ $tried -eq 0 ]; then exit 77; fi
exit $failed
