"""Makes the tables of docs/double-runs.md of what main.py wrote: table.py FILE. All runs of a cell count."""

import json
import sys

from faults import FAULTS


def read(path):
    """The cells, by the row that was asked for, the tool, and the fault; those that failed are left out."""
    cells = {}
    with open(path) as file:
        for result in map(json.loads, file):
            if "failed" not in result:
                known = cells.setdefault((result["beside"], result["name"], result["fault"]), result)
                if known is not result and "tries" in result:
                    known["tries"] += result["tries"]
                    known["disorder"] = None if known["disorder"] is None else known["disorder"] + result["disorder"]
    return cells


def overlap(result):
    longest, ends = max(each[0] for each in result["tries"]), any(each[2] for each in result["tries"])
    return f"{'> ' if ends else ''}{longest:.1f}" if longest >= 0.1 else f"{longest:.2f}" if longest else "0"


def gap(result):
    return f"{max(each[1] for each in result['tries']):.1f}"


def tokens(result):
    return "none" if result["disorder"] is None else f"{len(result['disorder'])}"


def table(cells, what):
    faults = [fault for fault in FAULTS if any(fault == key[2] for key in cells)]
    print(f"| | {' | '.join(f'`{fault}`' for fault in faults)} |\n|---{'|---' * len(faults)}|")
    for beside, name in dict.fromkeys((beside, name) for beside, name, _ in cells):
        results = [cells.get((beside, name, fault)) for fault in faults]
        shown = ["" if not each else what(each) if "tries" in each else "-" for each in results]
        head = name if any(each and each["row"] == beside for each in results) else f"*{name}, beside it*"
        print(f"| {head} | {' | '.join(shown)} |")
    print()


def main():
    cells = read(sys.argv[1])
    ordered = dict(sorted(cells.items(), key=lambda item: (item[0][0], item[1]["row"] == "electd")))
    for title, what in [("Two ran", overlap), ("None ran", gap), ("Tokens out of order", tokens)]:
        print(f"## {title}\n")
        table(ordered, what)
    loads = [load for result in cells.values() if "tries" in result for load in (result["load"], result["load_after"])]
    print(f"{sum('tries' in result for result in cells.values())} cells; load {min(loads):.0f} to {max(loads):.0f}")


if __name__ == "__main__":
    main()
