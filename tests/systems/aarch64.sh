#!/bin/sh
# The laws and the contract on aarch64, emulated by qemu-user: slow, and nothing is installed on this machine.
#
#   tests/systems/aarch64.sh FOLDER [MINUTES]       # on Debian for x86-64; FOLDER keeps what was fetched (1 GB)
#
# Into FOLDER go qemu-user-static, Python of Debian for arm64 with its libraries, and the wheels of aarch64. Kernels are
# compiled for a CPU with registers of 128 bits (NEON). Threads are real, but x86 orders memory more strictly than ARM
# does: what a missing barrier would break is not seen here.
set -eu
place=$(mkdir -p "$1" && cd "$1" && pwd)
minutes=${2:-60}
tree=$(cd "$(dirname "$0")/../.." && pwd)
pip=${PIP:-"$tree/.venv/bin/pip"}

sources=/etc/apt/sources.list.d/debian.sources
[ -e "$sources" ] || sources=/etc/apt/sources.list
arm() {
    apt-get -o Dir::State="$place/apt" -o Dir::State::status="$place/apt/status" -o Dir::Cache="$place/cache" \
        -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=root \
        -o Dir::Etc::sourceparts=- -o Dir::Etc::sourcelist="$sources" -o APT::Install-Recommends=false "$@"
}
if [ ! -e "$place/root/usr/bin/python3" ]; then
    mkdir -p "$place/apt/lists/partial" "$place/cache/archives/partial" "$place/root" "$place/qemu"
    : > "$place/apt/status"
    arm -q update
    arm -q -y --download-only install python3-minimal libpython3-stdlib libc6 libstdc++6 libgomp1
    for package in "$place"/cache/archives/*.deb; do dpkg -x "$package" "$place/root"; done
    (cd "$place" && apt-get -q download qemu-user-static && dpkg -x qemu-user-static_*.deb qemu)
fi
python=$(cd "$place/root/usr/bin" && readlink -f python3)
version=$(basename "$python" | sed s/python//)
if [ ! -e "$place/site/numba" ]; then
    platforms=$(for glibc in 2_28 2_27 2_26 2_24 2_17; do echo "--platform manylinux_${glibc}_aarch64"; done)
    # shellcheck disable=SC2086
    "$pip" install -q --target "$place/site" $platforms --platform manylinux2014_aarch64 --python-version "$version" \
        --implementation cp --only-binary=:all: numpy numba scipy threadpoolctl xarray zarr typer rich matplotlib \
        h5netcdf h5py pytest hypothesis mpmath
    info=$place/site/tokenflock-0.1.0.dist-info
    mkdir -p "$info"
    printf 'Metadata-Version: 2.1\nName: tokenflock\nVersion: 0.1.0\n' > "$info/METADATA"
fi

cd "$tree"
export PYTHONPATH="$place/site:$tree/src" NUMBA_CACHE_DIR="$place/kernels" PYTHONDONTWRITEBYTECODE=1
export TOKENFLOCK_THREADS=2
emulated="nice -n 19 $place/qemu/usr/bin/qemu-aarch64-static -L $place/root $python"
$emulated -c 'import platform; print(platform.machine(), platform.python_version())'
# Exit code 124: the minutes were too few. What is compiled is kept in FOLDER, and the next call goes on from there.
timeout "${minutes}m" $emulated -m pytest -q -p no:cacheprovider -m "not slow" --durations=5 \
    tests/engine/test_laws.py tests/engine/test_contract.py \
    -k "test_laws or (cpu and (velocity or tsit5 or rk4 or Outcomes or paused or chunks or noise or float32))"
