"""A machine of plain files that has power limits: a package whose long-term limit is 125 W, and a card of 250 W."""
import time

LIMIT_S = 60
ZONE = "sys/class/powercap/intel-rapl:0"
LONG = f"{ZONE}/constraint_0_power_limit_uw"
SHORT = f"{ZONE}/constraint_1_power_limit_uw"
CARD = "sys/class/hwmon/hwmon0/power1_cap"
FILES = {
    f"{ZONE}/name": "package-0", f"{ZONE}/enabled": "1", f"{ZONE}/energy_uj": "1000000", f"{ZONE}/max_energy_range_uj": "262143328850",
    f"{ZONE}/constraint_0_name": "long_term", LONG: "125000000", f"{ZONE}/constraint_0_max_power_uw": "125000000",
    f"{ZONE}/constraint_0_time_window_us": "27983872", f"{ZONE}/constraint_1_name": "short_term", SHORT: "250000000",
    "sys/class/hwmon/hwmon0/name": "amdgpu", CARD: "250000000", f"{CARD}_min": "100000000", f"{CARD}_max": "300000000",
    f"{CARD}_default": "280000000",
}


def make_tree(root):
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    for name in ("proc", "sys/devices/system/cpu", "sys/fs/cgroup"):  # the rest of the machine is this one
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to("/" + name)
    return root


def value(tree, name):
    return int((tree / name).read_text())


def eventually(condition):
    """What another process does soon; a limit only so that a hang fails."""
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)
