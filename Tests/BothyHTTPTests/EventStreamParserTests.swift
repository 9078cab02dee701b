import BothyHTTP
import Testing

@Suite("Server-sent events", .timeLimit(.minutes(5)))
struct EventStreamParserTests {
  private let text =
    "\u{FEFF}: comment\r\nretry: 500\rid: 7\nevent: news\r\ndata: a\r\ndata:  b\n\n"
    + "data\n\nid\n: x\n\nevent: lost\n\nunknown: y\nretry: 5x\ndata:ü\r\n\r\n"

  @Test("Events are parsed as the standard says, wherever the bytes are split")
  func cuts() {
    for size in 1...text.utf8.count {
      var parser = EventStreamParser()
      var events: [EventStreamParser.Event] = []
      var rest = Array(text.utf8)[...]
      while !rest.isEmpty {
        events += parser.feed(rest.prefix(size))
        rest = rest.dropFirst(size)
      }
      #expect(events.map(\.data) == ["a\n b", "", "ü"], "cut every \(size)")
      #expect(events.map(\.name) == ["news", "message", "message"])
      #expect(events.map(\.id) == ["7", "7", ""])
      #expect(parser.retry == 500)
    }
  }

  @Test("An event without its final empty line is not reported")
  func incomplete() {
    var parser = EventStreamParser()
    #expect(parser.feed(Array("data: a\n".utf8)).isEmpty)
    #expect(parser.feed(Array("\n".utf8)).count == 1)
  }

  @Test("An event with too much data is dropped, and the next one arrives")
  func tooLong() {
    var parser = EventStreamParser()
    let line = Array("data: \(String(repeating: "x", count: 1 << 19))\n".utf8)
    for _ in 0..<12 { #expect(parser.feed(line).isEmpty) }
    #expect(parser.feed(Array("\ndata: a\n\n".utf8)).map(\.data) == ["a"])
  }
}
