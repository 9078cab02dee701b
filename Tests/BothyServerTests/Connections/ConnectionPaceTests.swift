import BothyServer
import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

/// Slow connections, on an event loop whose time the test sets.
@Suite("Deadlines of connections", .timeLimit(.minutes(5)))
struct ConnectionPaceTests {
  /// A connection to the handlers, without a socket. It has 10 seconds for a header, for a body 60 seconds and one more
  /// for each 1,000 bytes, and 75 seconds for each piece of an answer.
  private struct Line {
    let loop = EmbeddedEventLoop()
    let channel: EmbeddedChannel
    let slow = Locked<[ConnectionPace.Slowness]>([])

    init() throws {
      let terms = ConnectionPace.Terms(
        headerTime: .seconds(10), bodyTime: .seconds(60), bodyRate: 1000, answerTime: .seconds(75))
      let pace = PaceHandler(terms) { [slow] reason in slow.change { $0.append(reason) } }
      let arrivals = ArrivalHandler()
      arrivals.pace = pace
      channel = EmbeddedChannel(
        handlers: [arrivals, ByteToMessageHandler(HTTPRequestDecoder()), pace], loop: loop)
      try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    func send(_ text: String) throws { try channel.writeInbound(ByteBuffer(string: text)) }

    func answer() throws { try channel.writeOutbound(HTTPServerResponsePart.end(nil)) }

    /// Makes the connection full, or ready for more bytes of an answer.
    func take(_ takesBytes: Bool) {
      channel.isWritable = takesBytes
      channel.pipeline.fireChannelWritabilityChanged()
    }

    /// Returns the number of new requests behind the decoder.
    func requests() throws -> Int {
      var count = 0
      while let part = try channel.readInbound(as: HTTPServerRequestPart.self) {
        if case .head = part { count += 1 }
      }
      return count
    }

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

  @Test("A connection that takes no bytes of its answer ends")
  func unread() throws {
    let line = try Line()
    try line.send(Self.whole)
    line.take(false)
    line.pass(74)
    line.take(true)
    line.take(false)
    line.pass(74)
    line.take(false)
    #expect(line.channel.isActive)
    line.pass(1)
    #expect(!line.channel.isActive && line.slow.value == [.slowReader])
    let slow = try Line()
    try slow.send(Self.head)
    slow.take(false)
    slow.pass(60)
    #expect(slow.slow.value == [.slowBody])
  }

  @Test("Requests that wait for earlier answers are read a few at a time")
  func pipeline() throws {
    let line = try Line()
    try line.send(String(repeating: Self.whole, count: 2000))
    var count = try line.requests()
    #expect((8...200).contains(count))
    var answered = 0
    while answered < count {
      try line.answer()
      line.loop.run()
      answered += 1
      let more = try line.requests()
      #expect(more <= 200)
      count += more
    }
    #expect(count == 2000)
    try line.send(Self.whole)
    #expect(try line.requests() == 1)
  }

  @Test("The end of the input comes after the requests before it")
  func halfClosed() throws {
    let line = try Line()
    let ends = Locked(0)
    try line.channel.pipeline.syncOperations.addHandler(InputEnd { ends.change { $0 += 1 } })
    try line.send(String(repeating: Self.whole, count: 500))
    line.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    var count = try line.requests()
    for _ in 0..<499 {
      #expect(count == 500 || ends.value == 0)
      try line.answer()
      line.loop.run()
      count += try line.requests()
    }
    #expect(count == 500 && ends.value == 1)
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

/// Reports the end of a connection's input.
private final class InputEnd: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = Never

  private let report: () -> Void

  init(_ report: @escaping () -> Void) { self.report = report }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case ChannelEvent.inputClosed = event { report() }
    context.fireUserInboundEventTriggered(event)
  }
}
