package import ControlAPI
import FoundationEssentials
import LinuxSystem

/// The runtime folder of one provider: what tunneld left in it, and the paths of the provider's own sockets.
package struct LaunchFolder: Sendable {
    /// sun_path holds this many bytes and a NUL (unix(7)).
    static let longestSocketPath = 107

    package let launch: LaunchDocument
    package let controlPath: String
    package let descriptorsPath: String

    /// Reads the launch file of the folder.
    ///
    /// - Throws: `providerFailed`, with what is missing or wrong.
    package init(directory: String) throws(ControlError) {
        controlPath = directory + "/control"
        descriptorsPath = directory + "/descriptors"
        guard descriptorsPath.utf8.count <= Self.longestSocketPath else {
            throw Self.failure(
                "The path \(descriptorsPath) is longer than \(Self.longestSocketPath) bytes.",
                remedy: "Use a shorter runtime folder."
            )
        }
        do {
            let bytes = try FileSystem.contents(ofFile: directory + "/launch", limit: 64 << 10)
            launch = try JSONDecoder().decode(LaunchDocument.self, from: Data(bytes))
        } catch let error as SystemError {
            throw Self.failure("\(directory)/launch: \(error)", remedy: Self.startRemedy)
        } catch {
            throw Self.failure("\(directory)/launch isn't a launch document.", remedy: Self.startRemedy)
        }
    }

    private static let startRemedy = "A provider is started by tunneld; use tunnelctl up."

    private static func failure(_ reason: String, remedy: String) -> ControlError {
        ControlError(.providerFailed, "The provider can't start.", reason: reason, remedy: remedy)
    }
}
