import ControlAPI

extension Configuration.Owner {
    /// For a person: "root", "user 1000".
    var text: String { user == 0 ? "root" : "user \(user)" }
}
