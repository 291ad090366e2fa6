package import ControlAPI
package import VarlinkCore

extension ControlError: VarlinkErrorConvertible {
    /// The error as it stands in a reply: its name, and the whole of it as parameters.
    package var varlinkError: VarlinkError { VarlinkError(varlinkName, self) }
}
