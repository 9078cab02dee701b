import BothyServer
import BothyTestSupport
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

  /// Promises: A-39
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

  /// Promises: A-39
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

  /// Promises: A-39
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
    #expect(count.enter() == nil && count.enter() == nil && count.enter() == .full)
    #expect(count.open == 2 && count.ended(.full) == 1)
    count.leave()
    #expect(count.enter() == nil && count.open == 2)
  }

  @Test("Connections of an address have a limit, and those of a proxy don't")
  func addresses() throws {
    let proxies = try [#require(AddressRange("10.1.0.0/16")), #require(AddressRange("fd00::7"))]
    let count = ConnectionCount(limit: 20, addressLimit: 2, proxies: proxies)
    func address(_ text: String) throws -> NetworkAddress { try #require(NetworkAddress(text)) }
    func enter(_ text: String) throws -> ConnectionCount.Ending? { count.enter(from: try address(text)) }
    // The forms of an IPv4 address are one, and so is a network of 64 bits.
    for same in [["10.2.0.1", "::ffff:10.2.0.1"], ["2001:db8::1", "2001:db8::ff:2"]] {
      #expect(try same.map(enter) == [nil, nil])
      #expect(try same.map(enter) == [.address, .address])
    }
    #expect(try ["10.2.0.2", "2001:db8:0:1::1"].map(enter) == [nil, nil])
    #expect(try ["10.1.0.1", "10.1.0.1", "10.1.0.1"].map(enter) == [nil, nil, nil])
    #expect(try ["fd00::7", "fd00::7", "fd00::7"].map(enter) == [nil, nil, nil])
    #expect(count.open == 12 && count.ended(.address) == 4)
    count.leave(from: try address("10.2.0.1"))
    count.leave(from: try address("10.1.0.1"))
    #expect(try enter("10.2.0.1") == nil && enter("10.2.0.1") == .address && count.open == 11)
  }

  @Test("A line about a refused address is due once a minute")
  func lines() {
    let count = ConnectionCount(limit: 2)
    #expect([0, 59_999, 60_000, 60_001].map { count.isLineDue(at: $0) } == [true, false, true, false])
  }

  @Test("A range has the addresses that begin with its bits")
  func ranges() throws {
    func has(_ range: String, _ address: String) throws -> Bool {
      try #require(AddressRange(range)).contains(#require(NetworkAddress(address)))
    }
    #expect(try has("10.0.0.0/8", "10.255.0.1") && !has("10.0.0.0/8", "11.0.0.1"))
    #expect(try has("10.0.0.5", "10.0.0.5") && !has("10.0.0.5", "10.0.0.4"))
    #expect(try has("0.0.0.0/0", "192.0.2.1") && !has("0.0.0.0/0", "2001:db8::1"))
    #expect(try has("::/0", "192.0.2.1") && has("2001:db8::/32", "2001:db8:1::") && !has("fd00::/8", "::1"))
    for text in [
      "", "localhost", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "::/129", "10.0.0.0/8/8", "[::1]",
    ] {
      #expect(AddressRange(text) == nil, "\(text)")
    }
    let own = try ["127.0.0.1", "127.9.0.1", "::1"].map { try #require(NetworkAddress($0)) }
    #expect(own.allSatisfy { address in AddressRange.loopback.contains { $0.contains(address) } })
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
