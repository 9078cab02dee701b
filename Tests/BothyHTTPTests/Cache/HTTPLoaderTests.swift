import BothyCache
import BothyHTTP
import BothyStore
import BothySync
import Foundation
import HTTPTypes
import Testing

/// Tests of the cache's loader in front of a transport without sockets.
@Suite("A transport as a loader", .timeLimit(.minutes(5)))
struct HTTPLoaderTests {
  private func load(_ transport: any HTTPTransport) async throws -> ResourceResponse {
    try await HTTPLoader(transport: transport, monitor: NetworkFeed()).load(ResourceRequest("https://hut"))
  }

  @Test(
    "Cancellations, timeouts and broken addresses are distinguished from missing responses",
    arguments: [
      ("cancelled", LoadFailure.Reason.cancelled), ("timeout", .timedOut), ("badAddress", .invalidRequest),
      ("network", .unreachable),
    ])
  func failures(code: String, reason: LoadFailure.Reason) async throws {
    let failure = RemoteError(.unreachable, "It failed.", code: code)
    let error = await #expect(throws: BothyError.self) { try await load(StreamTransport(.failure(failure))) }
    #expect(try LoadFailure.of(#require(error)).reason == reason)
  }

  @Test("A body that breaks off counts as truncated")
  func truncated() async throws {
    let (body, pieces) = AsyncThrowingStream.makeStream(of: [UInt8].self, throwing: (any Error).self)
    let stream = TransportStream(status: 200, headers: [.contentLength: "5"], body: body)
    let response = try await load(StreamTransport(.success(stream)))
    pieces.yield([1, 2])
    pieces.finish(throwing: RemoteError(.unreachable, "The answer broke off.", code: "network"))
    var received = Data()
    let failure = await #expect(throws: LoadFailure.self) {
      for try await piece in response.body { received.append(piece) }
    }
    #expect(received == Data([1, 2]))
    #expect(failure?.reason == .truncated)
    #expect(!response.endsByClosing)
  }

  /// Promises: E-27
  @Test(
    "A response has the fields of the decoded body, and its pieces",
    arguments: [["gzip"], nil] as [Set<String>?])
  func decoded(undone: Set<String>?) async throws {
    let body = AsyncThrowingStream<[UInt8], any Error> { pieces in
      pieces.yield([1, 2])
      pieces.yield([3])
      pieces.finish()
    }
    var stream = TransportStream(
      status: 203, headers: [.contentEncoding: "gzip", .contentLength: "9", .eTag: "\"1\""], body: body)
    stream.undoneCodings = undone
    stream.isMultiplexed = true
    let response = try await load(StreamTransport(.success(stream)))
    var received = Data()
    for try await piece in response.body { received.append(piece) }
    #expect(received == Data([1, 2, 3]))
    #expect(response.status == 203)
    #expect(response.fields == [.eTag: "\"1\""])
    #expect(response.wasCoded && response.isMultiplexed && !response.endsByClosing)
  }

  /// Promises: E-27
  @Test("A coding that the transport leaves is named")
  func coded() async throws {
    let fields: HTTPFields = [.contentEncoding: "br", .contentLength: "2"]
    var stream = TransportStream(status: 200, headers: fields, body: AsyncThrowingStream { $0.finish() })
    stream.undoneCodings = ["gzip"]
    let response = try await load(StreamTransport(.success(stream)))
    #expect(response.fields == fields && !response.wasCoded)
  }
}

/// A transport whose streams are prepared.
private struct StreamTransport: HTTPTransport {
  private let result: Result<TransportStream, RemoteError>

  init(_ result: Result<TransportStream, RemoteError>) { self.result = result }

  func send(_ request: TransportRequest) async throws(RemoteError) -> TransportResponse {
    throw RemoteError(.unreachable, "A loader only opens streams.")
  }

  func open(_ request: TransportRequest) async throws(RemoteError) -> TransportStream { try result.get() }
}
