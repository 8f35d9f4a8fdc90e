"""The functions of NVIDIA's driver, on a library that has their names and does what the test expects."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import pytest

from acuity.devices.cuda.hardware.driver import DriverError, LoadedDriver
from emulated_card import COMPILER, needs_compiler

_SOURCE = r"""
#include <cstddef>
#include <cstdint>
#include <cstring>
static void* current = nullptr;
extern "C" {
int cuInit(unsigned flags) { return flags ? 1 : 0; }
int cuDeviceGet(int* device, int number) { *device = number + 40; return number < 2 ? 0 : 101; }
int cuDevicePrimaryCtxRetain(void** context, int device) {
    current = *context = (void*)(uintptr_t)device;
    return 0;
}
int cuCtxGetCurrent(void** context) { *context = current; return 0; }
int cuCtxSetCurrent(void* context) { current = context; return 0; }
int cuModuleLoadData(void** module, const void* code) {
    *module = (void*)0x7fffdeadbeef0000;
    return std::memcmp(code, "cubin\0code", 10) ? 200 : 0;
}
int cuModuleGetFunction(void** function, void* module, const char* name) {
    *function = (void*)((uintptr_t)module + std::strlen(name));
    return 0;
}
int cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void* stream, void** parameters, void** extra) {
    uint64_t* into = (uint64_t*)parameters[0];
    const uint64_t found[] = {(uint64_t)function, gx,     gy, gz, bx, by, bz, shared,
                              (uint64_t)stream,   (uint64_t)extra};
    std::memcpy(into, found, sizeof found);
    return gx > 5 ? 700 : 0;
}
int cuGetErrorName(int status, const char** told) { *told = "CUDA_ERROR_SOME"; return status == 999 ? 1 : 0; }
int cuGetErrorString(int status, const char** told) { *told = "some words"; return status == 999 ? 1 : 0; }
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("driver")
    (folder / "driver.cpp").write_text(_SOURCE)
    assert COMPILER is not None
    built = folder / "libdriver.so"
    subprocess.run(
        [COMPILER, "-shared", "-fPIC", "-w", "-o", str(built), str(folder / "driver.cpp")], check=True
    )
    return str(built)


@needs_compiler
def test_contexts_and_modules(library: str) -> None:
    driver = LoadedDriver(library)
    assert driver.ctxGetCurrent() == 0
    assert driver.start(1) == 41
    assert driver.ctxGetCurrent() == 41
    driver.ctxSetCurrent(7)
    assert driver.ctxGetCurrent() == 7
    driver.ctxSetCurrent(0)
    assert driver.ctxGetCurrent() == 0
    module = driver.moduleLoadData(b"cubin\0code")
    assert module == 0x7FFFDEADBEEF0000
    assert driver.moduleGetFunction(module, "name") == module + 4


@needs_compiler
def test_launches(library: str) -> None:
    driver = LoadedDriver(library)
    written = (ctypes.c_uint64 * 10)()
    parameters = (ctypes.c_uint64 * 1)(ctypes.addressof(written))
    function, stream = 0x7FFF00000001, 0x7FFF00000002
    driver.launchKernel(function, 5, 6, 7, 8, 9, 10, 11, stream, ctypes.addressof(parameters), 0)
    assert list(written) == [function, 5, 6, 7, 8, 9, 10, 11, stream, 0]
    with pytest.raises(DriverError, match=r"^CUDA_ERROR_SOME: some words$") as caught:
        driver.launchKernel(function, 6, 1, 1, 1, 1, 1, 0, stream, ctypes.addressof(parameters), 0)
    assert caught.value.status == 700


@needs_compiler
def test_failures_have_their_number(library: str) -> None:
    driver = LoadedDriver(library)
    failing = (
        (lambda: driver.start(2), 101),
        (lambda: driver.moduleLoadData(b"x" * 16), 200),
    )
    for call, status in failing:
        with pytest.raises(DriverError, match="some words") as caught:
            call()
        assert caught.value.status == status


def test_a_library_that_is_not_there(tmp_path: Path) -> None:
    driver = LoadedDriver(str(tmp_path / "libcuda.so.1"))  # nothing is loaded yet
    with pytest.raises(DriverError, match="can't be loaded") as caught:
        driver.ctxGetCurrent()
    assert caught.value.status == 35
