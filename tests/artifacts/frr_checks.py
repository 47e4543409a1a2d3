"""FRR's own checks of a configuration, for tests: skipped where FRR is not installed, and failing in CI."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

DAEMONS = ("zebra", "bgpd", "bfdd")


def need_frr() -> None:
    """Skips what needs FRR and root where they lack."""
    if os.geteuid() == 0 and shutil.which("vtysh") and all(Path(f"/usr/lib/frr/{each}").exists() for each in DAEMONS):
        return
    if os.environ.get("CI"):
        pytest.fail("CI must check configurations with FRR, as root: apt-get install frr")
    pytest.skip("FRR is not installed, or this is not root")


def complaints(text: str) -> list[str]:
    """What FRR has against a frr.conf: lines that vtysh does not know, and those that a daemon knows and refuses."""
    # Daemons leave folders in /var/tmp, here in one that ends with them; and they read files as a user of their own.
    checks = ["mount -t tmpfs none /var/tmp", "cat >/var/tmp/frr.conf", "vtysh -C -f /var/tmp/frr.conf"]
    checks += [f"/usr/lib/frr/{daemon} -C -f /var/tmp/frr.conf 2>&1" for daemon in DAEMONS]
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-e", "-c", "\n".join(checks)],
        input=text,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    # A daemon reads the lines of others too and says that it does not know them; vtysh knows all.
    harmless = ("No such command on config line", "Disabling MPLS support")
    said = [line for line in (done.stdout + done.stderr).splitlines() if not any(each in line for each in harmless)]
    return said if done.returncode == 0 else [*said, f"exit code {done.returncode}"]
