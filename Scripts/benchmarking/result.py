"""A row's measured values as medians and ratios, beside its bars."""

import statistics


def summary(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def result(row, values, cipher):
    """What is written to the JSON file and printed; `values` are those of both contestants, pair by pair."""
    units = []
    for unit, bar in row.units.items():
        ours, theirs = ([pair[unit] for pair in side if unit in pair] for side in values)
        entry = {"unit": unit, "tunneld": summary(ours)}
        if theirs:
            entry["against"] = summary(theirs)
            if all(theirs):
                entry["ratio"] = summary([a / b for a, b in zip(ours, theirs)])
        bound = bar.bound(cipher) if bar else None
        if bound is not None:
            found = entry["tunneld" if bar.of_value else "ratio"]["median"]
            entry["bar"] = {"of": "value" if bar.of_value else "ratio", "at least" if bar.at_least else "at most": bound}
            entry["reached"] = found >= bound if bar.at_least else found <= bound
        units.append(entry)
    return {"row": row.name, "measure": row.title, "against": row.between[1], "units": units,
            "pairs": [{"tunneld": a, "against": b} for a, b in zip(*values)]}
