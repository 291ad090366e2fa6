/// Rows under headings, each column as wide as its widest cell.
///
/// A cell that is far longer than others are (a name may have 255 bytes) shifts the rest of its own row alone.
struct TextTable {
    /// An identifier fits.
    static let widestColumn = 40

    private var rows: [[StyledText]]

    init(_ headings: [String]) { rows = [headings.map { StyledText($0, .dim) }] }

    mutating func append(_ row: [StyledText]) { rows.append(row) }

    /// The lines, two blanks between columns, none at the end of a line.
    var lines: [StyledText] {
        let columns = rows.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in
            rows.map { column < $0.count ? $0[column].width : 0 }.filter { $0 <= Self.widestColumn }.max() ?? 0
        }
        return rows.map { row in
            row.indices.reduce(StyledText("")) { line, column in
                let isLast = column == row.count - 1
                let padding =
                    isLast ? "" : String(repeating: " ", count: max(0, widths[column] - row[column].width) + 2)
                return line + row[column] + StyledText(padding)
            }
        }
    }
}
