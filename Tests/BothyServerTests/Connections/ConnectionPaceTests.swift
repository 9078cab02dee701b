import BothyServer
import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

/// Slow connections, on an event loop whose time the test sets.
@Suite("Deadlines of connections", .timeLimit(.minutes(5)))
struct ConnectionPaceTests {
  /// A connection to the handlers, without a socket. It has 10 seconds for a header, and for a body 60 seconds and one
  /// more for each 1,000 bytes.
  private struct Line {
    let loop = EmbeddedEventLoop()
    let channel: EmbeddedChannel
    let slow = Locked<[ConnectionPace.Slowness]>([])

    init() throws {
      let terms = ConnectionPace.Terms(headerTime: .seconds(10), bodyTime: .seconds(60), bodyRate: 1000)
      let pace = PaceHandler(terms) { [slow] reason in slow.change { $0.append(reason) } }
      let arrivals = ArrivalHandler()
      arrivals.pace = pace
      channel = EmbeddedChannel(
        handlers: [arrivals, ByteToMessageHandler(HTTPRequestDecoder()), pace], loop: loop)
      try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    func send(_ text: String) throws { try channel.writeInbound(ByteBuffer(string: text)) }

    func answer() throws { try channel.writeOutbound(HTTPServerResponsePart.end(nil)) }

    func pass(_ seconds: Int64) { loop.advanceTime(by: .seconds(seconds)) }
  }

  private static let whole = "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n"
  private static let head = "PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n"

  @Test("A header that isn't whole after its time ends the connection")
  func header() throws {
    let line = try Line()
    for byte in ["G", "E", "T", " "] {
      line.pass(2)
      try line.send(byte)
    }
    line.pass(1)
    #expect(line.channel.isActive)
    line.pass(1)
    #expect(!line.channel.isActive && line.slow.value == [.slowHeader])
    let silent = try Line()
    silent.pass(10)
    #expect(!silent.channel.isActive && silent.slow.value == [.slowHeader])
  }

  @Test("A connection between requests, or with a slow response, has no deadline")
  func quiet() throws {
    let line = try Line()
    try line.send(Self.whole)
    line.pass(3600)
    #expect(line.channel.isActive)
    try line.answer()
    line.pass(3600)
    #expect(line.channel.isActive)
    try line.send(Self.whole)
    try line.answer()
    line.pass(3600)
    #expect(line.channel.isActive && line.slow.value.isEmpty)
  }

  @Test("A later header has its time from its first byte")
  func later() throws {
    let line = try Line()
    try line.send(Self.whole)
    try line.answer()
    line.pass(100)
    try line.send("GET /")
    line.pass(9)
    try line.send("livez")
    #expect(line.channel.isActive)
    line.pass(1)
    #expect(!line.channel.isActive && line.slow.value == [.slowHeader])
  }

  @Test("A header that begins during a response has its time from the response's end")
  func pipelined() throws {
    let line = try Line()
    try line.send(Self.whole)
    try line.send("GET /")
    line.pass(100)
    #expect(line.channel.isActive)
    try line.answer()
    line.pass(9)
    #expect(line.channel.isActive)
    line.pass(1)
    #expect(!line.channel.isActive && line.slow.value == [.slowHeader])
  }

  @Test("A body has time by its bytes, and then its connection ends")
  func body() throws {
    let line = try Line()
    try line.send(Self.head)
    for _ in 0..<50 {
      line.pass(1)
      try line.send(String(repeating: "x", count: 1000))
    }
    line.pass(59)
    #expect(line.channel.isActive && line.slow.value.isEmpty)
    line.pass(1)
    #expect(line.slow.value == [.slowBody])
    #expect(throws: PaceHandler.SlowBody.self) { try line.channel.throwIfErrorCaught() }
    #expect(line.channel.isActive, "the request is answered first")
    line.pass(2)
    #expect(!line.channel.isActive)
  }

  @Test("A body at the rate may take any time")
  func steady() throws {
    let line = try Line()
    try line.send(Self.head)
    for _ in 0..<100 {
      line.pass(1)
      try line.send(String(repeating: "x", count: 1000))
    }
    line.pass(3600)
    #expect(line.channel.isActive && line.slow.value.isEmpty)
  }

  @Test("The end of a connection ends its alarm")
  func ended() throws {
    let line = try Line()
    try line.send("GET")
    try line.channel.close().wait()
    line.pass(3600)
    #expect(line.slow.value.isEmpty)
  }

  @Test("Connections are counted up to the limit, and those beyond it as ended")
  func count() {
    let count = ConnectionCount(limit: 2)
    #expect(count.enter() && count.enter() && !count.enter())
    #expect(count.open == 2 && count.ended(.full) == 1)
    count.leave()
    #expect(count.enter() && count.open == 2)
  }
}
