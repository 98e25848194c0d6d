#!/bin/bash
# A Slurm of one node, this machine, for as long as a command runs:
#
#     sudo apt-get install slurm-wlm munge
#     sudo tests/sweeps/slurm_here.sh .venv/bin/pytest tests/sweeps/test_slurm.py
#
# Everything it needs lies in a temporary folder, on ports that nobody has; a Slurm that is here already is not touched.
set -eu

if [ $# -eq 0 ]; then
    echo "usage: $0 COMMAND [WORD ...]    the command finds a Slurm of one node" >&2
    exit 2
fi
if [ "$(id -u)" != 0 ]; then
    echo "$0: jobs are started by root, this is $(id -un). Give it to sudo." >&2
    exit 1
fi
for name in munged slurmctld slurmd sbatch; do
    if ! command -v $name >/dev/null; then
        echo "$0: there is no $name here. On Debian: apt-get install slurm-wlm munge" >&2
        exit 1
    fi
done

here=$(mktemp -d /tmp/slurm-here-XXXXXX)
chmod 755 "$here" # munged trusts no folder that others can write
export SLURM_CONF=$here/slurm.conf
mkdir "$here/control" "$here/node"
port=$((20000 + RANDOM % 10000))

cat >"$SLURM_CONF" <<END
ClusterName=here
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$here/munge.socket
CredType=cred/munge
StateSaveLocation=$here/control
SlurmdSpoolDir=$here/node
SlurmctldPidFile=$here/slurmctld.pid
SlurmdPidFile=$here/slurmd.pid
SlurmctldLogFile=$here/slurmctld.log
SlurmdLogFile=$here/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0
ReturnToService=2
KillWait=5
MinJobAge=60
NodeName=$(hostname -s) NodeAddr=127.0.0.1 CPUs=$(nproc) RealMemory=$(free -m | awk '/^Mem/ {print int(0.9 * $2)}')
PartitionName=debug Nodes=ALL Default=YES MaxTime=60 State=UP
END

stop() {
    scancel --me 2>/dev/null || true
    for name in slurmctld slurmd munged; do
        if [ -f "$here/$name.pid" ]; then
            kill "$(cat "$here/$name.pid")" 2>/dev/null || true
        fi
    done
    for _ in $(seq 100); do # their files say when they have ended
        if [ ! -f "$here/slurmctld.pid" ] && [ ! -f "$here/slurmd.pid" ]; then break; fi
        sleep 0.1
    done
    rm -rf "$here"
}
trap stop EXIT

head -c 128 /dev/urandom >"$here/munge.key"
chmod 600 "$here/munge.key"
munged --key-file="$here/munge.key" --socket="$here/munge.socket" --pid-file="$here/munged.pid" \
    --log-file="$here/munged.log" --seed-file="$here/munge.seed"
slurmctld
slurmd
for _ in $(seq 100); do
    if [ "$(sinfo --noheader --format=%t 2>/dev/null)" = idle ]; then
        trap : INT # Ctrl-C is for the command
        "$@"
        exit
    fi
    sleep 0.2
done
echo "$0: the node does not come up:" >&2
tail -n 5 "$here"/*.log >&2
exit 1
