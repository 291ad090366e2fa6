import NetworkTypes

/// One line for a person: pieces of text, each with a style.
///
/// Rendering escapes every piece, so that names, errors and hooks of others can't steer the terminal; only the styles
/// themselves become escape sequences, and only where colour is wanted.
package struct StyledText: Equatable, Sendable {
    package enum Style: Equatable, Sendable {
        case plain, bold, dim, good, attention, bad

        /// SGR parameters (ECMA-48, section 8.3.117).
        fileprivate var sequence: String {
            switch self {
            case .plain: "0"
            case .bold: "1"
            case .dim: "2"
            case .good: "32"
            case .attention: "33"
            case .bad: "31"
            }
        }
    }

    fileprivate struct Piece: Equatable, Sendable {
        let text: String
        let style: Style
    }

    private var pieces: [Piece]

    package init(_ text: String, _ style: Style = .plain) { pieces = [Piece(text: text, style: style)] }

    package static func + (a: StyledText, b: StyledText) -> StyledText {
        var sum = a
        sum.pieces += b.pieces
        return sum
    }

    package func rendered(colour: Bool) -> String {
        pieces.reduce(into: "") { line, piece in
            let text = piece.text.escapedForTerminal
            line += colour && piece.style != .plain ? "\u{1B}[\(piece.style.sequence)m\(text)\u{1B}[0m" : text
        }
    }

    /// How many columns it takes.
    var width: Int { pieces.reduce(0) { $0 + $1.text.escapedForTerminal.displayWidth } }
}

extension StyledText: ExpressibleByStringInterpolation {
    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var pieces: [Piece] = []

        package init(literalCapacity: Int, interpolationCount: Int) {}

        package mutating func appendLiteral(_ literal: String) {
            if !literal.isEmpty { pieces.append(Piece(text: literal, style: .plain)) }
        }

        package mutating func appendInterpolation(_ text: some CustomStringConvertible, _ style: Style = .plain) {
            pieces.append(Piece(text: text.description, style: style))
        }

        package mutating func appendInterpolation(_ text: StyledText) { pieces += text.pieces }
    }

    package init(stringLiteral: String) { self.init(stringLiteral) }

    package init(stringInterpolation: StringInterpolation) { pieces = stringInterpolation.pieces }
}
