"""The results as a table for people."""


def number(value):
    if value == 0:
        return "0"
    return f"{value:.0f}" if value >= 1000 else f"{value:.1f}" if value >= 100 else f"{value:.2f}"


def bar_text(entry):
    bar = entry.get("bar")
    if bar is None:
        return "", ""
    bound = f"≥ {bar['at least']:g}" if "at least" in bar else f"≤ {bar['at most']:g}"
    unit = f" {entry['unit']}" if bar["of"] == "value" else ""
    return bound + unit, "reached" if entry["reached"] else "NOT REACHED"


def table(results):
    """The lines of the table."""
    rows = [("measure", "unit", "tunneld", "against", "its", "ratio (min–max)", "bar", "")]
    for result in results:
        if "failed" in result:
            rows.append((result["measure"], "", "", result["against"], "", "", "", "FAILED"))
        for position, entry in enumerate(result.get("units", [])):
            other, ratio = entry.get("against"), entry.get("ratio")
            rows.append((
                result["measure"] if position == 0 else "", entry["unit"], number(entry["tunneld"]["median"]),
                result["against"] if position == 0 else "", number(other["median"]) if other else "",
                f"{ratio['median']:.2f} ({ratio['min']:.2f}–{ratio['max']:.2f})" if ratio else "", *bar_text(entry)))
    widths = [max(len(row[column]) for row in rows) for column in range(8)]
    right = {2, 4}
    return ["  ".join(cell.rjust(width) if column in right else cell.ljust(width)
                      for column, (cell, width) in enumerate(zip(row, widths))).rstrip() for row in rows]
