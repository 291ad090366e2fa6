/// What a provider's program was asked to do.
package enum ProviderCommand: Equatable, Sendable {
    /// Run a tunnel, with the provider's own runtime folder.
    case run(directory: String)
    /// Print the provider's descriptor.
    case describe
    /// Judge the configuration on standard input.
    case validate
    /// Say whether this process has no privilege, as `run` would find it.
    case selfCheck

    package static let usage = """
        Usage: PROGRAM --directory DIR | --describe | --validate | --self-check
          --directory DIR  run one tunnel; DIR is the folder that tunneld made for this provider
          --describe       print what this provider is, as JSON
          --validate       read a configuration from standard input, print its faults as JSON
          --self-check     check that this process has no privilege, as a provider must
        tunneld starts this program; use tunnelctl to bring a tunnel up.

        """

    /// Reads the arguments behind the program's name; nil where they make no command.
    package init?(_ arguments: [String]) {
        switch arguments {
        case ["--describe"]: self = .describe
        case ["--validate"]: self = .validate
        case ["--self-check"]: self = .selfCheck
        case let words where words.count == 2 && words[0] == "--directory" && !words[1].isEmpty:
            self = .run(directory: words[1])
        default: return nil
        }
    }
}
