# Toolchain: 64-bit ARM from any other machine, with Debian's cross compiler; programs run under qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)
# Programs (cmake, python) are the host's; libraries and headers are the target's or, header-only, the host's.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
