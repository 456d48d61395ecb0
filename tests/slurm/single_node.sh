#!/usr/bin/env bash
# A SLURM of one node on this machine, for the tests: no systemd, no database, no cgroups.
#
#   tests/slurm/single_node.sh start     install what is missing, start, wait until a job runs
#   tests/slurm/single_node.sh stop      end its jobs and daemons
#   tests/slurm/single_node.sh status    the daemons, the node, the queue
#
# Exit status: 0 done; 1 a daemon does not start or is not up (its log is shown); 2 wrong usage;
# 3 SLURM cannot be had on this machine, with the reason in one line.
set -euo pipefail

# Snakemake's job-step plugin drops SLURM_CONF, so only the built-in place is read by every command.
readonly CONF=/etc/slurm/slurm.conf
readonly MARK="# Written by tests/slurm/single_node.sh."
readonly HOME_DIR=${REPLIBO_SLURM_DIR:-/tmp/replibo-slurm}
readonly SOCKET=$HOME_DIR/munge.socket
unset SLURM_CONF

cannot() {
  echo "no SLURM on this machine: $*" >&2
  exit 3
}

failed() {
  echo "SLURM: $*" >&2
  tail -n 20 "$HOME_DIR"/*.log >&2 2>/dev/null || true
  exit 1
}

installed() {
  local program
  for program in slurmctld slurmd srun munged; do
    command -v "$program" >/dev/null || return 1
  done
}

# The process of a daemon that this script started, or nothing.
process_of() {
  local file=$HOME_DIR/$1.pid
  # not one that has ended and that nobody has asked for its status yet (Z)
  [ -s "$file" ] && [[ "$(cat "/proc/$(cat "$file")/stat" 2>/dev/null)" =~ \($1\)\ [^Z] ]] && cat "$file"
}

# Ask ten times a second until a command succeeds; for an hour at most, against hanging.
wait_for() {
  local end=$((SECONDS + 3600))
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < end)) || return 1
    sleep 0.1
  done
}

node_is_up() { sinfo --noheader --partition main --format %T | grep -qxE 'idle|mixed|allocated'; }
node_is_up_or_lost() { node_is_up || has_ended slurmctld || has_ended slurmd; }
has_ended() { [ -z "$(process_of "$1")" ]; }

install_packages() {
  [ "$(id -u)" = 0 ] || cannot "slurmctld, slurmd and munged run as root here, and this is $(id -un)"
  installed && return
  command -v apt-get >/dev/null || cannot "slurm-wlm and munge are not installed, and there is no apt-get"
  local log
  log=$(mktemp)
  if ! { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes \
    --no-install-recommends slurm-wlm munge; } >"$log" 2>&1; then
    cannot "apt-get cannot install slurm-wlm and munge ($(tail -n 1 "$log"))"
  fi
  rm -f "$log"
}

write_configuration() {
  # A configuration that somebody else wrote may belong to a cluster with people on it.
  if [ -e "$CONF" ] && ! grep -qF "$MARK" "$CONF"; then
    if timeout 20 scontrol ping | grep -q "is UP"; then
      cannot "it belongs to a cluster already ($CONF), which is left alone"
    fi
    mv "$CONF" "$CONF.before" # until stop
  fi
  local host cpus memory
  host=$(hostname -s)
  # Without --all, nproc obeys OMP_NUM_THREADS. One CPU more than there is, for a job that a test holds up.
  cpus=$(($(nproc --all) + 1))
  memory=$(($(sed -n 's/^MemTotal: *\([0-9]*\) kB/\1/p' /proc/meminfo) / 1024))
  mkdir -p "$(dirname "$CONF")" "$HOME_DIR"/{state,spool}
  cat >"$CONF" <<CONFIGURATION
$MARK
ClusterName=replibo
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$SOCKET
# ports of its own, beside those of a real cluster
SlurmctldPort=16917
SlurmdPort=16918
SlurmctldPidFile=$HOME_DIR/slurmctld.pid
SlurmdPidFile=$HOME_DIR/slurmd.pid
SlurmctldLogFile=$HOME_DIR/slurmctld.log
SlurmdLogFile=$HOME_DIR/slurmd.log
StateSaveLocation=$HOME_DIR/state
SlurmdSpoolDir=$HOME_DIR/spool
# processes are found by their parents, for there are no cgroups
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
AccountingStorageType=accounting_storage/none
# a job that takes more memory than it asked for is killed, as cgroups would do it
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
# what ended when and how, in place of sacct
JobCompType=jobcomp/filetxt
JobCompLoc=$HOME_DIR/jobs.txt
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
# jobs of seconds must not wait for the half minute between two scheduling rounds
SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=2
# a request that no node can meet is an error, not a job that waits for ever
EnforcePartLimits=ALL
ReturnToService=2
# a job over its time limit gets SIGTERM, and five seconds later SIGKILL
OverTimeLimit=0
KillWait=5
MinJobAge=600
SlurmdParameters=config_overrides
NodeName=$host NodeAddr=127.0.0.1 CPUs=$cpus RealMemory=$memory State=UNKNOWN
PartitionName=main Nodes=$host Default=YES MaxTime=INFINITE State=UP
# its jobs go before those of the other
PartitionName=urgent Nodes=$host PriorityTier=10 MaxTime=INFINITE State=UP
CONFIGURATION
}

start() {
  install_packages
  write_configuration
  # Our own key, socket and process: a munge of the machine is left alone.
  chmod 755 "$HOME_DIR"
  # A daemon that kept our output open would make whoever reads it wait for ever.
  local output=$HOME_DIR/start.log
  if [ ! -s "$HOME_DIR/munge.key" ]; then
    (umask 077 && head -c 1024 /dev/urandom >"$HOME_DIR/munge.key")
  fi
  if has_ended munged; then
    munged --force --key-file="$HOME_DIR/munge.key" --socket="$SOCKET" \
      --pid-file="$HOME_DIR/munged.pid" --log-file="$HOME_DIR/munged.log" \
      --seed-file="$HOME_DIR/munged.seed" >"$output" 2>&1 || failed "munged does not start"
  fi
  local daemon
  for daemon in slurmctld slurmd; do
    has_ended "$daemon" || continue
    "$daemon" >"$output" 2>&1 </dev/null || failed "$daemon does not start"
  done
  wait_for node_is_up_or_lost || true
  node_is_up || failed "the node does not come up"
  srun --partition=urgent --ntasks=1 --mem=10 --time=1 true || failed "a job of one line does not run"
  sinfo
}

stop() {
  local daemon
  has_ended slurmctld || scancel --user=root 2>/dev/null || true
  has_ended slurmctld || wait_for no_jobs || true
  for daemon in slurmd slurmctld munged; do
    has_ended "$daemon" && continue
    kill "$(process_of "$daemon")"
    wait_for has_ended "$daemon" || failed "$daemon does not end"
  done
  if grep -qsF "$MARK" "$CONF"; then rm "$CONF"; fi
  if [ -e "$CONF.before" ]; then mv "$CONF.before" "$CONF"; fi
  rm -rf "${HOME_DIR:?}"/{state,spool}
}

no_jobs() { [ -z "$(squeue --noheader --states=running,completing)" ]; }

status() {
  local daemon down=0
  for daemon in munged slurmctld slurmd; do
    if has_ended "$daemon"; then
      echo "$daemon is down"
      down=1
    else
      echo "$daemon is up"
    fi
  done
  [ "$down" = 0 ] || exit 1
  sinfo
  squeue
}

case ${1:-} in
start | stop | status) "$1" ;;
*)
  echo "usage: $0 start|stop|status" >&2
  exit 2
  ;;
esac
