public import BothyCache
public import BothySync
import Foundation

/// Loads the resources of a cache with an HTTP transport.
///
/// It follows no redirects and doesn't try a failed load again, because the cache does both by its own rules.
///
/// ```swift
/// import BothyCache
///
/// let cache = try ResourceCache(disk: .sqliteFile(in: folder), loader: HTTPLoader())
/// ```
public struct HTTPLoader: ResourceLoader {
  private let transport: any HTTPTransport
  private let monitor: (any ReachabilityMonitor)?

  /// Creates a loader. Sends no request.
  ///
  /// - Parameters:
  ///   - transport: The network stack. `nil` uses the platform's own, with connections of its own. The cache
  ///     limits simultaneous requests and the sizes of bodies.
  ///   - monitor: Reports the network's state. `nil` uses the system's monitor. Linux has none, so every load
  ///     is tried.
  public init(transport: (any HTTPTransport)? = nil, monitor: (any ReachabilityMonitor)? = nil) {
    self.transport =
      transport ?? SystemTransport(compression: true, bodyLimit: .max, connections: Self.connections)
    self.monitor = monitor ?? Self.systemMonitor
  }

  /// Returns the states that the monitor reports, now and after each change.
  ///
  /// The monitor runs until the stream is released. Returns `nil` without one, so that every load is tried.
  public func networkStates() -> AsyncStream<NetworkState>? { monitor?.states() }

  /// Sends a request and returns when the head of the response is there, whatever its status.
  ///
  /// The body follows in pieces, without compression. Reading it throws an error if the connection breaks.
  ///
  /// - Throws: `BothyError` `cancelled`, `timedOut` or `refused`, the last for an address that isn't a URL.
  ///   `unreachable` means that no response came.
  public func load(_ request: ResourceRequest) async throws -> ResourceResponse {
    let stream: TransportStream
    do {
      stream = try await transport.open(
        TransportRequest(request.method, request.url, headers: request.fields, body: Array(request.body)))
    } catch {
      throw Self.failure(error, otherwise: .unreachable).error
    }
    let (fields, wasCoded) = ContentCoding.decoded(stream.headers, undone: stream.undoneCodings)
    return ResourceResponse(
      status: stream.status, fields: fields, isMultiplexed: stream.isMultiplexed, wasCoded: wasCoded,
      endsByClosing: !stream.isMultiplexed && !ContentCoding.saysItsEnd(stream.headers),
      body: AsyncThrowingStream(reading: stream.body) {
        Data($0)
      } failure: {
        Self.failure($0, otherwise: .truncated)
      })
  }

  private static func failure(_ error: any Error, otherwise reason: LoadFailure.Reason) -> LoadFailure {
    guard let error = error as? RemoteError else { return LoadFailure.of(error) }
    switch error.code {
    case RemoteError.cancelled.code: return LoadFailure(.cancelled, "The load was cancelled.")
    case RemoteError.timedOut.code: return LoadFailure(.timedOut, error.message)
    case RemoteError.badAddress.code: return LoadFailure(.invalidRequest, "The address isn't a URL.")
    default: return LoadFailure(reason, error.message)
    }
  }
}
