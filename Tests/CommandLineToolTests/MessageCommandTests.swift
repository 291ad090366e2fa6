import CommandLineTool
import ControlAPI
import LinuxSystem
import Testing

@Suite struct MessageCommandTests {
    @Test func `the answer is printed as it came`() async throws {
        try await withFake(answer: "yes") { fake in
            let ran = await Ran.tunnelctl("message", "home", "hello there", socket: fake.socket)
            #expect(ran.code == .done && ran.output == "yes" && ran.errors.isEmpty)
            let sent = fake.update { $0.messages }
            #expect(sent.map(\.message) == [DataValue("hello there".utf8)])
            #expect(sent.first?.identifier == Samples.home && sent.first?.timeout == 10)
        }
    }

    @Test func `a person sees whole lines, and no bytes that aren't text`() async throws {
        try await withFake(answer: "yes") { fake in
            let ran = await Ran.tunnelctl("message", "home", "x", socket: fake.socket, isTerminal: true)
            #expect(ran.output == "yes\n")
            fake.update { $0.answer = DataValue([0xff, 0xfe]) }
            let binary = await Ran.tunnelctl("message", "home", "x", socket: fake.socket, isTerminal: true)
            #expect(binary.output.isEmpty && binary.errors.contains("2 bytes that aren't text"))
        }
    }

    @Test func `as JSON the answer has its bytes, and its text where it is that`() async throws {
        struct Answer: Decodable {
            let identifier, name: String
            let reply: DataValue?
            let text: String?
        }
        try await withFake(answer: "yes") { fake in
            let ran = await Ran.tunnelctl("message", "home", "x", "--timeout", "2.5", "--json", socket: fake.socket)
            let answer: Answer = try ran.json()
            #expect(answer.identifier == Samples.home && answer.name == "home")
            #expect(answer.reply == DataValue("yes".utf8) && answer.text == "yes")
            #expect(fake.update { $0.messages.first?.timeout } == 2.5)
            fake.update { $0.answer = nil }
            let none = await Ran.tunnelctl("message", "home", "--json", socket: fake.socket)
            #expect(none.output.contains("\"reply\" : null") && none.output.contains("\"text\" : null"))
            #expect(fake.update { $0.messages.last?.message } == nil)
        }
    }

    @Test func `a message comes from standard input by a dash`() async throws {
        try await withFake(answer: "") { fake in
            let bytes = Array("piped\n".utf8)
            let file = try unsafe MemoryFile.make(name: "in", count: bytes.count) { unsafe $0.copyBytes(from: bytes) }
            _ = await Ran.tunnelctl("message", "home", "-", socket: fake.socket, input: file.raw)
            #expect(fake.update { $0.messages.first?.message } == DataValue(bytes))
        }
    }

    @Test(arguments: [
        (["message", "home", "x", "--file", "/dev/null"], "exclude each other"),
        (["message", "home", "--timeout", "301"], "at most 300"), (["message", "home", "--timeout", "0"], "above 0"),
        (["message"], "NAME is missing"),
    ])
    func `a wrong command line sends nothing`(words: [String], told: String) async throws {
        try await withFake(answer: "") { fake in
            let ran = await Ran.run(words, socket: fake.socket)
            #expect(ran.code == .wrongUsage && ran.errors.contains(told))
            #expect(fake.update { $0.messages.isEmpty })
        }
    }

    @Test func `a tunnel that doesn't run isn't a tunneld that doesn't`() async throws {
        try await withFake(answer: "") { fake in
            fake.update { $0.errors["SendMessage"] = ControlError(.tunnelNotRunning, "home isn't running.") }
            #expect(await Ran.tunnelctl("message", "home", "x", socket: fake.socket).code == .failed)
        }
    }

    private func withFake(answer: String, _ body: (FakeTunneld) async throws -> Void) async throws {
        let fake = try await FakeTunneld()
        fake.update {
            $0.sessions = [Samples.connected()]
            $0.answer = DataValue(answer.utf8)
        }
        try await body(fake)
        await fake.stop()
    }
}
