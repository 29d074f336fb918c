"""Compares our Declarations.yaml with the one that torchgen writes from the same libtorch's sources.

usage: compare_declarations.py OUR_FILE

torchgen comes with Python's torch, here of the same version as the installed libtorch. Exit status: 0 all declarations
agree, 1 some differ, 77 torchgen cannot be imported (CTest counts that as skipped).
"""

import os
import subprocess
import sys
import tempfile

SKIPPED = 77

# Keys of torchgen's entries that an installed libtorch does not contain; see codegen/declarations/declaration.h.
NOT_DERIVABLE = {"manual_kernel_registration", "category_override", "device_guard", "with_gil", "deprecated"}
OUR_KEYS = {"ops_header"}


def torchgen_source():
    """The folder with native_functions.yaml, or None and the reason."""
    try:
        import torchgen
        import torchgen.gen  # needs yaml too
    except ImportError as error:
        return None, f"torchgen cannot be imported: {error}"
    source = os.path.join(os.path.dirname(torchgen.__file__), "packaged", "ATen")
    if not os.path.isfile(os.path.join(source, "native", "native_functions.yaml")):
        return None, f"torchgen lacks native_functions.yaml below {source}"
    return source, ""


def official(source, folder):
    """Generates and reads the official file."""
    command = [sys.executable, "-m", "torchgen.gen", "--source-path", source, "--install_dir", folder]
    subprocess.run(command + ["--generate", "declarations_yaml"], check=True)
    return read(os.path.join(folder, "Declarations.yaml"))


def read(path):
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    with open(path, encoding="utf-8") as file:
        return yaml.load(file, Loader=loader)


def by_name(entries, origin, problems):
    result = {}
    for entry in entries:
        name = f'{entry["operator_name"]}.{entry["overload_name"]}'.rstrip(".")
        if name in result:
            problems.append(f"{name}: twice in {origin}")
        result[name] = entry
    return result


def differences(expected, actual, where):
    """Every place where two values differ; 1, 1.0 and True are three different values."""
    if type(expected) is not type(actual):
        yield f"{where}: expected {expected!r}, got {actual!r}"
    elif isinstance(expected, dict):
        for key in sorted(set(expected) | set(actual)):
            if key not in actual:
                yield f"{where}.{key}: missing, expected {expected[key]!r}"
            elif key not in expected:
                yield f"{where}.{key}: unexpected {actual[key]!r}"
            else:
                yield from differences(expected[key], actual[key], f"{where}.{key}")
    elif isinstance(expected, list):
        if len(expected) != len(actual):
            yield f"{where}: expected {len(expected)} entries, got {len(actual)}"
        for index, (left, right) in enumerate(zip(expected, actual)):
            yield from differences(left, right, f"{where}[{index}]")
    elif expected != actual:
        yield f"{where}: expected {expected!r}, got {actual!r}"


def without(entry, keys):
    return {key: value for key, value in entry.items() if key not in keys}


def is_made_up_from_composite(entry, all_entries):
    """An out-variant of an operator that only has a composite kernel. Whether that makes the variant abstract, torchgen 1.13
    and 2.x disagree, and an installed libtorch does not tell; codegen does not use the key."""
    name, overload = entry["operator_name"], entry["overload_name"]
    if not overload.endswith("out"):
        return False
    origin = f"{name}.{overload[:-3].rstrip('_')}".rstrip(".")
    return origin in all_entries and not all_entries[origin]["abstract"]


def main():
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    source, reason = torchgen_source()
    if source is None:
        print(f"skipped: {reason} (install python3-torch)")
        return SKIPPED
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        theirs = by_name(official(source, folder), "torchgen's file", problems)
    ours = by_name(read(sys.argv[1]), sys.argv[1], problems)

    agree = 0
    for name in theirs:
        if name not in ours:
            problems.append(f"{name}: missing")
            continue
        unknown = NOT_DERIVABLE | ({"abstract"} if is_made_up_from_composite(theirs[name], theirs) else set())
        found = list(differences(without(theirs[name], unknown), without(ours[name], OUR_KEYS | (unknown - NOT_DERIVABLE)), name))
        if not ours[name].get("ops_header"):
            found.append(f"{name}.ops_header: missing")
        problems.extend(found)
        agree += not found
    problems.extend(f"{name}: not in torchgen's file" for name in ours if name not in theirs)

    for problem in problems:
        print(problem)
    print(f"{agree} of {len(theirs)} declarations agree")
    return 1 if problems or not theirs else 0


if __name__ == "__main__":
    sys.exit(main())
