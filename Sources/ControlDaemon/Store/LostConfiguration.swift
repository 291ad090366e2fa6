package import ControlAPI

/// A configuration whose file is gone or can't be used; its history can bring it back.
package struct LostConfiguration: Sendable {
    /// Its last good generation.
    package let last: Configuration
    /// What became of its file, in sentences.
    package let reason: String
}
