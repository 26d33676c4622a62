"""Loads from several hosts: network namespaces with clocks of their own, and a Slurm of one node. Both need root; where something is
missing, the tests are skipped."""

import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import time
import unittest

from harness import BINARY, Case, environment, paretoken, run_json, simulated_server, started, totals_of

LOAD = ("--isl", "64", "--osl", "16", "--request-rate", "60", "--num-prompts", "120", "--seed", "3")
NETWORK = "10.79.0"


def runs(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=60, check=False)


@contextlib.contextmanager
def hosts(count):
    """Makes network namespaces that a bridge joins, and yields their names; the last address of the network is this machine's."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        raise unittest.SkipTest("network namespaces need root and the program ip (package iproute2)")
    names = [f"pt{os.getpid()}-{number}" for number in range(count)]
    bridge = f"ptb{os.getpid()}"
    try:
        commands = [["link", "add", bridge, "type", "bridge"], ["link", "set", bridge, "up"],
                    ["addr", "add", f"{NETWORK}.254/24", "dev", bridge]]
        for number, name in enumerate(names):
            commands += [["netns", "add", name],
                         ["link", "add", f"ptv{os.getpid()}{number}", "type", "veth", "peer", "name", "e0", "netns", name],
                         ["link", "set", f"ptv{os.getpid()}{number}", "master", bridge, "up"],
                         ["-n", name, "link", "set", "lo", "up"], ["-n", name, "link", "set", "e0", "up"],
                         ["-n", name, "addr", "add", f"{NETWORK}.{number + 1}/24", "dev", "e0"]]
        for command in commands:
            done = runs("ip", *command)
            if done.returncode != 0:
                raise unittest.SkipTest(f"no network namespaces here: ip {' '.join(command)}: {done.stderr.strip()}")
        yield names
    finally:
        for name in names:
            runs("ip", "netns", "del", name)
        runs("ip", "link", "del", bridge)


class Hosts(Case):
    def test_shards_on_hosts_whose_clocks_differ_begin_together(self):
        out = self.directory / "out"
        with hosts(2) as names, simulated_server("--profile", "llama3-8b-h100-bf16", "--host", "0.0.0.0") as server:
            address = f"http://{NETWORK}.254:{server.rsplit(':', 1)[1]}"
            other_clock = ["unshare", "--time", "--monotonic", "5000"]
            if runs("ip", "netns", "exec", names[1], *other_clock, "true").returncode != 0:
                self.skipTest("this kernel has no time namespaces, so that all hosts here have one clock")
            with contextlib.ExitStack() as stack:
                processes = [
                    stack.enter_context(started(
                        ["ip", "netns", "exec", name, *(other_clock if number else []), BINARY, "run", address, *LOAD, "--shard",
                         f"{number}/2", "--rendezvous", f"{NETWORK}.1:7000", "--out", out],
                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()))
                    for number, name in enumerate(names)]
                for process in processes:
                    _, err = process.communicate(timeout=60)
                    self.assertIn(process.returncode, (0, 4), err)
        run = run_json(out)
        self.assertEqual(run["counts"]["requests"], 120)
        self.assertEqual([shard["requests"] for shard in run["shards"]], [60, 60])
        self.assertLess(run["window"]["run_s"], 30, "the clocks of the hosts are 5,000 s apart")
        self.assertLess(run["shards"][1]["clock_error_s"], 0.1)

    def test_mpirun_starts_a_load_on_several_hosts(self):
        if shutil.which("mpirun") is None or not (BINARY.parent / "paretoken-mpi.so").exists():
            self.skipTest("no mpirun, or paretoken was built without MPI")
        with hosts(2) as names, simulated_server("--profile", "llama3-8b-h100-bf16", "--host", "0.0.0.0") as server:
            agent = self.directory / "agent"  # in place of ssh: the address of a host, and a command
            # Each host has a folder for temporary files of its own: two daemons that make the same folder at once both fail.
            agent.write_text("#!/bin/sh\ncase $1 in\n" + "".join(
                f"{NETWORK}.{number + 1}) host={name} ;;\n" for number, name in enumerate(names)) +
                f'esac\nshift\nexport TMPDIR="{self.directory}/$host"\nmkdir "$TMPDIR"\nexec ip netns exec "$host" sh -c "$*"\n')
            agent.chmod(0o755)
            done = subprocess.run(
                ["mpirun", "--allow-run-as-root", "--mca", "plm_rsh_agent", str(agent), "--mca", "btl", "tcp,self", "--mca",
                 "btl_tcp_if_include", f"{NETWORK}.0/24", "--mca", "oob_tcp_if_include", f"{NETWORK}.0/24", "-H",
                 f"{NETWORK}.1:2,{NETWORK}.2:2", "-n", "4", BINARY, "run",
                 f"http://{NETWORK}.254:{server.rsplit(':', 1)[1]}", *LOAD, "--out", self.directory / "out"],
                capture_output=True, text=True, timeout=120, env=environment(), check=False)
            self.measures(paretoken("run", server.replace("0.0.0.0", "127.0.0.1"), *LOAD, "--out", self.directory / "whole"))
        self.assertIn(done.returncode, (0, 4), done.stderr)
        self.assertEqual(totals_of(self.directory / "out"), totals_of(self.directory / "whole"))
        self.assertEqual([shard["requests"] for shard in run_json(self.directory / "out")["shards"]], [30] * 4)


class Slurm(Case):
    def setUp(self):
        super().setUp()
        for program in ("slurmctld", "slurmd", "munged", "srun"):
            if shutil.which(program) is None:
                self.skipTest(f"{program} is not installed (packages slurmctld, slurmd, slurm-client and munge)")
        if os.geteuid() != 0 or not pathlib.Path("/etc/munge/munge.key").exists():
            self.skipTest("Slurm needs root and a key of munge")
        self.daemons = contextlib.ExitStack()
        self.addCleanup(self.daemons.close)

    def cluster(self):
        """Starts a cluster of this machine and returns the environment of its commands."""
        base = self.directory / "slurm"
        for name in ("state", "spool"):
            (base / name).mkdir(parents=True)
        shutil.chown(base, "munge")
        self.directory.chmod(0o755)
        host = socket.gethostname()
        config = base / "slurm.conf"
        config.write_text(
            f"ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmUser=root\nSlurmdUser=root\nAuthType=auth/munge\n"
            f"AuthInfo=socket={base}/munge.sock\nStateSaveLocation={base}/state\nSlurmdSpoolDir={base}/spool\n"
            f"SlurmctldPidFile={base}/ctld.pid\nSlurmdPidFile={base}/slurmd.pid\nSlurmctldPort=26817\nSlurmdPort=26818\n"
            "ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nMpiDefault=none\nSelectType=select/cons_tres\n"
            "SelectTypeParameters=CR_Core\nReturnToService=2\nJobAcctGatherType=jobacct_gather/none\n"
            f"SlurmctldLogFile={base}/ctld.log\nSlurmdLogFile={base}/slurmd.log\n"
            f"NodeName={host} NodeAddr=127.0.0.1 CPUs={os.cpu_count()} RealMemory=1000 State=UNKNOWN\n"
            "PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:8\n")
        env = environment({"SLURM_CONF": str(config)})
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": env}
        self.daemons.enter_context(started(
            ["munged", "--foreground", f"--socket={base}/munge.sock", "--key-file=/etc/munge/munge.key", "--force",
             f"--pid-file={base}/munge.pid", f"--log-file={base}/munge.log", f"--seed-file={base}/munge.seed"], **quiet))
        self.daemons.enter_context(started(["slurmctld", "-D"], **quiet))
        self.daemons.enter_context(started(["slurmd", "-D"], **quiet))
        end = time.monotonic() + 30
        while time.monotonic() < end:
            if "idle" in subprocess.run(["sinfo", "-h"], capture_output=True, text=True, env=env, check=False).stdout:
                return env
            time.sleep(0.2)
        self.skipTest("the Slurm of this machine did not become ready")

    def test_srun_makes_one_run(self):
        env = self.cluster()
        with simulated_server("--profile", "llama3-8b-h100-bf16") as server:
            done = subprocess.run(
                ["srun", "-n", "4", "--overcommit", BINARY, "run", server, *LOAD, "--rendezvous", self.directory / "meeting",
                 "--out", self.directory / "out"],
                capture_output=True, text=True, timeout=120, env=env, check=False)
            self.measures(paretoken("run", server, *LOAD, "--out", self.directory / "whole"))
        self.assertIn(done.returncode, (0, 4), done.stderr)
        self.assertEqual(totals_of(self.directory / "out"), totals_of(self.directory / "whole"))
        self.assertEqual([shard["requests"] for shard in run_json(self.directory / "out")["shards"]], [30] * 4)
