#!/usr/bin/env python3
"""Reads what `ctest --output-junit` wrote and prints it for tests/run.sh:

  PASSED FAILED SKIPPED
  failed NAME
    LINE                                      what googletest or vm.sh says of failures, or the last of its output
  skipped NAME: REASON
  over RDMA: N passed, N failed, N skipped    what the tests named rdma.* have counted themselves
"""

import re
import sys
import xml.etree.ElementTree as ElementTree


def reason(output, completion):
    """Why a test says that it skipped: googletest's message, or the line that speaks of it."""
    match = re.search(r": Skipped\n+(.+)", output)
    if match:
        return match.group(1).strip()
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    spoken = [line for line in lines if re.search(r"\bskip", line, re.IGNORECASE)]
    return (spoken or lines or [completion])[-1]


def of_failure(output):
    """The lines that say why a test failed."""
    lines = [line[:300] for line in output.rstrip().splitlines()]
    said, more = [], 0
    for line in lines:
        if line.endswith(": Failure"):
            more = max(more, 7)
        elif line.startswith("vm.sh: "):
            more = 25  # what its kernel complains of
        if more > 0:
            said.append(line)
            more -= 1
    return said[:40] or lines[-12:]


def outcome(case):
    """(passed, failed or skipped; a line about it or None)."""
    name, status = case.get("name"), case.get("status")
    if status == "run":
        return "passed", None
    skipped = case.find("skipped")
    completion = "" if skipped is None else skipped.get("message", "")
    if status == "disabled":
        return "skipped", f"skipped {name}: disabled in its source"
    if status == "notrun" and completion.startswith("SKIP_"):
        return "skipped", f"skipped {name}: {reason(case.findtext('system-out') or '', completion)}"
    return "failed", "\n  ".join([f"failed {name}" + (f" ({completion})" if completion else "")] +
                                 of_failure(case.findtext("system-out") or ""))


def over_rdma(cases):
    """The sums of what rdma.* say at their end, or None when there are none of them."""
    texts = [case.findtext("system-out") or "" for case in cases
             if case.get("name").startswith("rdma.")]
    if not texts:
        return None
    # Of a group that was run again its last run counts.
    said = [{(machine, group): counts for machine, group, *counts in re.findall(
        r"^([12]: )?over RDMA, (\w+): (\d+) passed, (\d+) failed, (\d+) skipped$", text, re.MULTILINE)}
            for text in texts]
    sums = [sum(int(counts[i]) for groups in said for counts in groups.values()) for i in range(3)]
    return "over RDMA: {} passed, {} failed, {} skipped".format(*sums)


def main(path):
    cases = list(ElementTree.parse(path).getroot().iter("testcase"))
    outcomes = [outcome(case) for case in cases]
    print(*(sum(kind == one for one, _ in outcomes) for kind in ("passed", "failed", "skipped")))
    for _, line in sorted(outcomes, key=lambda one: one[0]):
        if line:
            print(line)
    counted = over_rdma(cases)
    if counted:
        print(counted)


if __name__ == "__main__":
    main(sys.argv[1])
