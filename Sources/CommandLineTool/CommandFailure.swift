package import ControlAPI

/// A command that failed with an exit code of its own: the code says more than the error's name.
package struct CommandFailure: Error, Sendable, CustomStringConvertible {
    package let error: ControlError
    package let code: ExitCode

    package var description: String { error.description }

    package init(_ error: ControlError, code: ExitCode) {
        self.error = error
        self.code = code
    }
}
