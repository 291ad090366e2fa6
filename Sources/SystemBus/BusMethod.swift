/// A method of an object on the bus.
package struct BusMethod: Sendable {
    package let destination: String
    package let path: String
    package let interface: String
    package let member: String

    package init(_ member: String, on interface: String, of destination: String, at path: String) {
        self.member = member
        self.interface = interface
        self.destination = destination
        self.path = path
    }
}
