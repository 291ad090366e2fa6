import FoundationEssentials

extension VarlinkCall {
    /// The parameters as a type.
    ///
    /// - Throws: `VarlinkError.invalidParameter` naming what is missing or doesn't fit: "configuration.peers[2].port"; or
    ///   what the type's own initialiser throws.
    package func decode<T: Decodable>(_ type: T.Type = T.self) throws -> T {
        do {
            return try VarlinkJSON.decode(type, from: parameters)
        } catch let error as DecodingError {
            throw VarlinkError.invalidParameter(path(of: error) ?? pathOfMisfit(for: type) ?? "parameters")
        }
    }

    /// Where the decoder says that the fault is; nil where it doesn't.
    private func path(of error: DecodingError) -> String? {
        let keys: [any CodingKey] =
            switch error {
            case .keyNotFound(let key, let context): context.codingPath + [key]
            case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
                context.codingPath
            @unknown default: []
            }
        var path = ""
        for key in keys {
            if let index = key.intValue {
                path += "[\(index)]"
            } else {
                path += path.isEmpty ? key.stringValue : "." + key.stringValue
            }
        }
        return path.isEmpty ? nil : path
    }

    /// Finds the number that its type can't hold, or the string that is no text: for these the decoder tells no path.
    ///
    /// Tries which one, put right, lets the rest be decoded; among the first few only, for each try is a whole decoding.
    private func pathOfMisfit(for type: (some Decodable).Type) -> String? {
        let bytes = Array(parameters)
        guard var scanner = try? JSONScanner(bytes) else { return nil }
        let tries = min(64, (1 << 20) / max(bytes.count, 1))
        guard let scalars = try? scanner.firstScalars(tries) else { return nil }
        let misfit = scalars.first { scalar in
            let harmless: String
            switch bytes[scalar.range.lowerBound] {
            case UInt8(ascii: "\""): harmless = "\"\""
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): harmless = "0"
            default: return false
            }
            let mended = bytes[..<scalar.range.lowerBound] + harmless.utf8 + bytes[scalar.range.upperBound...]
            do {
                _ = try VarlinkJSON.decode(type, from: Data(mended))
                return true
            } catch let error as DecodingError {
                // Another fault, behind this one; if it is here, it comes from the mending.
                let other = path(of: error)
                return other != nil && other != scalar.path
            } catch {
                return false
            }
        }
        return misfit?.path
    }
}
