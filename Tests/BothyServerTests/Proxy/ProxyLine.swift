import BothyServer
import Foundation
import HTTPTypes
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import Testing

/// A connection to a proxy on which a test writes HTTP by hand.
final class ProxyLine {
  private var inbound: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
  private let outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
  private var unread: [UInt8] = []

  init(
    _ inbound: NIOAsyncChannelInboundStream<ByteBuffer>,
    _ outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
  ) {
    self.inbound = inbound.makeAsyncIterator()
    self.outbound = outbound
  }

  func send(_ text: String) async throws { try await outbound.write(ByteBuffer(string: text)) }

  /// Closes this side.
  func finish() { outbound.finish() }

  func request(_ text: String, hasBody: Bool = true) async throws -> ProxyReply {
    try await send(text)
    return try await reply(hasBody: hasBody)
  }

  /// Returns the next response. The body of a chunked one is its raw chunks.
  func reply(hasBody: Bool = true) async throws -> ProxyReply {
    let head = String(decoding: try await take { Self.end(of: "\r\n\r\n", in: $0) }, as: UTF8.self)
    let lines = head.split(separator: "\r\n")
    let status = try #require(lines.first.flatMap { Int($0.split(separator: " ")[1]) })
    var reply = ProxyReply(status: status, fields: [:], text: "")
    for line in lines.dropFirst() {
      let colon = try #require(line.firstIndex(of: ":"))
      let name = try #require(HTTPField.Name(String(line[..<colon])))
      reply.fields.append(HTTPField(name: name, value: String(line[line.index(after: colon)...])))
    }
    guard hasBody else { return reply }
    if let length = reply.fields[.contentLength].flatMap({ Int($0) }) {
      reply.text = String(decoding: try await take { $0.count >= length ? length : nil }, as: UTF8.self)
    } else if reply.fields[.transferEncoding] == "chunked" {
      reply.text = String(
        decoding: try await take { Self.end(of: "\r\n0\r\n\r\n", in: $0) }, as: UTF8.self)
    }
    return reply
  }

  /// Returns the next `length` bytes as text.
  func text(_ length: Int) async throws -> String {
    String(decoding: try await take { $0.count >= length ? length : nil }, as: UTF8.self)
  }

  /// Returns all bytes until the proxy closes its side.
  func rest() async throws -> String {
    while try await more() {}
    defer { unread = [] }
    return String(decoding: unread, as: UTF8.self)
  }

  func isEnded() async throws -> Bool { try await rest() == "" }

  private func more() async throws -> Bool {
    guard let piece = try await inbound.next() else { return false }
    unread += piece.readableBytesView
    return true
  }

  private func take(_ length: ([UInt8]) -> Int?) async throws -> [UInt8] {
    while true {
      if let length = length(unread) {
        defer { unread.removeFirst(length) }
        return Array(unread.prefix(length))
      }
      guard try await more() else { throw LineEnded() }
    }
  }

  private static func end(of mark: String, in bytes: [UInt8]) -> Int? {
    bytes.firstRange(of: Array(mark.utf8))?.upperBound
  }

  struct LineEnded: Error {}
}

extension ProxyUnderTest {
  /// Runs the proxy on a real socket, and connects to it while `body` runs.
  func connected(_ body: (ProxyLine) async throws -> Void) async throws {
    var logger = Logger(label: "test")
    logger.logLevel = .critical
    let proxy = try proxy()
    let group = ServiceGroup(configuration: .init(services: [proxy], logger: logger))
    async let running: Void = group.run()
    let address = try await proxy.ready()
    let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .channelOption(.allowRemoteHalfClosure, value: true)
      .connect(host: address.host, port: address.port) { channel in
        channel.eventLoop.makeCompletedFuture {
          try NIOAsyncChannel<ByteBuffer, ByteBuffer>(
            wrappingChannelSynchronously: channel, configuration: .init(isOutboundHalfClosureEnabled: true))
        }
      }
    do {
      try await channel.executeThenClose { inbound, outbound in try await body(ProxyLine(inbound, outbound)) }
    } catch {
      await group.triggerGracefulShutdown()
      throw error
    }
    await group.triggerGracefulShutdown()
    try await running
  }
}
