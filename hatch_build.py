"""Compile the scoring kernel while the package is built. Without a compiler, the kernel stays plain Python."""

from __future__ import annotations

import os
import platform
import shutil
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCE = Path("src/corepath/scoring/kernel.py")
MODULE = "corepath.scoring.kernel"
OLDEST = ("0x030B0000", "cp311")
"""The oldest Python for which the compiled kernel works, as C and as wheels name it. It works for all later ones."""
DIRECTIVES = {
    "language_level": 3, "boundscheck": False, "wraparound": False, "initializedcheck": False, "cdivision": True,
}  # fmt: skip
"""C rounds toward zero and Python down, so that the kernel divides only where both give the same result."""
FLAGS = ["-O3", "-g0", "-ffp-contract=off", "-finline-limit=20000", "-fno-tree-vectorize"]
"""No multiplication and addition in one step: compiled or not, the same bits. Arrays are passed by value, which costs
more than a small episode does unless functions are inlined. Its loops are too short for vectors."""
COUNT_BITS = ["-mpopcnt"] if platform.machine() in ("x86_64", "AMD64") else []
"""Bits are counted in one instruction, which x86 processors have had since 2008."""


class CompiledKernel(BuildHookInterface[Any]):
    """Adds the compiled kernel to a wheel, or puts it beside its source in an editable installation."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the kernel. If that fails, say so and go on without it. `COREPATH_KERNEL=python` asks for that."""
        if self.target_name != "wheel":
            return
        beside = Path(self.root, SOURCE).with_name("kernel.abi3.so")
        if version == "editable":
            beside.unlink(missing_ok=True)  # it may be of an older kernel
        compiled = None if os.environ.get("COREPATH_KERNEL") == "python" else self._compile()
        if compiled is None:
            return
        if version == "editable":
            shutil.copy(compiled, beside)
        else:
            build_data["force_include"][str(compiled)] = f"corepath/scoring/{beside.name}"
            build_data["pure_python"] = False
            build_data["tag"] = f"{OLDEST[1]}-abi3-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"

    def _compile(self) -> Path | None:
        """Return the compiled kernel, or None if there is no compiler or it fails."""
        if os.name == "nt":
            return None  # the file would have another name, and nobody has tried it
        before = Path.cwd()
        work = Path(tempfile.mkdtemp(prefix="corepath-kernel-"))
        try:
            os.chdir(self.root)
            return compile_kernel(work)
        except (Exception, SystemExit) as error:  # noqa: BLE001  # whatever goes wrong, plain Python works
            self.app.display_warning(f"the kernel is not compiled and runs as plain Python: {error}")
            return None
        finally:
            os.chdir(before)


def compile_kernel(work: Path) -> Path:
    """Compile the kernel in the folder `work` for all Pythons from the oldest on, and return the file."""
    from Cython.Build import cythonize  # noqa: PLC0415  # not there if the kernel stays plain Python
    from setuptools import Distribution, Extension  # noqa: PLC0415

    extension = Extension(
        MODULE,
        [str(SOURCE)],
        define_macros=[("Py_LIMITED_API", OLDEST[0]), ("CYTHON_LIMITED_API", "1")],
        py_limited_api=True,
        extra_compile_args=FLAGS + COUNT_BITS,
        extra_link_args=["-s"] if os.uname().sysname == "Linux" else [],
    )
    modules = cythonize([extension], build_dir=str(work), compiler_directives=DIRECTIVES, quiet=True)
    distribution = Distribution({"ext_modules": modules, "package_dir": {"": "src"}})
    command = distribution.get_command_obj("build_ext")
    command.build_lib, command.build_temp = str(work / "lib"), str(work / "temp")
    command.ensure_finalized()
    command.run()
    return next((work / "lib").rglob("kernel*.so"))
