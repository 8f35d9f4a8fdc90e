# A CMake toolchain: the C++ compiler in PyPI's ziglang, which builds for either processor and for an old glibc
# on one machine. tools/wheels.py sets the three variables.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR $ENV{ACUITY_WHEEL_PROCESSOR})  # x86_64 or aarch64
# It compiles its C++ library too, once for each kind of optimisation: -O3 makes CMake's tries the module's kind.
set(CMAKE_CXX_COMPILER $ENV{ACUITY_ZIG} c++ -O3 -target ${CMAKE_SYSTEM_PROCESSOR}-linux-gnu.$ENV{ACUITY_WHEEL_GLIBC})
set(CMAKE_CXX_ARCHIVE_CREATE "$ENV{ACUITY_ZIG} ar qcs <TARGET> <OBJECTS>")  # the machine's own knows one processor
set(CMAKE_CXX_ARCHIVE_FINISH "")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)

# It spells processors in its own way and has no -mtune.
set(ACUITY_OPTIONS_avx2 -march=x86_64_v3)
set(ACUITY_OPTIONS_avx2vnni -march=x86_64_v3 -mavxvnni)
set(ACUITY_OPTIONS_avx512 -march=x86_64_v4)
set(ACUITY_OPTIONS_avx512vnni -march=x86_64_v4 -mavx512vnni)
set(ACUITY_OPTIONS_neon_dotprod -mcpu=generic+dotprod)
