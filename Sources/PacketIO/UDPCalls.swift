package import CShims

/// The system calls of the packet path, so that a test can play a kernel with other habits.
@safe package struct UDPCalls: Sendable {
    package typealias Send = @convention(c) (Int32, UnsafePointer<shim_udp_group>, Int32) -> Int32
    package typealias SendOne = @convention(c) (Int32, UnsafePointer<shim_udp_group>) -> Int32
    package typealias Receive = @convention(c) (Int32, UnsafeMutablePointer<shim_udp_train>, Int32) -> Int32
    package typealias ReceiveOne = @convention(c) (Int32, UnsafeMutablePointer<shim_udp_train>) -> Int32

    let send: Send
    let sendOne: SendOne
    let receive: Receive
    let receiveOne: ReceiveOne

    package init(
        send: @escaping Send = unsafe shim_udp_send,
        sendOne: @escaping SendOne = unsafe shim_udp_send_one,
        receive: @escaping Receive = unsafe shim_udp_receive,
        receiveOne: @escaping ReceiveOne = unsafe shim_udp_receive_one
    ) {
        unsafe self.send = send
        unsafe self.sendOne = sendOne
        unsafe self.receive = receive
        unsafe self.receiveOne = receiveOne
    }

    package static let kernel = unsafe UDPCalls()
}
