import os
import platform
import shutil
from pathlib import Path

from bindbench import machine


def test_cores_are_those_that_this_process_may_use():
    assert 1 <= machine.cores() <= (os.cpu_count() or 1)


def test_the_processor_is_named(tmp_path, monkeypatch):
    assert machine.processor()
    file = tmp_path / "cpuinfo"
    file.write_text("processor\t: 0\nmodel name\t: Fast CPU @ 3 GHz\nmodel name\t: another\n")
    monkeypatch.setattr(machine, "CPUS", file)
    assert machine.processor() == "Fast CPU @ 3 GHz"
    file.write_text("Hardware\t: unknown\n")
    assert machine.processor() == (platform.processor() or platform.machine())


def test_memory_is_the_smaller_of_the_machine_and_its_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "CGROUP_LIMITS", ())
    whole = machine.memory()
    assert whole is not None
    kilobytes = Path("/proc/meminfo").read_text().split()[1]
    assert abs(whole - 1024 * int(kilobytes)) < 0.1 * whole
    limit, none = tmp_path / "limit", tmp_path / "none"
    limit.write_text("1000000\n")
    none.write_text("max\n")
    monkeypatch.setattr(machine, "CGROUP_LIMITS", (none, tmp_path / "missing"))
    assert machine.memory() == whole
    monkeypatch.setattr(machine, "CGROUP_LIMITS", (none, limit))
    assert machine.memory() == 1000000


def test_disk_of_a_folder_that_is_yet_to_be_made(tmp_path):
    there = shutil.disk_usage(tmp_path).free
    assert abs(machine.free_disk(tmp_path / "a/b/c") - there) < 1e9


def test_a_file_in_the_way_can_not_be_written_into(tmp_path):
    (tmp_path / "file").write_text("")
    assert machine.is_writable(tmp_path / "a/b")
    assert not machine.is_writable(tmp_path / "file/a")
    assert not machine.is_writable(Path("/dev/null/store"))
