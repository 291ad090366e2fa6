import ControlAPI
import Testing

/// Compares errors by their names, which is what clients tell them apart by.
struct Named {
    let name: ControlError.Name

    init(_ name: ControlError.Name) { self.name = name }
}

func expect(
    throws wanted: Named,
    _ body: () async throws -> some Any,
    sourceLocation: SourceLocation = #_sourceLocation
) async {
    do {
        _ = try await body()
        Issue.record("nothing was thrown", sourceLocation: sourceLocation)
    } catch {
        #expect((error as? ControlError)?.name == wanted.name, "\(error)", sourceLocation: sourceLocation)
    }
}
