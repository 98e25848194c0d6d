"""Every private part of numba and llvmlite that kernels stand on, in one list, with what it must look like.

Private parts may change in any release. When one does, the line of it here says what has to be looked at, before the
bound of numba in pyproject.toml is raised. What is imported from private modules anywhere in the package, and what is
taken from `cgutils`, has a line: a test reads the sources.
"""

import ast
import ctypes
import importlib
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import tokenflock
from tokenflock.engine.compiled.declare import HOW, kernel

SOURCES = sorted(Path(tokenflock.__file__).parent.rglob("*.py"))

# What it is, and the names of the arguments that it takes; None where a class is meant to be as it is.
PARTS = {
    # declare.py: kernels are kept in files of our own folder, with a checksum, one process at a time
    "numba.core.caching:IndexDataCacheFile.__init__": "self cache_path filename_base source_stamp",
    "numba.core.caching:IndexDataCacheFile.save": "self key data",
    "numba.core.caching:IndexDataCacheFile.load": "self key",
    "numba.core.caching:IndexDataCacheFile._open_for_write": "self filepath",
    "numba.core.caching:IndexDataCacheFile._load_index": "self",
    "numba.core.caching:IndexDataCacheFile._load_data": "self name",
    "numba.core.caching:IndexDataCacheFile._save_data": "self name data",
    "numba.core.caching:IndexDataCacheFile._save_index": "self overloads",
    "numba.core.caching:IndexDataCacheFile._data_name": "self number",
    "numba.core.bytecode:FunctionIdentity._unique_ids": None,
    "numba.core.caching:IndexDataCacheFile._data_path": "self name",
    "numba.core.registry:CPUDispatcher.compile": "self sig",
    # pointers.py: a compiled function as a value
    "numba.core.registry:CPUDispatcher.typeof_pyval": "self val",
    "numba.experimental.function_type:FunctionModel.__init__": "self dmm fe_type",
    "numba.core.pythonapi:PythonAPI.object_getattr_string": "self obj attr",
    "numba.core.pythonapi:PythonAPI.long_as_voidptr": "self numobj",
    "numba.core.pythonapi:PythonAPI.decref": "self obj",
    "numba.core.codegen:JITCodeLibrary.get_pointer_to_function": "self name",
    "numba.core.cgutils:create_struct_proxy": "fe_type kind",
    "numba.core.cgutils:is_null": "builder val",
    # lanes.py and atomics.py: vector registers and atomics by instructions of LLVM
    "numba.core.cgutils:get_or_insert_function": "module fnty name",
    "numba.core.cgutils:get_item_pointer": "context builder aryty ary inds wraparound boundscheck",
    "numba.core.typing.templates:AbstractTemplate": None,
    "numba.core.typing.templates:infer_global": "val typ kwargs",
    "numba.core.typing.templates:signature": "return_type args kws",
    "numba.core.base:BaseContext.get_dummy_value": "self",
    "numba.core.base:BaseContext.make_array": "self typ",
    "numba.core.types:Type": None,
    # own.py: why numba does not compile a function of the user
    "numba.core.errors:NumbaError": "msg loc highlighting",
    "llvmlite.ir:IRBuilder.shuffle_vector": "self vector1 vector2 mask name",
    "llvmlite.ir:IRBuilder.insert_element": "self vector value idx name",
    "llvmlite.ir:IRBuilder.extract_element": "self vector idx name",
    "llvmlite.ir:IRBuilder.load_atomic": "self ptr ordering align name typ",
    "llvmlite.ir:IRBuilder.store_atomic": "self value ptr ordering align",
    "llvmlite.ir:IRBuilder.atomic_rmw": "self op ptr val ordering name",
    "llvmlite.ir:VectorType": None,
}
# Options of njit that are not in its documentation, and those that are but matter as much.
OPTIONS = {"_nrt", "no_cpython_wrapper", "no_cfunc_wrapper", "error_model", "nogil", "fastmath"}
# Public, whatever the name of the module says: documented for those who extend numba.
PUBLIC = {"numba", "numba.extending", "llvmlite"}


def found(path):
    """The object of a line of the list, or None."""
    module, _, name = path.partition(":")
    try:
        at = importlib.import_module(module)
        for part in name.split("."):
            at = getattr(at, part)
    except (ImportError, AttributeError):
        return None
    return at


def changed():
    """The lines of the list that are no longer true."""
    told = []
    for path, names in PARTS.items():
        part = found(path)
        if part is None:
            told.append(f"{path} is gone")
        elif names is not None and (now := " ".join(inspect.signature(part).parameters)) != names:
            told.append(f"{path} takes {now!r}, not {names!r}")
    return told


def test_private_parts_look_as_they_did():
    assert changed() == []


@pytest.mark.parametrize("harm", ["gone", "other"])
def test_a_private_part_that_changes_is_named(harm, monkeypatch):
    from numba.core.caching import IndexDataCacheFile

    if harm == "gone":
        monkeypatch.delattr(IndexDataCacheFile, "_open_for_write")
        assert changed() == ["numba.core.caching:IndexDataCacheFile._open_for_write is gone"]
    else:
        monkeypatch.setattr(IndexDataCacheFile, "_load_data", lambda self, name, key: None)
        assert changed() == ["numba.core.caching:IndexDataCacheFile._load_data takes 'self name key', not 'self name'"]


def imported(text):
    """module:name of everything that a source takes from numba and llvmlite."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in ("numba", "llvmlite"):
            yield from (f"{node.module}:{name.name}" for name in node.names)


def test_every_private_part_that_is_used_is_listed():
    """Modules that hold parts of the list stand for them: `cgutils` for what is taken from it."""
    listed = {re.sub(r"(:\w+).*", r"\1", path) for path in PARTS}
    modules = {path.partition(":")[0] for path in PARTS}
    for source in SOURCES:
        text = source.read_text(encoding="utf-8")
        for name in imported(text):
            module, _, last = name.partition(":")
            known = module in PUBLIC or name in listed or f"{module}.{last}" in modules
            assert known, f"{source.name} takes {name} from numba; the list of this test does not have it"
        for name in re.findall(r"\bcgutils\.(\w+)", text):
            assert f"numba.core.cgutils:{name}" in PARTS, f"{source.name}: cgutils.{name} is not in the list"


def test_njit_takes_the_options_that_kernels_are_declared_with():
    from numba.core.options import TargetOptions
    from numba.core.registry import cpu_target

    assert issubclass(cpu_target.options, TargetOptions)
    assert set(dir(cpu_target.options)) >= OPTIONS >= set(HOW)


@pytest.fixture(scope="module")
def tiny():
    @kernel
    def tiny(x):
        return 2.0 * x

    assert tiny(3.0) == 6.0
    return tiny


def test_a_compiled_function_has_what_pointers_and_the_cache_read(tiny):
    from numba import types

    (made,) = tiny.overloads.values()
    assert list(tiny.overloads) == [(types.float64,)]
    assert made.signature.return_type == types.float64
    assert made.entry_point(4.0) == 8.0
    address = made.library.get_pointer_to_function(made.fndesc.llvm_cfunc_wrapper_name)
    assert ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(address)(5.0) == 10.0
    file = tiny._cache._cache_file
    assert Path(file._index_path).parent == Path(file._cache_path) == Path(tiny.stats.cache_path)
    assert tiny.py_func(1.0) == 2.0
    assert tiny.typeof_pyval(1.0) == types.float64
    assert tiny.typeof_pyval(np.zeros((2, 3))).ndim == 2


def test_the_files_of_a_kernel_are_opened_read_and_found_by_what_we_replace():
    """Checksums are written by _open_for_write and looked at by _load_index and _load_data: numba must use these."""
    from numba.core.caching import IndexDataCacheFile

    text = {name: inspect.getsource(getattr(IndexDataCacheFile, name)) for name in vars(IndexDataCacheFile)
            if inspect.isfunction(getattr(IndexDataCacheFile, name))}  # fmt: skip
    for writer in ("_save_index", "_save_data"):
        assert "self._open_for_write(" in text[writer]
    assert not [name for name in text if name != "_open_for_write" and re.search(r'open\([^)]*"wb"', text[name])]
    readers = {name for name in text if re.search(r'open\([^)]*"rb"', text[name])}
    assert readers == {"_load_index", "_load_data"}
    assert "self._load_index()" in text["load"]
    assert "except OSError" in text["load"], "a file that is refused is compiled again"


def test_the_name_of_a_kept_kernel_tells_the_kind_of_cpu(tiny):
    """Or a home folder that two machines share would give one of them instructions that it does not have."""
    from numba.core.caching import _Cache
    from numba.core.registry import cpu_target

    triple, name, features = cpu_target.target_context.codegen().magic_tuple()
    assert name
    assert triple.count("-") >= 2
    assert isinstance(features, str)
    assert isinstance(tiny._cache, _Cache)
    (signature,) = tiny.overloads
    key = tiny._cache._index_key(signature, cpu_target.target_context.codegen())
    assert (triple, name, features) in key


def test_a_pointer_is_a_record_whose_first_part_is_its_address():
    from numba.core import types
    from numba.core.datamodel import default_manager
    from numba.experimental.function_type import FunctionModel

    from tokenflock.engine.compiled.pointers import PointerType

    assert issubclass(PointerType, types.FunctionType)
    model = default_manager.lookup(PointerType(types.float64(types.float64)))
    assert isinstance(model, FunctionModel)
    assert "c_addr" in model._fields
