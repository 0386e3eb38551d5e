"""Devices: memory as drivers report it, names people type, the range of other needs."""

from dataclasses import FrozenInstanceError

import pytest

from calculator.budget import default_overhead
from calculator.devices import BASIS, devices, load_device
from calculator.errors import InvalidInput
from calculator.units import GIB, MIB

# MiB that nvidia-smi prints as the total (strings seen in public repositories)
DRIVER_MIB = {
    "t4-16gb": 15_360,
    "a10g-24gb": 23_028,
    "l40s-48gb": 46_068,
    "rtx-4090-24gb": 24_564,
    "rtx-5090-32gb": 32_607,
    "h100-sxm-80gb": 81_559,
    "h100-pcie-80gb": 81_559,
    "h100-nvl-94gb": 95_830,
    "a100-sxm-80gb": 81_920,
    "a100-sxm-40gb": 40_960,
    "h200-sxm-141gb": 143_771,
    "b200-sxm-180gb": 183_359,
    "b300-sxm-288gb": 275_040,
}
# hundredths of a GiB that CUDA showed to a program, the lowest in public vLLM start-up logs
VISIBLE_GIB = {
    "t4-16gb": 1456,
    "v100-pcie-32gb": 3174,
    "rtx-4090-24gb": 2352,
    "rtx-5090-32gb": 3137,
    "a100-sxm-40gb": 3939,
    "l40s-48gb": 4442,
    "a100-pcie-80gb": 7915,
    "h100-sxm-80gb": 7918,
    "h200-sxm-141gb": 13980,
    "b300-sxm-288gb": 26769,
}
# datasheets: GB/s, dense bf16 TFLOP/s
SPEED = {
    "h100-sxm-80gb": (3350, 989),
    "h200-sxm-141gb": (4800, 989),
    "a100-sxm-80gb": (2039, 312),
    "l4-24gb": (300, 121),
    "mi355x-288gb": (8000, 2500),
}
TYPED = {
    "h100": "h100-sxm-80gb",
    "H100 80 GB": "h100-sxm-80gb",
    "h100-pcie": "h100-pcie-80gb",
    "a100-80gb": "a100-sxm-80gb",
    "a100-40gb": "a100-sxm-40gb",
    "4090": "rtx-4090-24gb",
    "RTX 4090": "rtx-4090-24gb",
    "RTX 4090 24 GB": "rtx-4090-24gb",
    "mi300x": "mi300x-192gb",
    "M3 Ultra 512GB": "m3-ultra-512gb",
    "dgx spark": "dgx-spark-128gb",
}


@pytest.mark.parametrize(("device", "mib"), DRIVER_MIB.items())
def test_memory_is_what_the_driver_reports(device, mib):
    assert load_device(device).memory_bytes == mib * MIB


@pytest.mark.parametrize(("device", "hundredths"), VISIBLE_GIB.items())
def test_usable_memory_is_the_lowest_total_seen_in_logs(device, hundredths):
    assert load_device(device).usable_bytes == hundredths * GIB // 100


@pytest.mark.parametrize(("device", "speed"), SPEED.items())
def test_speeds_are_whole_numbers_per_second(device, speed):
    found = load_device(device)
    assert found.memory_bandwidth_bytes_per_s == speed[0] * 10**9
    assert found.bf16_flops == speed[1] * 10**12


def test_at_least_fifty_devices_with_distinct_ids():
    assert len({device.id for device in devices()}) == len(devices()) >= 50


@pytest.mark.parametrize("device", devices(), ids=lambda d: d.id)
def test_every_device_has_a_source_a_date_and_says_what_its_memory_is(device):
    assert device.source
    assert len(device.checked) == len("2026-11-29")
    assert device.memory_basis in BASIS
    assert device.id.endswith(device.name.split()[-2] + "gb")


@pytest.mark.parametrize("device", devices(), ids=lambda d: d.id)
def test_numbers_are_integers(device):
    numbers = [v for v in device.to_dict().values() if isinstance(v, int | float)]
    assert numbers
    assert all(type(number) is int for number in numbers)


@pytest.mark.parametrize("device", devices(), ids=lambda d: d.id)
def test_programs_see_no_more_than_the_driver_counts(device):
    if device.memory_basis == "nominal" or device.visible_bytes is None:
        assert device.usable_bytes  # a vendor's name is no bound: DGX Spark shows more than 128 GB
    else:
        assert device.memory_bytes * 97 <= device.visible_bytes * 100
        assert device.visible_bytes < device.memory_bytes


def test_a_figure_from_the_vendor_is_marked():
    assert load_device("mi325x").memory_note == "memory from the vendor's name, not the driver"
    assert load_device("h100").memory_note == ""
    assert load_device("64 GB").memory_note == ""


def test_a_total_seen_in_logs_stands_for_the_vendors_figure():
    assert load_device("dgx-spark").memory_basis == "nominal"
    assert load_device("dgx-spark").memory_note == ""
    assert load_device("h100").usable_basis.startswith("79.18–79.22 GiB as CUDA reports it")


def test_shared_memory_says_what_bounds_it():
    # github.com/ggml-org/llama.cpp/discussions/2182: macOS's default limit
    assert "macOS lends the GPU about three quarters" in load_device("m3-ultra").usable_basis
    assert "macOS lends the GPU about two thirds" in load_device("m1-max-32gb").usable_basis


@pytest.mark.parametrize(("typed", "expected"), TYPED.items())
def test_devices_are_found_by_what_people_type(typed, expected):
    assert load_device(typed).id == expected


@pytest.mark.parametrize(
    ("typed", "device_id", "name", "num_bytes"),
    [
        ("64 GB", "64gb", "a device with 64 GB", 64_000_000_000),
        ("80GiB", "80gib", "a device with 80 GiB", 85_899_345_920),
        ("37.25 gib", "37.25gib", "a device with 37.25 GiB", 39_996_882_944),
        ("1,024 MiB", "1024mib", "a device with 1024 MiB", 1_073_741_824),
        ("2tb", "2tb", "a device with 2 TB", 2_000_000_000_000),
    ],
)
def test_a_typed_memory_means_what_it_says(typed, device_id, name, num_bytes):
    found = load_device(typed)
    assert (found.id, found.name, found.memory_bytes) == (device_id, name, num_bytes)
    assert found.memory_basis == "typed by the user"
    assert load_device(found.id) == found


@pytest.mark.parametrize(
    "typed",
    ["", "64", "gtx-9999", "-5 GB", "0 GB", "nan", "1e30 GB", "9" * 60 + "GB", "h100\0", 80, None],
)
def test_anything_else_is_refused_naming_the_field(typed):
    with pytest.raises(InvalidInput, match=r"^device is ") as error:
        load_device(typed)
    assert error.value.field == "device"
    assert len(str(error.value)) < 200


def test_a_misspelt_device_is_answered_with_the_nearest():
    with pytest.raises(InvalidInput, match="did you mean h100-sxm-80gb"):
        load_device("h10-sxm-80gb")


def test_devices_are_frozen():
    with pytest.raises(FrozenInstanceError):
        load_device("h100").memory_bytes = 1


@pytest.mark.parametrize(
    ("usable", "low", "high"),  # GiB: p5 to p95 of 120 public vLLM start-up logs, by card size
    [(14.56, 0.4, 2.1), (24.5, 0.4, 2.1), (31.4, 1.4, 4.2), (60, 1.4, 4.2), (79.18, 1.1, 7.5),
     (100, 1.1, 7.5), (139.8, 1.0, 7.9)],
)  # fmt: skip
def test_other_needs_are_a_range_that_grows_with_the_device(usable, low, high):
    found = default_overhead(int(usable * GIB))
    assert found[:2] == (int(low * GIB), int(high * GIB))
    assert found[2].startswith("an estimate, ")
